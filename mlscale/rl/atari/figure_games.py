"""HWRNS of every game: bars for one agent, dots for several.

An agent has the same colour and marker in every figure of a report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mlscale.core.figures import FAINT, INK, MUTED, add_legend, bare, look, short
from mlscale.core.report.numbers import percent, tick
from mlscale.rl.atari.hwrns_axis import HWRNS_AXIS, LogRange, percent_decades, record_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Agent: TypeAlias = Mapping[str, Any]

ROW_IN = 0.185


def ranked_games(agents: Sequence[Agent]) -> list[tuple[str, list[float | None]]]:
    """Return the games with a record as (name, HWRNS by agent), the best of any agent last."""
    names: dict[str, str] = {}
    values: dict[str, list[float | None]] = {}
    for k, agent in enumerate(agents):
        for row in agent["games"]:
            if row["hwrns"] is not None:
                names[row["game"]] = row["name"]
                values.setdefault(row["game"], [None] * len(agents))[k] = row["hwrns"]
    ranked = sorted(values, key=lambda game: max(v for v in values[game] if v is not None))
    return [(names[game], values[game]) for game in ranked]


def games_span(agents: Sequence[Agent]) -> LogRange:
    """Return the axis that the games of all agents are shown on."""
    ranked = ranked_games(agents)
    return LogRange.of([value for _, values in ranked for value in values if value is not None])


def games_height(num_games: int) -> float:
    """Return the height in inches of the figure over games."""
    return ROW_IN * max(num_games, 4) + 1.2


def paint_games(figure: Figure, agents: Sequence[Agent]) -> None:
    """Paint HWRNS per game on a log axis: bars for one agent, dots for several."""
    games = ranked_games(agents)
    span = games_span(agents)
    axes = figure.add_subplot()
    bare(axes, grid="x")
    axes.set_xscale("log")
    if len(agents) == 1:
        handles = _bars(axes, [float(values[0] or 0) for _, values in games], span)
    else:
        handles = _dots(axes, agents, games, span)
    handles += [record_line(axes), *_strip(axes, span)]
    axes.set_yticks(range(len(games)), [short(name) for name, _ in games], fontsize=8.5)
    axes.set_ylim(-0.7, len(games) - 0.3)
    percent_decades(axes, span)
    axes.tick_params(labeltop=len(games) > 25)
    axes.set_xlabel(HWRNS_AXIS)
    add_legend(figure, handles)


def _bars(axes: Axes, values: Sequence[float], span: LogRange) -> list[Any]:
    from matplotlib.patches import Patch

    broken, below = look(0).color, "#8fb8d6"
    shown = [(y, value) for y, value in enumerate(values) if value >= span.floor]
    axes.barh(
        [y for y, _ in shown],
        [value - span.floor for _, value in shown],
        left=span.floor,
        height=0.72,
        color=[broken if value >= 1 else below for _, value in shown],
    )
    _triangles(axes, [y for y, value in enumerate(values) if value < span.floor], span, below)
    number_decades = 0.11 * math.log10(span.right / span.left)
    for y, value in enumerate(values):
        # Past the record line where it would cross the number.
        start = value if value >= span.floor else span.floor
        crosses = -number_decades < math.log10(start) < 0
        axes.annotate(
            percent(value),
            (1.0 if crosses else start, y),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=INK,
        )
    return [
        Patch(color=color, label=label)
        for color, label, some in (
            (broken, "record reached", max(values) >= 1),
            (below, "below the record", min(values) < 1),
        )
        if some
    ]


def _dots(
    axes: Axes,
    agents: Sequence[Agent],
    games: Sequence[tuple[str, list[float | None]]],
    span: LogRange,
) -> list[Any]:
    places = [
        [None if value is None else span.place(value) for value in values] for _, values in games
    ]
    ends = [[place for place in row if place is not None] for row in places]
    axes.hlines(range(len(games)), [min(row) for row in ends], [max(row) for row in ends],
                color=FAINT, linewidth=3, zorder=1)  # fmt: skip
    handles = []
    for k, agent in enumerate(agents):
        style = look(k)
        # A little above one another, so that equal values do not hide each other.
        lift = 0.4 * (0.5 - k / (len(agents) - 1))
        values = [(y + lift, values[k]) for y, (_, values) in enumerate(games)]
        shown = [(y, value) for y, value in values if value is not None and value >= span.floor]
        handles += axes.plot(
            [value for _, value in shown],
            [y for y, _ in shown],
            linestyle="",
            marker=style.marker,
            color=style.color,
            markeredgecolor="white",
            markeredgewidth=0.5,
            markersize=6.5,
            label=short(agent["agent"]),
        )
        low = [y for y, value in values if value is not None and value < span.floor]
        _triangles(axes, low, span, style.color)
    return handles


def _strip(axes: Axes, span: LogRange) -> list[Any]:
    """Shade the strip and return its line of the legend, where there is a strip."""
    from matplotlib.lines import Line2D

    axes.set_xlim(span.left, span.right * (1.6 if len(axes.patches) else 1))
    if not span.has_strip:
        return []
    axes.axvspan(span.left, span.floor, color="#efefef", zorder=0, linewidth=0, gid="strip")
    return [
        Line2D([], [], linestyle="", marker="<", markerfacecolor="white", color=MUTED,
               label=f"zero, negative or below {tick(span.floor)}")
    ]  # fmt: skip


def _triangles(axes: Axes, rows: Sequence[float], span: LogRange, color: str) -> None:
    """Mark the values off the scale: hollow, pointing off the axis, in the strip."""
    axes.plot(
        [span.strip] * len(rows),
        rows,
        linestyle="",
        marker="<",
        markerfacecolor="white",
        markeredgecolor=color,
        markersize=6,
        gid="off-scale",
    )
