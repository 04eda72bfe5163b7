"""What the columns of a score table mean, decided from its header.

Three layouts are read: long form (one score a row), wide with a game a row and an agent a
column, and wide with an agent a row and a game a column.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlscale.rl.atari.games import find_game, is_game
from mlscale.rl.atari.tabular import TableFile, fold_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.core.errors import UserError

LONG_COLUMNS = {
    "agent": ("agent", "algorithm", "algo", "method", "model"),
    "game": ("game", "gamename", "env", "envid", "envname", "environment", "rom", "romid", "task"),
    "seed": ("seed", "run", "runid"),
    "score": (
        "score", "scores", "return", "returns", "episodereturn", "episodicreturn", "rawscore",
        "meanscore",
    ),
    "frames": ("frames", "trainingframes", "trainframes", "numframes"),
    "episode": ("episode", "episodeid", "ep"),
}  # fmt: skip

_FORMS_HINT = (
    "long form: agent,game,seed,score[,frames][,episode]; "
    "wide form: a game column, then one per agent"
)


@dataclass(frozen=True, slots=True)
class LongLayout:
    """One score a row.

    Attributes:
        columns: Place of each column of `LONG_COLUMNS` that the table has.
        ignored: Names of the columns that mean nothing here.
    """

    columns: Mapping[str, int]
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WideLayout:
    """One row for many scores.

    Attributes:
        games_in_rows: Whether rows are games and columns agents, or the other way round.
        names: The agents, or the games' ROM ids, of the columns after the first.
    """

    games_in_rows: bool
    names: tuple[str, ...]


def find_layout(
    file: TableFile, header: Sequence[str], *, line: int | None
) -> LongLayout | WideLayout:
    """Return what the columns mean.

    Args:
        file: The table, for errors.
        header: Column names.
        line: The header's line number, for errors.

    Raises:
        UserError: Columns are missing, given twice or likely mistyped.
    """
    known = {column_meaning(name, LONG_COLUMNS) for name in header}
    if {"game", "score"} <= known:
        return _long_layout(file, header, line)
    others = header[1:]
    if len(others) > 0 and not known & {"game", "score"} and any(is_game(name) for name in others):
        games = tuple(_game_column(file, name, line) for name in others)
        return WideLayout(False, _unrepeated(file, games, "game", line))
    games_first = column_meaning(header[0], LONG_COLUMNS) == "game" or not header[0]
    if games_first and len(others) > 0 and not _looks_long(others):
        return WideLayout(True, _unrepeated(file, tuple(others), "agent", line))
    return _long_layout(file, header, line)


def _looks_long(names: Sequence[str]) -> bool:
    """Say whether these are columns of the long form, perhaps with `score` mistyped."""
    return any(
        column_meaning(name, LONG_COLUMNS)
        or difflib.get_close_matches(fold_column(name), ["score"], n=1, cutoff=0.8)
        for name in names
    )


def _game_column(file: TableFile, name: str, line: int | None) -> str:
    if not is_game(name) and column_meaning(name, LONG_COLUMNS):
        raise file.error(f"a wide table has no {name!r} column", _FORMS_HINT, line=line)
    with file.errors_at(line):
        return find_game(name).rom_id


def _unrepeated(
    file: TableFile, names: tuple[str, ...], kind: str, line: int | None
) -> tuple[str, ...]:
    for place, name in enumerate(names):
        if not name:
            raise file.error(f"column {place + 2} has no name", "write the agent's name", line=line)
        if name in names[:place]:
            raise file.error(f"{kind} {name!r} has two columns", "keep one of them", line=line)
    return names


def _long_layout(file: TableFile, header: Sequence[str], line: int | None) -> LongLayout:
    columns, ignored = match_columns(file, header, LONG_COLUMNS, line=line)
    missing = [name for name in ("game", "score") if name not in columns]
    if missing:
        raise missing_column(file, missing[0], header, _FORMS_HINT, line=line)
    return LongLayout(columns, ignored)


def column_meaning(name: str, meanings: Mapping[str, Sequence[str]]) -> str | None:
    """Return which of `meanings` the column called `name` has, or None."""
    folded = fold_column(name)
    return next((meaning for meaning, names in meanings.items() if folded in names), None)


def match_columns(
    file: TableFile,
    header: Sequence[str],
    meanings: Mapping[str, Sequence[str]],
    *,
    line: int | None,
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the place of each column that is known, and the names of the others.

    Args:
        file: The table, for errors.
        header: Column names.
        meanings: Folded spellings of each column that is looked for.
        line: The header's line number, for errors.

    Raises:
        UserError: Two columns mean the same, or one is nearly called like one that is not there.
    """
    columns: dict[str, int] = {}
    ignored = []
    for place, name in enumerate(header):
        meaning = column_meaning(name, meanings)
        if meaning is None:
            ignored.append(name)
        elif meaning in columns:
            both = f"columns {header[columns[meaning]]!r} and {name!r}"
            raise file.error(f"{both} both mean {meaning!r}", "keep one of them", line=line)
        else:
            columns[meaning] = place
    for name in ignored:
        close = _close_meaning(name, [meaning for meaning in meanings if meaning not in columns])
        if close:
            hint = f"rename it to {close!r}, or drop it if it is something else"
            raise file.error(f"column {name!r} looks like {close!r}", hint, line=line)
    return columns, tuple(name for name in ignored if name)


def _close_meaning(name: str, meanings: Sequence[str]) -> str | None:
    close = difflib.get_close_matches(fold_column(name), meanings, n=1, cutoff=0.75)
    return close[0] if close else None


def missing_column(
    file: TableFile, missing: str, found: Sequence[str], hint: str, *, line: int | None
) -> UserError:
    """Return the error for a column that has to be there."""
    columns = f"; columns found: {', '.join(found)}" if any(found) else ""
    return file.error(f"no column {missing!r}", hint + columns, line=line)
