"""The report of a benchmark: figures, tables, and what they say."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from mlscale.core.figures import draw
from mlscale.core.report.blocks import Card, Column, Facts, FigureBlock, Section, SortableTable
from mlscale.core.report.build import render, report_on
from mlscale.core.report.numbers import fixed, percent
from mlscale.decentral.bench_cells import BASELINE
from mlscale.decentral.bench_figures import height_in, paint_against, paint_curves
from mlscale.decentral.bench_summary import baseline_of, groups
from mlscale.decentral.bench_verdict import plain, points
from mlscale.decentral.dispersion import MEASURES as DISPERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.results import Result
    from mlscale.core.runs import Run
    from mlscale.decentral.graphs.mixing import Graph

Row = dict[str, Any]
MEASURES = {
    "gini": "gini",
    "cv": "cv",
    "iod": "iod",
    "qcd": "qcd",
    "disagreement": "disagreement",
    "neighbours": "connections",
    "sent_bytes_per_step": "bytes a step",
}


def write_report(run: Run, result: Result, graphs: Mapping[str, Graph], *, title: str) -> None:
    """Draw the figures and write `report.html` into the run's directory.

    Args:
        run: Where to write.
        result: With the tables of `side_by_side`.
        graphs: To draw, by title.
        title: The heading.
    """
    tables = result.tables
    rows: Sequence[Row] = tables["cells"]
    sections = [*_found(tables["verdict"]), *_figures(run, rows)]
    sections.append(Section("Cells", (_cells(rows), _costs(rows))))
    if tables["correlations"]:
        sections.append(Section("Correlations", (_correlations(tables["correlations"]),)))
    if tables["tensors"]:
        sections.append(Section("Dispersion by tensor", (_tensors(tables["tensors"]),)))
    if graphs:
        sections.append(_drawings(run, graphs))
    conditions = {name.replace("_", " "): _in_words(v) for name, v in result.protocol.items()}
    sections.append(Section("Conditions", (Facts(conditions),)))
    if tables["scales"]:
        sections.append(Section("Scales", (_scales(tables["scales"]),)))
    report = report_on(
        run, result, title=title, cards=_cards(rows, tables["correlations"]),
        sections=tuple(sections),
    )  # fmt: skip
    run.write("report.html", render(report))


def _found(verdict: Sequence[Mapping[str, Any]]) -> list[Section]:
    return [
        Section(f"Found {_where(entry)}", (Facts(entry["sentences"]),))
        for entry in verdict
        if entry["sentences"]
    ]


def _where(entry: Mapping[str, Any]) -> str:
    variant = f", {entry['variant']}" if entry["variant"] else ""
    return f"at n = {entry['n']} with {entry['algorithm']}{variant}"


def _figures(run: Run, rows: Sequence[Row]) -> list[Section]:
    if not groups(rows):
        return []
    means = "Large: means over seeds with 95 % intervals; small: seeds. Dotted: all-reduce."
    figures = (
        ("accuracy_gini", paint_against, "gini", "gini of tensor norms over replicas",
         f"Accuracy against dispersion. {means}"),
        ("accuracy_connections", paint_against, "neighbours", "connections",
         f"Accuracy against connections: the most replicas that one hears in a step. {means}"),
        ("disagreement", paint_curves, "disagreement", "disagreement",
         "Mean squared distance of replicas from their mean after each epoch, mean over seeds. "
         "A graph whose replicas are exactly alike has no line."),
        ("gini", paint_curves, "gini", "gini",
         "Gini coefficient of tensor norms over replicas before mixing, mean over tensors and "
         "seeds."),
    )  # fmt: skip
    blocks = []
    for name, paint, measure, title, caption in figures:
        if measure != "neighbours" or any(row["neighbours"] for row in rows):
            painted = functools.partial(paint, rows=rows, measure=measure, title=title)
            svg = draw(run, name, painted, height_in=height_in(rows))
            blocks.append(FigureBlock(svg=svg, caption=caption, alt=caption.split(".")[0]))
    return [Section("Figures", tuple(blocks))]


def _cards(rows: Sequence[Row], correlated: Sequence[Row]) -> tuple[Card, ...]:
    baselines = (
        Card(
            name=f"{row['label']}, n = {row['n']}: accuracy",
            value=percent(row["accuracy"]["mean"], 4),
            interval=_percent_interval(row["accuracy"]["ci95"]),
            n=_seeds(row),
        )
        for row in rows
        if row["algorithm"] == BASELINE and row["accuracy"] is not None
    )
    links = (
        Card(
            name=f"{MEASURES[row['measure']]} and accuracy, n = {row['n']}, {row['algorithm']}",
            value=plain(row["mean"]),
            interval=_interval(row["ci95"], 2),
            n=f"{row['graphs']} graphs, {_seeds(row)}",
            unit="rank correlation",
        )
        for row in correlated
        if row["measure"] in ("gini", "neighbours")
    )
    return (*baselines, *links)


def _seeds(row: Row) -> str:
    count = len(row["seeds"])
    return "1 seed" if count == 1 else f"{count} seeds"


def _cells(rows: Sequence[Row]) -> SortableTable:
    diverged = any(row["diverged"] for row in rows)
    return SortableTable(
        caption="Means over seeds. Less all-reduce: percentage points, paired by seed.",
        columns=(
            *_name_columns(rows),
            Column("connections", "number", 1, help="most replicas that one hears in a step"),
            Column("accuracy, %", "percent", 2, help="of the mean model"), Column("95 %"),
            Column("less all-reduce", "percent", 2), Column("its 95 %"),
            Column("replicas, %", "percent", 2, help="mean accuracy of replicas by themselves"),
            Column("seeds", "number", 0),
            *([Column("diverged", "number", 0)] if diverged else []),
        ),
        rows=tuple(
            (
                *_names(row, rows), _mean(row["neighbours"]), _mean(row["accuracy"]),
                _percent_interval(row["accuracy"]["ci95"]) if row["accuracy"] else "",
                _mean(row["difference"]),
                _points_interval(row["difference"]["ci95"]) if row["difference"] else "",
                _mean(row["local_accuracy"]), len(row["seeds"]),
                *([len(row["diverged"])] if diverged else []),
            )
            for row in rows
        ),
    )  # fmt: skip


def _costs(rows: Sequence[Row]) -> SortableTable:
    return SortableTable(
        caption="How far apart replicas are, what each sends, and the time of these trainings on "
        "this machine: a simulation's is that of all replicas in turn, and no forecast.",
        columns=(
            *_name_columns(rows), Column("disagreement", "number", 4),
            *(Column(f"{name}, 1e-3", "number", 3) for name in DISPERSION),
            Column("MB a step", "number", 4), Column("times all-reduce", "number", 2),
            Column("seconds", "number", 1),
        ),
        rows=tuple(
            (
                *_names(row, rows), _mean(row["disagreement"]),
                *(_mean(row[name], 1e3) for name in DISPERSION),
                _mean(row["sent_bytes_per_step"], 1e-6), _times(row, rows), _mean(row["seconds"]),
            )
            for row in rows
        ),
    )  # fmt: skip


def _name_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return the columns that say what a row is of; the algorithm where there are several."""
    columns = (Column("graph"), Column("n", "number", 0))
    return (*columns, Column("algorithm")) if _has_several(rows) else columns


def _names(row: Row, rows: Sequence[Row]) -> tuple[Any, ...]:
    names = (row["label"], row["n"])
    return (*names, row["algorithm"]) if _has_several(rows) else names


def _has_several(rows: Sequence[Row]) -> bool:
    return len({row["algorithm"] for row in rows} - {BASELINE}) > 1


def _times(row: Row, rows: Sequence[Row]) -> float | None:
    """Return a cell's bytes as a multiple of all-reduce's."""
    baseline = baseline_of(row["variant"], row["n"], rows)
    mine = _mean(row["sent_bytes_per_step"])
    whole = None if baseline is None else _mean(baseline["sent_bytes_per_step"])
    return mine / whole if mine is not None and whole else None


def _correlations(rows: Sequence[Row]) -> SortableTable:
    return SortableTable(
        caption="Spearman's rank correlation with accuracy over graphs, mean over seeds.",
        columns=(
            Column("measure"), Column("n", "number", 0), Column("algorithm"),
            Column("correlation", "number", 2), Column("95 %"), Column("graphs", "number", 0),
            Column("seeds", "number", 0),
        ),
        rows=tuple(
            (
                MEASURES[row["measure"]] + (f", {row['variant']}" if row["variant"] else ""),
                row["n"], row["algorithm"], row["mean"], _interval(row["ci95"], 2), row["graphs"],
                len(row["seeds"]),
            )
            for row in rows
        ),
    )  # fmt: skip


def _tensors(rows: Sequence[Row]) -> SortableTable:
    return SortableTable(
        caption="Of each parameter tensor's norm over replicas before mixing: means over epochs "
        "and seeds.",
        columns=(
            *_name_columns(rows), Column("tensor"),
            *(Column(f"{name}, 1e-3", "number", 3) for name in DISPERSION),
        ),
        rows=tuple(
            (
                *_names(row, rows), row["tensor"], *(1e3 * row[name] for name in DISPERSION),
            )
            for row in rows
        ),
    )  # fmt: skip


def _drawings(run: Run, graphs: Mapping[str, Graph]) -> Section:
    from mlscale.decentral.drawing import draw_first_rounds

    (num_ranks, *_) = (graph.num_ranks for graph in graphs.values())
    caption = "Lines join replicas that hear each other; arrows go one way, from who is heard."
    block = FigureBlock(
        svg=draw_first_rounds(graphs, run, "graphs"), caption=caption, alt=", ".join(graphs)
    )
    return Section(f"The graphs at n = {num_ranks}", (block,))


def _scales(rows: Sequence[Row]) -> SortableTable:
    return SortableTable(
        caption="How long trainings are at each number of replicas.",
        columns=(
            Column("n", "number", 0), Column("batch of a replica", "number", 0),
            Column("steps an epoch", "number", 0), Column("epochs", "number", 0),
            Column("examples seen", "number", 0),
        ),
        rows=tuple(
            (row["n"], row["batch"], row["steps_per_epoch"], row["epochs"], row["examples"])
            for row in rows
        ),
    )  # fmt: skip


def _mean(summary: Row | None, factor: float = 1.0) -> float | None:
    return None if summary is None else factor * float(summary["mean"])


def _percent_interval(ci95: Sequence[float] | None) -> str:
    return f"{fixed(100 * ci95[0], 2)} to {fixed(100 * ci95[1], 2)}" if ci95 else ""


def _points_interval(ci95: Sequence[float] | None) -> str:
    return f"{points(ci95[0])} to {points(ci95[1])}" if ci95 else ""


def _interval(ci95: Sequence[float] | None, digits: int) -> str:
    return f"{fixed(ci95[0], digits)} to {fixed(ci95[1], digits)}" if ci95 else ""


def _in_words(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
