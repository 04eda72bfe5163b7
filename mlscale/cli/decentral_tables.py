"""Terminal tables of the `mlscale decentral` commands, drawn from the result document alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

Document = dict[str, Any]


def draw_train(document: Document, console: Console) -> None:
    """Draw what a training came to, and what its numbers hold under."""
    metrics, protocol = document["metrics"], document["protocol"]
    if not metrics:
        return
    table = _table("", "value", "unit", right=("value",))
    for name, metric in metrics.items():
        table.add_row(name.replace("_", " "), _number(metric["value"]), metric["unit"])
    console.print(table)
    graphs = ", ".join(
        stage["graph"] + (f" from epoch {stage['epoch']}" if stage["epoch"] > 1 else "")
        for stage in protocol["graphs"]
    )
    epochs = len(document["tables"]["epochs"])
    console.print(
        f"{protocol['task']}, {protocol['algorithm']} on {graphs}, "
        f"{protocol['replicas']} replicas; {epochs} epochs of {protocol['steps_per_epoch']} "
        f"steps, batches of {protocol['batch_per_replica']} a replica"
    )


def draw_plan(document: Document, console: Console) -> None:
    """Draw the costs of a step at each number of ranks, and what they mean."""
    protocol = document["protocol"]
    has_steps = document["config"]["compute_ms"] is not None
    console.print(
        f"{protocol['num_params']:,} parameters, {_number(protocol['model_bytes'] / 1e6)} MB; "
        f"{document['config']['bandwidth']}, {document['config']['latency']} a message"
    )
    titles = ["models", "MB", "of all-reduce", "ms", "faster above"]
    titles += ["step, ms", "overlapped"] if has_steps else []
    for entry in document["tables"]["verdict"]:
        table = _table(f"n = {entry['n']}", *titles, right=titles)
        for row in document["tables"]["plan"]:
            if row["n"] == entry["n"]:
                steps = [_number(row["step_ms"]), _number(row["overlapped_ms"])]
                table.add_row(row["graph"], *_costs(row), *(steps if has_steps else []))
        console.print()
        console.print(table)
        for sentence in entry["sentences"]:
            console.print(sentence)
    console.print()
    console.print("models, MB: sent by a rank in a step, in the mean; ms: for the busiest rank")
    console.print("faster above: the latency from which it is faster than all-reduce")
    if has_steps:
        console.print("step: computing, then sending; overlapped: the longer of the two")
    console.print(f"{protocol['scope']}: see `mlscale decentral graphs`")


def draw_graphs(document: Document, console: Console) -> None:
    """Draw what graphs are like at each number of ranks, and what they are."""
    for num_ranks in document["config"]["n"]:
        table = _table(f"n = {num_ranks}", *GRAPH_TITLES, right=GRAPH_TITLES)
        for row in document["tables"]["graphs"]:
            if row["n"] == num_ranks:
                table.add_row(row["graph"], *_likeness(row))
        console.print(table)
        console.print()
    for title, meaning in document["protocol"].items():
        console.print(f"{title}: {meaning}")
    if not document["config"]["graph"]:
        table = _table("graph", "a rank listens to", right=[])
        for row in document["tables"]["families"]:
            table.add_row(row["graph"], row["about"])
        console.print()
        console.print(table)


GRAPH_TITLES = ("degree", "gap", "rounds", "disagreement", "effective", "symmetric", "exact")
TINY = 1e-12


def _likeness(row: dict[str, Any]) -> list[str]:
    return [
        str(row["degree"]),
        _number(row["gap"]),
        "never" if row["rounds"] is None else f"{row['rounds']:,}",
        "grows" if row["disagreement"] is None else _number(row["disagreement"]),
        _number(row["effective_neighbours"]),
        "yes" if row["symmetric"] else "no",
        "-" if row["exact_after"] is None else str(row["exact_after"]),
    ]


def _costs(row: dict[str, Any]) -> list[str]:
    return [
        _number(row["sends"]),
        _number(row["bytes"] / 1e6),
        "-" if row["share"] is None else f"{100 * row['share']:,.0f} %",
        _number(row["ms"]),
        _latency(row["faster_from_us"]),
    ]


def _latency(us: float | None) -> str:
    if us is None:
        return "-"
    if us == 0:
        return "any"
    return f"{_number(us)} us" if us < 1000 else f"{_number(us / 1000)} ms"


def _table(*columns: str, right: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def _number(value: float | None) -> str:
    """Return a number with about four digits."""
    if value is None:
        return "-"
    if abs(value) < TINY:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
