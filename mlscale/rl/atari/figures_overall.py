"""Agents over all games: performance profiles, aggregates, efficiency, improvement.

Painted from the tables of `scoring.score_agents`; data stay ratios, axes are in percent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mlscale.core.figures import MUTED, add_legend, bare, look, short
from mlscale.core.report.numbers import compact, tick
from mlscale.rl.atari.hwrns_axis import HWRNS_AXIS, LogRange, percent_decades, record_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Agent: TypeAlias = Mapping[str, Any]

FOREST = (
    ("hwrns_iqm", "IQM of HWRNS"),
    ("hwrns_median", "median HWRNS"),
    ("hwrns_mean", "mean HWRNS"),
    ("saber_mean", "mean SABER"),
    ("hwrns_clipped_mean", "capped mean HWRNS"),
    ("hwrns_gap", "optimality gap \N{DOWNWARDS ARROW}"),
)


def paint_profiles(figure: Figure, profiles: Mapping[str, Any], agents: Sequence[Agent]) -> None:
    """Paint the share of runs above each HWRNS, with 95 % bands where there are any."""
    order = [agent["agent"] for agent in agents]
    thresholds = profiles["thresholds"]
    axes = figure.add_subplot()
    axes.set_xscale("log")
    handles = []
    for curve in profiles["curves"]:
        style = look(order.index(curve["agent"]))
        if curve["low"] is not None:
            axes.fill_between(
                thresholds, curve["low"], curve["high"], color=style.color, alpha=0.2, linewidth=0
            )
        handles += axes.plot(
            thresholds,
            curve["share"],
            color=style.color,
            linestyle=style.dashes,
            label=short(curve["agent"]),
        )
    handles.append(record_line(axes))
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(lambda value, _: tick(value))
    percent_decades(axes, LogRange(thresholds[0], thresholds[0], thresholds[-1]))
    axes.set_xlim(thresholds[0], thresholds[-1])
    axes.set_xlabel(HWRNS_AXIS)
    axes.set_ylabel("share of runs above it")
    add_legend(figure, handles)


def has_efficiency(agent: Agent) -> bool:
    """Say whether an agent has both training frames and HWRNS aggregates."""
    return bool(agent["frames"]) and "hwrns_mean" in agent["aggregates"]


def paint_efficiency(figure: Figure, agents: Sequence[Agent]) -> None:
    """Paint mean and median HWRNS against training frames, for the agents that have both."""
    panels = figure.subplots(1, 2)
    for axes, name in zip(panels, ("mean", "median"), strict=True):
        points = [
            (agent["frames"], agent["aggregates"][f"hwrns_{name}"]["value"], k)
            for k, agent in enumerate(agents)
            if has_efficiency(agent)
        ]
        axes.set_xscale("log")
        for frames, value, k in points:
            style = look(k)
            axes.plot(frames, value, marker=style.marker, color=style.color, markersize=8)
        _spread_limits(axes, points)
        _name_points(axes, points, agents)
        axes.set_title(f"{name} HWRNS")
        axes.set_xlabel("training frames per game (log scale)")
        axes.yaxis.set_major_formatter(lambda value, _: tick(value))
        _frame_decades(axes)
    panels[0].set_ylabel("% of the human world record")


def _spread_limits(axes: Axes, points: Sequence[tuple[float, float, int]]) -> None:
    """Leave room around the points for their names."""
    frames, values = [point[0] for point in points], [point[1] for point in points]
    room = 10 ** max(1.0, 0.35 * math.log10(max(frames) / min(frames)))
    axes.set_xlim(min(frames) / room, max(frames) * room)
    low, high = min([0.0, *values]), max([*values, 0.01])
    axes.set_ylim(low - 0.03 * (high - low), high + 0.12 * (high - low))


def _frame_decades(axes: Axes) -> None:
    """Label powers of ten in millions or billions of frames, no more of them than fit."""
    left, right = (math.log10(end) for end in axes.get_xlim())
    exponents = range(math.ceil(left), math.floor(right) + 1, math.ceil((right - left) / 5))
    axes.set_xticks([10.0**e for e in exponents], [compact(10.0**e) for e in exponents])
    axes.minorticks_off()


def _name_points(
    axes: Axes, points: Sequence[tuple[float, float, int]], agents: Sequence[Agent]
) -> None:
    """Write names beside points, no two on one line."""
    bottom, top = axes.get_ylim()
    left, right = axes.get_xlim()
    rising = sorted(points, key=lambda point: point[1])
    gap = 0.06 * (top - bottom)
    heights = spread_apart([value for _, value, _ in rising], gap, bottom + gap / 2)
    for (frames, value, k), height in zip(rising, heights, strict=True):
        is_left = frames <= math.sqrt(left * right)
        is_moved = abs(height - value) > gap / 3
        axes.annotate(
            short(agents[k]["agent"], 22),
            (frames, value),
            (frames * (right / left) ** (0.04 if is_left else -0.04), height),
            ha="left" if is_left else "right",
            va="center",
            fontsize=8.5,
            zorder=1.9,
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.6, "shrinkA": 0}
            if is_moved
            else None,
        )


def spread_apart(values: Sequence[float], gap: float, lowest: float) -> list[float]:
    """Return rising values moved as little as will do to lie `gap` apart and above `lowest`."""
    # Isotonic regression of value - k * gap: blocks that would overlap share their mean.
    blocks: list[tuple[float, int]] = []
    for k, value in enumerate(values):
        mean, size = value - k * gap, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean = (before * count + mean * size) / (count + size)
            size += count
        blocks.append((mean, size))
    bases = [max(mean, lowest) for mean, size in blocks for _ in range(size)]
    return [base + k * gap for k, base in enumerate(bases)]


def forest_height(num_agents: int) -> float:
    """Return the height in inches of the figure of aggregates."""
    return 2 * (0.24 * num_agents + 0.75)


def paint_forest(figure: Figure, agents: Sequence[Agent]) -> None:
    """Paint the aggregates of all agents with their 95 % intervals, one panel each."""
    panels = figure.subplots(2, 3, sharey=True)
    for axes, (name, title) in zip(panels.flat, FOREST, strict=True):
        for k, agent in enumerate(agents):
            if name in agent["aggregates"]:
                _interval(axes, k, agent["aggregates"][name])
        axes.set_title(title, fontsize=9)
        axes.set_yticks(range(len(agents)), [short(agent["agent"], 20) for agent in agents])
        axes.set_ylim(len(agents) - 0.4, -0.6)
        bare(axes, grid="x")
        axes.margins(x=0.12)
        axes.locator_params(axis="x", nbins=4)
        axes.tick_params(axis="x", labelsize=8)
        axes.xaxis.set_major_formatter(lambda value, _: tick(value))


def _interval(axes: Axes, y: int, aggregate: Mapping[str, Any]) -> None:
    style = look(y)
    if aggregate["ci95"]:
        axes.hlines(y, *aggregate["ci95"], color=style.color, linewidth=1.8)
        axes.plot(aggregate["ci95"], [y, y], linestyle="", marker="|", color=style.color,
                  markersize=9, markeredgewidth=1.4)  # fmt: skip
    axes.plot(aggregate["value"], y, marker=style.marker, color=style.color)


def improvement_height(num_agents: int) -> float:
    """Return the height in inches of the matrix of improvements."""
    return min(0.55 * num_agents, 5.5) + 1.3


def paint_improvement(
    figure: Figure, improvement: Sequence[Mapping[str, Any]], agents: Sequence[Agent]
) -> None:
    """Paint P(X > Y) as a matrix, X by row and Y by column, with its numbers in the cells."""
    order = [agent["agent"] for agent in agents]
    grid = [[math.nan] * len(order) for _ in order]
    axes = figure.add_subplot()
    bare(axes)
    for row in improvement:
        if row["probability"] is not None:
            y, x = order.index(row["x"]), order.index(row["y"])
            grid[y][x] = row["probability"]
            text = _probability(row, with_interval=len(order) <= 6)
            axes.text(x, y, text, ha="center", va="center", fontsize=8.5)
    axes.set_facecolor("#f2f2f2")
    # The ends of the colour map are left out: too dark for the numbers.
    axes.imshow(grid, cmap="RdBu", vmin=-0.4, vmax=1.4, aspect="auto")
    names = [short(name, 18) for name in order]
    is_long = 0.085 * max(map(len, names)) * len(names) > 5.5
    axes.set_xticks(
        range(len(names)),
        names,
        rotation=35 if is_long else 0,
        rotation_mode="anchor",
        ha="right" if is_long else "center",
    )
    axes.set_yticks(range(len(names)), names)
    axes.set_ylabel("X, by row")
    axes.set_xlabel("Y, by column")


def _probability(row: Mapping[str, Any], *, with_interval: bool) -> str:
    text = f"{100 * row['probability']:.0f} %"
    if with_interval and row["ci95"]:
        low, high = row["ci95"]
        text += f"\n{100 * low:.0f} to {100 * high:.0f}"
    return text
