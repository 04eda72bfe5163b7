"""A graph as a picture: ranks on a circle with who sends to whom, or the matrix of many ranks.

Shape letters: N ranks; E links; P panels, one a round.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.figures import MUTED, PALETTE, WIDTH_IN, bare, draw, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from mlscale.core.runs import Run
    from mlscale.decentral.graphs.mixing import Graph, Mixing

MOST_ON_A_CIRCLE = 64
MOST_NAMED = 32
"""Ranks whose numbers have room beside them."""
MOST_PANELS = 6
PANELS_A_ROW = 3
DRAWN_ROUNDS = 3
"""Rounds shown of a graph that is drawn anew for ever."""
PANEL_IN = 2.9


def draw_graph(graph: Graph, run: Run) -> None:
    """Write a picture of a graph into a run's figures."""
    num_panels = min(graph.period or DRAWN_ROUNDS, MOST_PANELS)
    columns = min(num_panels, PANELS_A_ROW)
    num_rows = -(-num_panels // columns)

    def paint(figure: Figure) -> None:
        panels = figure.subplots(num_rows, columns, squeeze=False).flat
        for step, axes in enumerate(panels):
            if step < num_panels:
                _paint_panel(axes, graph.at(step), _title(graph, step))
            else:
                axes.set_visible(False)

    size = 1.5 * PANEL_IN if num_panels == 1 else PANEL_IN
    draw(
        run, stem(graph), paint, height_in=num_rows * (size + 0.3), width_in=max(columns * size, 4)
    )


def draw_first_rounds(graphs: Mapping[str, Graph], run: Run, name: str) -> str:
    """Write one picture with the first round of each graph and return it as SVG.

    Args:
        graphs: By the title of their panel.
        run: Whose figures.
        name: The file's stem.
    """
    num_rows = -(-len(graphs) // PANELS_A_ROW)

    def paint(figure: Figure) -> None:
        panels = list(figure.subplots(num_rows, PANELS_A_ROW, squeeze=False).flat)
        for axes, (title, graph) in zip(panels, graphs.items(), strict=False):
            _paint_panel(axes, graph.at(0), f"{short(title)}{_round(graph, 0)}")
        for axes in panels[len(graphs) :]:
            axes.set_visible(False)

    return draw(run, name, paint, height_in=num_rows * (WIDTH_IN / PANELS_A_ROW + 0.3))


def stem(graph: Graph) -> str:
    """Return the name of a graph's picture, without what a file's name may not have in it."""
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", graph.name).strip("-.")
    return f"{name[-60:]}-n{graph.num_ranks}"


def _title(graph: Graph, step: int) -> str:
    title = f"{short(graph.name)}, n = {graph.num_ranks}" if step == 0 else ""
    return f"{title}{_round(graph, step)}"


def _round(graph: Graph, step: int) -> str:
    """Return a line that says which round is seen, where there are several."""
    if graph.period == 1:
        return ""
    return f"\nround {step + 1}" + (f" of {graph.period}" if graph.period else ", drawn anew")


def _paint_panel(axes: Axes, mixing: Mixing, title: str) -> None:
    bare(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")
    axes.set_title(title, fontsize=9)
    if mixing.num_ranks <= MOST_ON_A_CIRCLE:
        _paint_circle(axes, mixing)
    else:
        _paint_matrix(axes, mixing)


def _paint_circle(axes: Axes, mixing: Mixing) -> None:
    """Paint lines between ranks that hear each other, and arrows from a sender to a receiver."""
    from matplotlib.collections import LineCollection

    points_N2 = circle(mixing.num_ranks)
    both_E2, one_way_E2 = links(mixing)
    crowd = min(1.0, 4 * mixing.num_ranks / max(len(both_E2) + len(one_way_E2), 1))
    width = 0.4 + 1.0 * crowd
    size = 5.0 if mixing.num_ranks <= MOST_NAMED else 2.5
    lines = LineCollection(
        list(points_N2[both_E2]), colors=PALETTE[0], linewidths=width, alpha=0.3 + 0.6 * crowd
    )
    axes.add_collection(lines)
    if len(one_way_E2):
        from_E2, to_E2 = points_N2[one_way_E2[:, 0]], points_N2[one_way_E2[:, 1]]
        axes.quiver(
            *from_E2.T,
            *(to_E2 - from_E2).T * 0.97,
            angles="xy",
            scale_units="xy",
            scale=1,
            color=PALETTE[1],
            width=0.004 * width,
            headwidth=1.2 * size,
            headlength=1.6 * size,
            headaxislength=1.4 * size,
            alpha=0.3 + 0.6 * crowd,
        )
    axes.plot(*points_N2.T, "o", color=MUTED, markersize=size, zorder=3)
    if mixing.num_ranks <= MOST_NAMED:
        for rank, (x, y) in enumerate(1.14 * points_N2):
            axes.text(x, y, str(rank), ha="center", va="center", fontsize=7)
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.3, 1.3)


def circle(num_ranks: int) -> NDArray[np.float64]:
    """Return places of ranks on a circle, (N, 2), rank 0 on top and on clockwise."""
    angles_N = 2 * math.pi * np.arange(num_ranks) / num_ranks
    return np.stack([np.sin(angles_N), np.cos(angles_N)], axis=1)


def links(mixing: Mixing) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs that hear each other, (E, 2), and the others, (E, 2): sender, receiver."""
    receivers_E = np.repeat(np.arange(mixing.num_ranks), np.diff(mixing.starts))
    pairs = {
        (source, receiver)
        for source, receiver in zip(mixing.sources_E.tolist(), receivers_E.tolist(), strict=True)
        if source != receiver
    }
    both = sorted(pair for pair in pairs if pair[0] < pair[1] and pair[::-1] in pairs)
    one_way = sorted(pair for pair in pairs if pair[::-1] not in pairs)
    return np.array(both, np.int64).reshape(-1, 2), np.array(one_way, np.int64).reshape(-1, 2)


def _paint_matrix(axes: Axes, mixing: Mixing) -> None:
    """Paint which entries are not zero, by their size."""
    matrix_NN = mixing.dense()
    # The smallest weight must still stand out from no weight at all.
    shades_NN = np.where(matrix_NN > 0, 0.4 + 0.6 * matrix_NN / matrix_NN.max(), 0)
    axes.imshow(shades_NN, cmap="Blues", vmin=0, vmax=1, interpolation="antialiased")
    axes.set_xlabel("from rank")
    axes.set_ylabel("to rank")
    last = mixing.num_ranks - 1
    axes.set_xticks([0, last])
    axes.set_yticks([0, last])
