"""Score tables that users hand in, read into one array of per-seed scores per agent and game.

CSV, TSV and JSON, long or wide; a CSV table is streamed, so its size is not bounded by memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlscale.rl.atari import score_fast
from mlscale.rl.atari.games import all_games
from mlscale.rl.atari.score_json import json_table
from mlscale.rl.atari.score_layout import LongLayout, WideLayout, find_layout
from mlscale.rl.atari.score_rows import Names, ScoreRow, in_batches, read_rows
from mlscale.rl.atari.score_sums import ScoreSums
from mlscale.rl.atari.tabular import TableFile, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from mlscale.core.errors import UserError

FAST_FROM_BYTES = 4_000_000  # below this the exact reader takes less than Arrow's import

_MAX_SUSPECTS = 100_000  # looked at in one pass, which keeps the pass's memory small


@dataclass(frozen=True, slots=True)
class AgentScores:
    """The scores of one agent.

    Attributes:
        agent: Its name in the table.
        scores: By ROM id, (S,) float64 in game points: one mean over episodes per seed, seeds
            in ascending order. Games without scores are left out.
        frames: Training frames per game, or None where the table does not say.
    """

    agent: str
    scores: Mapping[str, NDArray[np.float64]]
    frames: int | None


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """What a score file holds.

    Attributes:
        source: The file's name.
        agents: The agents in the order the file names them; at least one.
        ignored_columns: Columns of the file that were not used.
    """

    source: str
    agents: tuple[AgentScores, ...]
    ignored_columns: tuple[str, ...]


def read_scores(path: Path) -> ScoreTable:
    """Read a table of scores.

    Long form has the columns `agent,game,seed,score` and, where wanted, `frames` and `episode`;
    without `agent` the file's name is the agent, without `seed` there is one seed. Wide form has
    a game column and then one per agent, or an agent column and then one per game; its blank
    cells are games the agent was not run on. JSON is a list of long or wide records, or
    `{agent: {game: score or [scores of seeds]}}`.

    Args:
        path: CSV, TSV or JSON file, perhaps gzipped; `-` is standard input.

    Raises:
        UserError: The file cannot be read, or some row in it is malformed or given twice.
    """
    with open_table(path) as file:
        return _read_json(file) if file.is_json() else _read_csv(file)


def _read_json(file: TableFile) -> ScoreTable:
    file, header, cells = json_table(file)
    layout = find_layout(file, header, line=None)
    return _read_exactly(file, layout, lambda: cells)


def _read_csv(file: TableFile) -> ScoreTable:
    header_line, delimiter, header = file.header()
    layout = find_layout(file, header, line=header_line)
    large = file.path.stat().st_size >= FAST_FROM_BYTES
    if large and header_line == 1 and isinstance(layout, LongLayout):
        try:
            return _read_fast(file, layout, header, delimiter)
        except score_fast.Doubt:
            pass  # the exact reader finds out what is wrong, or that nothing is
    return _read_exactly(file, layout, file.rows)


def _read_fast(
    file: TableFile, layout: LongLayout, header: Sequence[str], delimiter: str
) -> ScoreTable:
    names, sums = Names(file), ScoreSums()
    for batch in score_fast.read_batches(file, layout, header, delimiter, names):
        sums.add(batch)
    _refuse_repeats(file, layout, file.rows, sums)
    return _table(file, layout, names, sums)


def _read_exactly(
    file: TableFile,
    layout: LongLayout | WideLayout,
    cells: Callable[[], Iterable[tuple[int, list[str]]]],
) -> ScoreTable:
    names, sums = Names(file), ScoreSums()
    rows = read_rows(file, layout, cells(), names)
    for _, batch in in_batches(rows, episodes=_has_episodes(layout)):
        sums.add(batch)
    _refuse_repeats(file, layout, cells, sums)
    return _table(file, layout, names, sums)


def _has_episodes(layout: LongLayout | WideLayout) -> bool:
    return isinstance(layout, LongLayout) and "episode" in layout.columns


def _refuse_repeats(
    file: TableFile,
    layout: LongLayout | WideLayout,
    cells: Callable[[], Iterable[tuple[int, list[str]]]],
    sums: ScoreSums,
) -> None:
    """Read the table again where rows are suspected to be given twice, and name two that are."""
    suspects = sums.suspects()
    for start in range(0, len(suspects), _MAX_SUSPECTS):
        some = suspects[start : start + _MAX_SUSPECTS]
        names = Names(file)
        first_lines: dict[tuple[int, ...], int] = {}
        rows = read_rows(file, layout, cells(), names)
        for chunk, batch in in_batches(rows, episodes=_has_episodes(layout)):
            for place in np.flatnonzero(np.isin(batch.row_keys(), some)):
                row = chunk[place]
                first = first_lines.setdefault(row[1:5], row.line)
                if first != row.line:
                    raise _repeat(file, layout, names, first, row)


def _repeat(
    file: TableFile, layout: LongLayout | WideLayout, names: Names, first: int, row: ScoreRow
) -> UserError:
    units = {"line": "lines", "entry": "entries", "score": "scores"}[file.unit]
    agent, game = list(names.agents)[row.agent], all_games()[row.game].rom_id
    what = f"agent {agent!r}, game {game!r}"
    if isinstance(layout, WideLayout):
        hint = "a wide table holds one score of each; write long form with a seed column for more"
    elif "episode" in layout.columns:
        what, hint = f"{what}, seed {row.seed}, episode {row.episode}", "remove one of them"
    else:
        what = f"{what}, seed {row.seed}"
        hint = "number several seeds in a seed column, several episodes in an episode column"
    return file.error(f"{units} {first} and {row.line} both give {what}", hint)


def _table(
    file: TableFile, layout: LongLayout | WideLayout, names: Names, sums: ScoreSums
) -> ScoreTable:
    scores: dict[int, dict[str, NDArray[np.float64]]] = {}
    for (agent, game), mean_S in sums.take_means().items():
        scores.setdefault(agent, {})[all_games()[game].rom_id] = mean_S
    if not scores:
        raise file.error("holds no scores", "write rows with scores under the header")
    agents = tuple(
        AgentScores(name, scores[code], names.frames.get(code, ("", None))[1])
        for name, code in names.agents.items()
        if code in scores
    )
    return ScoreTable(file.name, agents, getattr(layout, "ignored", ()))
