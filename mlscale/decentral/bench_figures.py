"""The figures of a benchmark: a panel for each group of graphs that are compared.

A graph looks the same in all panels and figures.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mlscale.core.figures import INK, add_legend, look, short
from mlscale.core.report.numbers import tick
from mlscale.decentral.bench_summary import baseline_of, groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = dict[str, Any]
PANELS_A_ROW = 2
PANEL_HEIGHT_IN = 2.7
LEGEND_IN = 0.5
ROUNDING = 1e-9
"""Less than this is no distance: float32 is not exact."""


def height_in(rows: Sequence[Row]) -> float:
    """Return how high a figure with a panel for each group is."""
    return PANEL_HEIGHT_IN * -(-max(1, len(groups(rows))) // PANELS_A_ROW) + LEGEND_IN


def paint_against(figure: Figure, rows: Sequence[Row], measure: str, title: str) -> None:
    """Paint accuracy against a measure: a small point for each seed, a large one for the mean.

    Args:
        figure: Empty.
        rows: As `cell_rows` returns them.
        measure: Its name.
        title: Of the axis.
    """

    def paint(axes: Axes, row: Row, k: int) -> Any:
        style, x, y = look(k), row[measure], row["accuracy"]
        axes.plot(
            x["values"], y["values"], style.marker, color=style.color, alpha=0.35, markersize=3.5
        )
        (handle,) = axes.plot(
            x["mean"], y["mean"], style.marker, color=style.color, label=short(row["label"])
        )
        axes.errorbar(
            x["mean"],
            y["mean"],
            xerr=_bars(x),
            yerr=_bars(y),
            color=style.color,
            linewidth=1.0,
            capsize=2,
        )
        return handle

    handles = _panels(figure, rows, paint, needs=(measure, "accuracy"))
    for axes, _, (variant, n, _) in _with_groups(figure, rows):
        axes.set_xlabel(title)
        _accuracy_axis(axes)
        if measure == "neighbours":
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        baseline = baseline_of(variant, n, rows)
        if baseline is not None:
            line = axes.axhline(
                baseline["accuracy"]["mean"], color=INK, linewidth=1.0, linestyle=":",
                label="all-reduce",
            )  # fmt: skip
            if baseline["accuracy"]["ci95"]:
                axes.axhspan(*baseline["accuracy"]["ci95"], color=INK, alpha=0.07, linewidth=0)
            handles["all-reduce"] = line
    _legend(figure, handles)


def paint_curves(figure: Figure, rows: Sequence[Row], measure: str, title: str) -> None:
    """Paint a measure over epochs on a logarithmic axis, with bands where there are any.

    Args:
        figure: Empty.
        rows: As `cell_rows` returns them.
        measure: Its name; zeros are not drawn, nor what rounding makes of them.
        title: Of the axis.
    """

    def paint(axes: Axes, row: Row, k: int) -> Any:
        style, curve = look(k), row["curves"][measure]
        epochs = row["curves"]["epoch"]
        shown = [y is not None and y > ROUNDING for y in curve["mean"]]
        if curve["low"] is not None:
            low = [max(y, ROUNDING) for y in curve["low"]]
            axes.fill_between(
                epochs, low, curve["high"], where=shown, color=style.color, alpha=0.2, linewidth=0
            )
        mean = [
            y if is_shown else math.nan for y, is_shown in zip(curve["mean"], shown, strict=True)
        ]
        (handle,) = axes.plot(
            epochs, mean, color=style.color, linestyle=style.dashes, label=short(row["label"])
        )
        return handle

    from matplotlib.ticker import LogFormatter

    handles = _panels(figure, rows, paint, needs=("accuracy",))
    for axes, _, _ in _with_groups(figure, rows):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(LogFormatter())  # the default one writes formulas
        axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
        axes.set_xlabel("epoch")
        axes.set_ylabel(title)
    _legend(figure, handles)


def _panels(
    figure: Figure,
    rows: Sequence[Row],
    paint: Callable[[Axes, Row, int], Any],
    needs: Sequence[str],
) -> dict[str, Any]:
    """Paint every row into the panel of its group; return what a legend shows, by label."""
    found = groups(rows)
    columns = min(PANELS_A_ROW, len(found))
    panels = figure.subplots(-(-len(found) // columns), columns, squeeze=False).flat
    for spare in list(panels)[len(found) :]:
        spare.set_visible(False)
    labels = list(dict.fromkeys(row["label"] for _, own in found for row in own))
    handles: dict[str, Any] = {}
    for axes, own, (variant, n, algorithm) in _with_groups(figure, rows):
        axes.set_title(", ".join(filter(None, (f"n = {n}", algorithm, variant))))
        for row in own:
            if all(row[name] is not None for name in needs):
                handles[row["label"]] = paint(axes, row, labels.index(row["label"]))
    return handles


def _with_groups(
    figure: Figure, rows: Sequence[Row]
) -> Iterator[tuple[Axes, list[Row], tuple[str, int, str]]]:
    for axes, (key, own) in zip(figure.axes, groups(rows), strict=False):
        yield axes, own, key


def _bars(summary: Row) -> list[list[float]] | None:
    """Return how far an interval reaches below and above its mean."""
    if summary["ci95"] is None:
        return None
    low, high = summary["ci95"]
    return [[max(summary["mean"] - low, 0.0)], [max(high - summary["mean"], 0.0)]]


def _accuracy_axis(axes: Axes) -> None:
    axes.set_ylabel("accuracy of the mean model")
    axes.yaxis.set_major_formatter(lambda value, _: tick(round(value, 6)))


def _legend(figure: Figure, handles: dict[str, Any]) -> None:
    if handles:
        add_legend(figure, list(handles.values()))
