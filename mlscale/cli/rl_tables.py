"""Terminal tables of the `mlscale rl` commands, drawn from the result document alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import Console

Document = dict[str, Any]


def draw_train(document: Document, console: Console) -> None:
    """Draw what a training came to."""
    _draw_metrics(document, console)
    protocol = document["protocol"]
    console.print(f"a success: {protocol['success']}; returns {protocol['returns']}")


def _draw_metrics(document: Document, console: Console) -> None:
    table = _table("", "value", "unit", right=("value",))
    for name, metric in document["metrics"].items():
        table.add_row(name.replace("_", " "), _number(metric["value"]), metric["unit"])
    console.print(table)


def _table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
