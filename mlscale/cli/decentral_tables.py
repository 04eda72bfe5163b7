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


def draw_bench(document: Document, console: Console) -> None:
    """Draw the graphs of each number of replicas side by side, and what was found."""
    tables = document["tables"]
    rows = tables.get("cells", [])
    keys = list(dict.fromkeys((row["variant"], row["n"]) for row in rows))
    for variant, num_ranks in keys:
        own = [row for row in rows if (row["variant"], row["n"]) == (variant, num_ranks)]
        algorithms = {row["algorithm"] for row in own} - {"allreduce"}
        first = f"n = {num_ranks}" + (f", {variant}" if variant else "")
        table = _table(first, *BENCH_TITLES, right=BENCH_TITLES)
        for row in own:
            name = row["label"].removesuffix(f", {variant}") if variant else row["label"]
            if len(algorithms) > 1 and row["graph"]:
                name = f"{row['algorithm']} {name}"
            table.add_row(name, *_compared(row))
        console.print(table)
        for entry in tables.get("verdict", []):
            if (entry["variant"], entry["n"]) == (variant, num_ranks):
                begin = f"{entry['algorithm']}: " if len(algorithms) > 1 else ""
                for sentence in entry["sentences"].values():
                    console.print(f"{begin}{sentence}")
        console.print()
    if rows:
        console.print(
            "links: the most others that one hears in a step; apart: mean squared distance"
        )
        console.print("from the mean; gini: of tensor norms; MB: sent by a replica in a step")
        console.print("[ ]: 95 % over seeds; less all-reduce: percentage points, paired by seed")


BENCH_TITLES = ("links", "accuracy, %", "less all-reduce", "apart", "gini", "MB")


def _compared(row: dict[str, Any]) -> list[str]:
    """Return the cells of one graph in the table of a benchmark."""
    seeds = len(row["seeds"])
    if row["accuracy"] is None:
        return ["", "diverged" if row["diverged"] else "unfinished", "", "", "", ""]
    accuracy = _percents(row["accuracy"], "")
    if row["diverged"]:
        accuracy += f", {seeds} of {seeds + len(row['diverged'])}"
    return [
        "-" if row["neighbours"] is None else f"{row['neighbours']['mean']:.3g}",
        accuracy,
        "" if row["difference"] is None else _percents(row["difference"], "+"),
        *(_short(row[name], factor) for name, factor in SHORT.items()),
    ]


ROUNDING = 1e-9
"""Less than this is no distance between replicas: float32 is not exact."""
SHORT = {"disagreement": 1.0, "gini": 1.0, "sent_bytes_per_step": 1e-6}


def _short(summary: dict[str, Any] | None, factor: float) -> str:
    value = 0.0 if summary is None else factor * summary["mean"]
    return "-" if summary is None else "0" if abs(value) < ROUNDING else f"{value:.2g}"


def _percents(summary: dict[str, Any], sign: str) -> str:
    mean, ci95 = (round(100 * summary["mean"], 1) + 0.0), summary["ci95"]
    if ci95 is None:
        return f"{mean:{sign}.1f}"
    low, high = (round(100 * end, 1) + 0.0 for end in ci95)
    return f"{mean:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


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
