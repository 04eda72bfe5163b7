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


def draw_atari_train(document: Document, console: Console) -> None:
    """Draw what a training on a game came to."""
    _draw_metrics(document, console)
    protocol = document["protocol"]
    console.print(
        f"{protocol['game']} under {protocol['conditions']}, {protocol['frames']:,} frames; "
        f"returns: {protocol['returns']}"
    )


def draw_eval(document: Document, console: Console) -> None:
    """Draw an evaluation."""
    _draw_metrics(document, console)
    protocol = document["protocol"]
    console.print(
        f"{protocol['agent']} on {protocol['env']} after {protocol['trained_steps']:,} steps; "
        f"a success: {protocol['success']}"
    )


def draw_explore(document: Document, console: Console) -> None:
    """Draw what each policy came to, seed by seed."""
    protocol = document["protocol"]
    table = _table("policy", "goals by seed", "first", "cells visited")
    for row in document["tables"]["policies"]:
        table.add_row(
            row["policy"], *(_listed(row[key]) for key in ("goals", "first_goal", "cells"))
        )
    console.print(table)
    console.print(
        f"{protocol['env']}, goals of {protocol['episodes']} episodes: {protocol['success']}; "
        "first: number of the episode, from 0"
    )


def draw_study(document: Document, console: Console) -> None:
    """Draw the agents side by side, then the differences between them."""
    if not document["tables"].get("agents"):
        return
    table = _table("agent", "seeds", *STUDY_COLUMNS.values(), right=("seeds",))
    for row in document["tables"]["agents"]:
        measures = [_measure(row[name]) for name in STUDY_COLUMNS]
        table.add_row(row["agent"], str(len(row["seeds"])), *measures)
    console.print(table)
    console.print()
    table = _table("difference", *STUDY_COLUMNS.values())
    differences = document["tables"]["differences"]
    for first, second in dict.fromkeys((row["first"], row["second"]) for row in differences):
        by_measure = {
            row["measure"]: {"mean": row["difference"], "ci95": row["ci95"]}
            for row in differences
            if (row["first"], row["second"]) == (first, second)
        }
        table.add_row(f"{first} - {second}", *(_measure(by_measure.get(n)) for n in STUDY_COLUMNS))
    if differences:
        console.print(table)
    protocol = document["protocol"]
    console.print(
        f"{protocol['env']}, {protocol['steps']:,} steps; a success: {protocol['success']}; "
        "a seed without one counts with the whole budget"
    )


STUDY_COLUMNS = {
    "first_success_step": "first success, steps",
    "successes": "successes",
    "auc": "area under curve",
    "final_return": "final return",
}


def _measure(measure: dict[str, Any] | None) -> str:
    if measure is None:
        return "-"
    ci95 = measure["ci95"]
    interval = f" [{_number(ci95[0])}, {_number(ci95[1])}]" if ci95 else ""
    return _number(measure["mean"]) + interval


def _listed(values: list[float | None]) -> str:
    return ", ".join("never" if value is None else f"{value:,}" for value in values)


def _draw_metrics(document: Document, console: Console) -> None:
    table = _table("", "value", "95 % interval", "unit", right=("value", "95 % interval"))
    for name, metric in document["metrics"].items():
        ci95 = metric["ci95"]
        interval = f"{_number(ci95[0])} to {_number(ci95[1])}" if ci95 else ""
        table.add_row(name.replace("_", " "), _number(metric["value"]), interval, metric["unit"])
    console.print(table)


def _table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    value = round(value, 1) + 0.0  # no minus before a zero
    is_whole = float(value).is_integer() or abs(value) >= 1_000
    return f"{value:,.0f}" if is_whole else f"{value:,.1f}"
