"""The report of a study: its learning curves, its table, `report.html`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.figures import add_legend, draw, look
from mlscale.core.report.blocks import Card, Column, Facts, FigureBlock, Section, SortableTable
from mlscale.core.report.build import render, report_on
from mlscale.core.report.numbers import compact, fixed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from mlscale.core.results import Result
    from mlscale.core.runs import Run

TITLES = {
    "first_success_step": "first success, steps",
    "successes": "successes",
    "auc": "area under the curve",
    "final_return": "final return",
}


def write_report(run: Run, result: Result) -> None:
    """Draw the learning curves and write `report.html` into the run's directory.

    Args:
        run: Where to write.
        result: The result, with the tables of `comparison.compare`.
    """
    rows, env = result.tables["agents"], result.protocol["env"]
    svg = draw(
        run,
        "learning_curves",
        lambda figure: paint_curves(figure, rows, result.tables["grid"]),
        height_in=3.6,
    )
    caption = "Mean return of the last 20 training episodes, averaged over seeds."
    if any(row["curve"]["low"] for row in rows):
        caption += " Shaded: 95 % bootstrap intervals over seeds, point by point."
    sections = (
        Section(
            "Learning curves",
            (FigureBlock(svg=svg, caption=caption, alt=f"Learning curves on {env}"),),
        ),
        Section("Agents", (_agents(rows), _differences(result.tables["differences"]))),
        Section("Conditions", (Facts({k: _in_words(v) for k, v in result.protocol.items()}),)),
    )
    cards = tuple(_card(row, "final_return") for row in rows)
    report = report_on(run, result, title=f"Exploration on {env}", cards=cards, sections=sections)
    run.write("report.html", render(report))


def paint_curves(figure: Figure, rows: Sequence[Mapping[str, Any]], grid: Sequence[float]) -> None:
    """Paint each agent's mean curve, with its band where there is one."""
    axes = figure.add_subplot()
    handles = []
    for k, row in enumerate(rows):
        style, curve = look(k), row["curve"]
        if curve["low"] is not None:
            axes.fill_between(
                grid, curve["low"], curve["high"], color=style.color, alpha=0.2, linewidth=0
            )
        handles += axes.plot(
            grid, curve["mean"], color=style.color, linestyle=style.dashes, label=row["agent"]
        )
    axes.xaxis.set_major_formatter(lambda value, _: compact(value))
    axes.set_xlim(0, grid[-1])
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return")
    add_legend(figure, handles)


def _card(row: Mapping[str, Any], name: str) -> Card:
    measure, num = row[name], len(row["seeds"])
    return Card(
        name=f"{row['agent']}: {TITLES[name]}",
        value=fixed(measure["mean"], 1),
        interval=_interval(measure["ci95"]),
        n=f"{num} {'seed' if num == 1 else 'seeds'}",
    )


def _agents(rows: Sequence[Mapping[str, Any]]) -> SortableTable:
    columns = [Column("agent"), Column("seeds", "number", 0)]
    for title in TITLES.values():
        columns += [Column(title, "number", 1), Column(f"{title}: 95 %")]
    columns.append(Column("seeds without success", "number", 0))
    return SortableTable(
        caption="Means over seeds. A seed without any success counts with the whole budget.",
        columns=tuple(columns),
        rows=tuple(_agent_cells(row) for row in rows),
    )


def _agent_cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    cells: list[Any] = [row["agent"], len(row["seeds"])]
    for name in TITLES:
        measure = row[name]
        cells += [measure["mean"], _interval(measure["ci95"])] if measure else [None, ""]
    return (*cells, row["never_succeeded"])


def _differences(rows: Sequence[Mapping[str, Any]]) -> SortableTable:
    return SortableTable(
        caption="Differences of means, first agent less second.",
        columns=(
            Column("measure"), Column("first"), Column("second"),
            Column("difference", "number", 1), Column("95 %"),
        ),
        rows=tuple(
            (TITLES[row["measure"]], row["first"], row["second"], row["difference"],
             _interval(row["ci95"]))
            for row in rows
        ),
    )  # fmt: skip


def _in_words(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _interval(ci95: tuple[float, float] | None) -> str:
    return f"{fixed(ci95[0], 1)} to {fixed(ci95[1], 1)}" if ci95 else ""
