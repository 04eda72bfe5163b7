"""What the terminal shows of a filmed episode, drawn from the result document alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console


def draw_watch(document: dict[str, Any], console: Console) -> None:
    """Draw the episodes and what the film is like."""
    episodes = document["tables"].get("episodes")
    if not episodes:
        return
    table = Table(box=None, pad_edge=False)
    for column in episodes[0]:
        table.add_column(column, justify="left" if column == "end" else "right")
    for row in episodes:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)
    film = document["tables"]["film"]
    console.print(
        f"{document['artifacts'][0]}: {film['length_s']:.1f} s, "
        f"{film['pictures']:,} pictures at {film['pictures_per_s']:g} a second"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value}"
