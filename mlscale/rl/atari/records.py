"""Reference scores: what a game score is measured against.

`saber-2019` ships with mlscale; users may bring a list of records of their own. A result always
names its list, since the same scores break many more records of one list than of another.
Standard library only.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import unknown_name
from mlscale.rl.atari.games import BASELINE_SOURCES, all_games, find_game
from mlscale.rl.atari.score_json import cell_text
from mlscale.rl.atari.score_layout import match_columns, missing_column
from mlscale.rl.atari.tabular import open_table, parse_number

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mlscale.rl.atari.tabular import TableFile

RECORD_LISTS = ("saber-2019",)

_COLUMNS = {
    "game": ("game", "gamename", "env", "envid", "environment", "rom", "romid"),
    "record": ("record", "worldrecord", "humanworldrecord"),
    "random": ("random", "randomscore"),
    "human": ("human", "humanscore", "humanaverage"),
}
_SHAPES_HINT = 'write [{"game": "pong", "record": 21}, ...] or {"pong": 21, ...}'


@dataclass(frozen=True, slots=True)
class Reference:
    """Scores to measure against, in game points by ROM id.

    Attributes:
        name: The list's name, or the file it was read from.
        random: Scores of random play, for all 57 games.
        human: Scores of the human tester, for all 57 games.
        record: World records, for the games that have one.
        source: Where the numbers come from, in words.
    """

    name: str
    random: Mapping[str, float]
    human: Mapping[str, float]
    record: Mapping[str, float]
    source: str


@functools.cache
def shipped_reference(name: str = "saber-2019") -> Reference:
    """Return the reference scores that ship under `name`.

    Raises:
        UserError: There is no such list.
    """
    if name not in RECORD_LISTS:
        listing = f"record lists: {', '.join(RECORD_LISTS)}"
        raise unknown_name("record list", name, RECORD_LISTS, listing=listing)
    return Reference(
        name=name,
        random={game.rom_id: game.random for game in all_games()},
        human={game.rom_id: game.human for game in all_games()},
        record={game.rom_id: game.record for game in all_games() if game.record is not None},
        source="; ".join(f"{kind}: {source}" for kind, source in BASELINE_SOURCES.items()),
    )


def read_reference(path: Path) -> Reference:
    """Read a list of records of the user's own.

    A game that the file leaves out has no record. Blank cells are allowed.

    Args:
        path: CSV, TSV or JSON with the columns `game,record`, in game points, and perhaps
            `random` and `human`, which then replace the shipped scores.

    Raises:
        UserError: The file cannot be read, a cell is malformed, a game is unknown or given
            twice, or scores are not above random play.
    """
    with open_table(path) as file:
        if file.is_json():
            file, header, rows = _json_rows(file)
            columns, _ = match_columns(file, header, _COLUMNS, line=None)
        else:
            line, _, header = file.header()
            rows = file.rows()
            columns, _ = match_columns(file, header, _COLUMNS, line=line)
        for name in ("game", "record"):
            if name not in columns:
                hint = "write game,record[,random][,human]"
                raise missing_column(file, name, header, hint, line=None)
        return _reference(file, columns, rows)


def _json_rows(file: TableFile) -> tuple[TableFile, list[str], Iterable[tuple[int, list[str]]]]:
    document: Any = file.json()
    if isinstance(document, dict):
        document = [{"game": game, "record": record} for game, record in document.items()]
    if not isinstance(document, list) or not all(isinstance(entry, dict) for entry in document):
        raise file.error("not a list of records", _SHAPES_HINT)
    header = list(dict.fromkeys(name for entry in document for name in entry))
    rows = [[cell_text(entry.get(name)) for name in header] for entry in document]
    return file.with_unit("entry"), header, enumerate(rows, start=1)


def _reference(
    file: TableFile, columns: Mapping[str, int], rows: Iterable[tuple[int, list[str]]]
) -> Reference:
    given: dict[str, dict[str, float]] = {kind: {} for kind in ("record", "random", "human")}
    lines: dict[str, int] = {}
    for line, cells in rows:
        with file.errors_at(line):
            game = find_game(cells[columns["game"]]).rom_id
        if game in lines:
            raise file.error(f"game {game!r} is also in {file.unit} {lines[game]}", line=line)
        lines[game] = line
        for kind, values in given.items():
            if kind in columns and cells[columns[kind]]:
                values[game] = _points(file, kind, cells[columns[kind]], line)
    if not given["record"]:
        raise file.error("holds no records", "write game,record[,random][,human]")
    shipped = shipped_reference()
    reference = Reference(
        name=file.name,
        random={**shipped.random, **given["random"]},
        human={**shipped.human, **given["human"]},
        record=given["record"],
        source=_source(file, given),
    )
    _check_order(file, reference, lines)
    return reference


def _points(file: TableFile, kind: str, text: str, line: int) -> float:
    value = parse_number(text)
    if value is None or not math.isfinite(value):
        hint = "write a plain number, as in 1234.5, or leave the cell blank"
        raise file.error(f"{kind} {text!r} is not a finite number", hint, line=line)
    return value


def _source(file: TableFile, given: Mapping[str, Mapping[str, float]]) -> str:
    parts = [f"record: {file.name} ({len(given['record'])} games)"]
    for kind in ("random", "human"):
        num_given = len(given[kind])
        own = f"{file.name} ({num_given} games), else " if num_given else ""
        parts.append(f"{kind}: {own}{BASELINE_SOURCES[kind]}")
    return "; ".join(parts)


def _check_order(file: TableFile, reference: Reference, lines: Mapping[str, int]) -> None:
    """Refuse scores that are not above random play, by which normalised scores divide."""
    for game, line in lines.items():
        low = reference.random[game]
        for kind, values in (("human", reference.human), ("record", reference.record)):
            if values.get(game, math.inf) <= low:
                raise file.error(
                    f"{kind} {values[game]:g} of {game!r} is not above its random score {low:g}",
                    "scores are game points; normalised scores divide by the difference",
                    line=line,
                )
