"""Score tables in JSON, turned into the header and cells of a CSV table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlscale.rl.atari.tabular import TableFile

SHAPES_HINT = (
    'write [{"agent": "a", "game": "pong", "seed": 0, "score": 20.5}, ...], '
    '{"a": {"pong": [20.5, 19], ...}} or {"pong": [20.5, 19], ...} with one number per seed'
)

Table = tuple["TableFile", list[str], list[tuple[int, list[str]]]]


def json_table(file: TableFile) -> Table:
    """Return a JSON score table as (file to name in errors, header, numbered rows of cells).

    Raises:
        UserError: The document is not JSON or no score table.
    """
    document = file.json()
    if isinstance(document, list) and document:
        return _from_records(file.with_unit("entry"), document)
    if isinstance(document, dict) and document:
        return _from_objects(file.with_unit("score"), document)
    raise file.error("not a score table", SHAPES_HINT)


def _from_records(file: TableFile, records: list[Any]) -> Table:
    header: dict[str, None] = {}
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict):
            raise file.error("not an object", SHAPES_HINT, line=number)
        header.update(dict.fromkeys(record))
    rows = [
        (number, [cell_text(record.get(name)) for name in header])
        for number, record in enumerate(records, start=1)
    ]
    return file, list(header), rows


def _from_objects(file: TableFile, document: dict[str, Any]) -> Table:
    if all(isinstance(value, dict) for value in document.values()):
        agents = document
    else:
        agents = {file.stem: document}
    rows: list[tuple[int, list[str]]] = []
    for agent, games in agents.items():
        for game, scores in games.items():
            for seed, score in enumerate(_number_list(file, scores, f"{agent!r}, {game!r}")):
                rows.append((len(rows) + 1, [agent, game, str(seed), cell_text(score)]))
    return file, ["agent", "game", "seed", "score"], rows


def _number_list(file: TableFile, scores: Any, where: str) -> list[float]:
    numbers = scores if isinstance(scores, list) else [scores]
    if not numbers or not all(isinstance(number, float) for number in numbers):
        raise file.error(f"{where}: not a number or a list of numbers", SHAPES_HINT)
    return numbers


def cell_text(value: Any) -> str:
    """Return a JSON value as a cell; whole numbers without a point, null as a blank."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value.strip() if isinstance(value, str) else str(value)
