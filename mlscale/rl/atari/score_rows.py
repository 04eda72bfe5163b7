"""The exact reader of score tables: every row checked, every error with its line.

It takes any layout at a few hundred thousand rows a second, in chunks. `score_fast` takes large
clean files faster and leaves the rest to this.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mlscale.rl.atari.games import all_games, find_game
from mlscale.rl.atari.score_layout import LongLayout, WideLayout
from mlscale.rl.atari.score_sums import EPISODE_LIMIT, MAX_AGENTS, SEED_LIMIT, Batch
from mlscale.rl.atari.tabular import TableFile, parse_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mlscale.core.errors import UserError

MAX_SCORE = 1e15  # sums of scores this size lose no points of a real game
CHUNK_ROWS = 65_536

Cells = tuple[int, "Sequence[str]"]


class ScoreRow(NamedTuple):
    """One score, checked; agent and game as codes."""

    line: int
    agent: int
    game: int
    seed: int
    episode: int
    score: float


@dataclass(slots=True)
class Names:
    """Agents met so far: their codes, and their training frames."""

    file: TableFile
    agents: dict[str, int] = field(default_factory=dict)
    frames: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    games: dict[str, int] = field(default_factory=dict)

    def agent_code(self, name: str, line: int | None = None) -> int:
        """Return the agent's code, a new one for a new name."""
        code = self.agents.get(name)
        if code is not None:
            return code
        if not name:
            raise self.file.error("blank agent", "write the agent's name", line=line)
        if len(self.agents) == MAX_AGENTS:
            hint = "is the agent column the right one?"
            raise self.file.error(f"more than {MAX_AGENTS:,} agents", hint, line=line)
        return self.agents.setdefault(name, len(self.agents))

    def game_code(self, name: str, line: int | None = None) -> int:
        """Return the place in `all_games()` of the game that `name` spells."""
        code = self.games.get(name)
        if code is not None:
            return code
        if not name:
            raise self.file.error("blank game", "write the game's name", line=line)
        if line is None:
            rom_id = find_game(name).rom_id
        else:
            with self.file.errors_at(line):
                rom_id = find_game(name).rom_id
        place = next(i for i, game in enumerate(all_games()) if game.rom_id == rom_id)
        return self.games.setdefault(name, place)

    def note_frames(self, agent: int, text: str, line: int | None = None) -> None:
        """Keep the agent's training frames, which must not change within a table."""
        known = self.frames.get(agent)
        if known is not None and known[0] == text:
            return
        value = self._whole_frames(text, line) if text else None
        if known is None:
            self.frames[agent] = (text, value)
        elif known[1] != value:
            name = list(self.agents)[agent]
            raise self.file.error(
                f"frames {text or '(blank)'} for agent {name!r}, {known[0] or '(blank)'} before",
                "training frames are one number per agent; name another budget another agent",
                line=line,
            )

    def _whole_frames(self, text: str, line: int | None) -> int:
        value = parse_number(text)
        if value is None or not 1 <= value <= EPISODE_LIMIT or not value.is_integer():
            hint = "write a whole number, as in 200000000 or 2e8, or leave it blank"
            raise self.file.error(f"frames {text!r} is not a count", hint, line=line)
        return int(value)


def read_rows(
    file: TableFile, layout: LongLayout | WideLayout, rows: Iterable[Cells], names: Names
) -> Iterator[ScoreRow]:
    """Yield the scores of a table.

    Args:
        file: The table, for errors and for the agent's name where no column gives it.
        layout: What the columns mean.
        rows: Line number and cells of each row.
        names: Filled with the agents met.

    Raises:
        UserError: A cell is blank, malformed or unknown, or an agent's frames change.
    """
    if isinstance(layout, LongLayout):
        return _long_rows(file, layout, rows, names)
    return _wide_rows(file, layout, rows, names)


def _long_rows(
    file: TableFile, layout: LongLayout, rows: Iterable[Cells], names: Names
) -> Iterator[ScoreRow]:
    columns = layout.columns
    game, score = columns["game"], columns["score"]
    agent, frames = columns.get("agent"), columns.get("frames")
    seed, episode = columns.get("seed"), columns.get("episode")
    for line, cells in rows:
        name = file.stem if agent is None else cells[agent]
        row = ScoreRow(
            line,
            names.agent_code(name, line),
            names.game_code(cells[game], line),
            0 if seed is None else _whole(file, "seed", cells[seed], SEED_LIMIT, line),
            0 if episode is None else _whole(file, "episode", cells[episode], EPISODE_LIMIT, line),
            read_score(file, cells[score], line),
        )
        if frames is not None:
            names.note_frames(row.agent, cells[frames], line)
        yield row


def _wide_rows(
    file: TableFile, layout: WideLayout, rows: Iterable[Cells], names: Names
) -> Iterator[ScoreRow]:
    by_row = layout.games_in_rows
    columns = [(names.agent_code if by_row else names.game_code)(name) for name in layout.names]
    for line, cells in rows:
        own = (names.game_code if by_row else names.agent_code)(cells[0], line)
        for column, cell in zip(columns, cells[1:], strict=True):
            if cell:  # a blank cell of a wide table is a game the agent was not run on
                agent, game = (column, own) if by_row else (own, column)
                yield ScoreRow(line, agent, game, 0, 0, read_score(file, cell, line))


def read_score(file: TableFile, text: str, line: int | None) -> float:
    """Return a score in game points.

    Raises:
        UserError: It is blank, no number, not finite, or larger than any game's.
    """
    value = parse_number(text)
    if value is not None and -MAX_SCORE <= value <= MAX_SCORE:
        return value
    raise _bad_score(file, text, value, line)


def _bad_score(file: TableFile, text: str, value: float | None, line: int | None) -> UserError:
    leave_out = "leave the row out where there is no score; a missing score is not counted as zero"
    if not text:
        return file.error("blank score", leave_out, line=line)
    if value is None:
        hint = "write a plain number, as in 1234.5, without separators or units"
        return file.error(f"score {text!r} is not a number", hint, line=line)
    if not math.isfinite(value):
        return file.error(f"score {text!r} is not finite", leave_out, line=line)
    return file.error(f"score {text!r} is larger than any game's", "is it game points?", line=line)


def _whole(file: TableFile, kind: str, text: str, limit: int, line: int) -> int:
    value = parse_number(text)
    if value is not None and abs(value) < limit and value.is_integer():
        return int(value)
    if not text:
        raise file.error(
            f"blank {kind}", f"write a whole number, or drop the {kind} column", line=line
        )
    if value is not None and abs(value) >= limit:
        hint = f"number the {kind}s from 0; the limit is {limit:,}"
        raise file.error(f"{kind} {text!r} is too large", hint, line=line)
    raise file.error(f"{kind} {text!r} is not a whole number", line=line)


def in_batches(
    rows: Iterable[ScoreRow], *, episodes: bool
) -> Iterator[tuple[list[ScoreRow], Batch]]:
    """Yield the rows in chunks, each with its arrays."""
    iterator = iter(rows)
    while chunk := list(itertools.islice(iterator, CHUNK_ROWS)):
        _, agent, game, seed, episode, score = zip(*chunk, strict=True)
        yield (
            chunk,
            Batch(
                np.array(agent, np.int64),
                np.array(game, np.int64),
                np.array(seed, np.int64),
                np.array(episode, np.int64) if episodes else None,
                np.array(score, np.float64),
            ),
        )
