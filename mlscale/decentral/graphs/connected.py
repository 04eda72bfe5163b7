"""Whether every rank's value can reach every other in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlscale.decentral.graphs.mixing import Graph

MOST_PARTS = 6
"""Parts that an error names."""


def components(graph: Graph) -> list[list[int]]:
    """Return the strongly connected parts of a graph, over all rounds of its period together.

    Args:
        graph: One with a period.

    Returns:
        Ranks in ascending order, the part of rank 0 first.

    Source: Kosaraju's two searches.
    """
    keys: list[NDArray[np.int64]] = []
    for step in range(graph.period or 1):
        mixing = graph.at(step)
        rows_E = np.repeat(np.arange(mixing.num_ranks), np.diff(mixing.starts))
        keys.append(rows_E * mixing.num_ranks + mixing.sources_E)
    pairs = np.sort(np.concatenate(keys), kind="stable")
    receivers, senders = pairs // graph.num_ranks, pairs % graph.num_ranks
    backward = _neighbours(graph.num_ranks, receivers, senders)
    order = np.argsort(senders, kind="stable")
    forward = _neighbours(graph.num_ranks, senders[order], receivers[order])
    seen = [False] * graph.num_ranks
    finished: list[int] = []
    for rank in range(graph.num_ranks):
        finished += _search(rank, forward, seen)
    seen = [False] * graph.num_ranks
    parts = (_search(rank, backward, seen) for rank in reversed(finished))
    return sorted(sorted(part) for part in parts if part)


def check_connected(graph: Graph) -> None:
    """Refuse a graph in which some rank's value never reaches another.

    Graphs whose rounds are drawn for ever pass: every pair meets in them sooner or later.

    Raises:
        UserError: It falls into parts.
    """
    if graph.period is None:
        return
    parts = components(graph)
    if len(parts) > 1:
        shown = "; ".join(ranges(part) for part in parts[:MOST_PARTS])
        more = f"; and {len(parts) - MOST_PARTS} more" if len(parts) > MOST_PARTS else ""
        raise UserError(
            f"graph {graph.name!r} falls into {len(parts)} parts: {shown}{more}",
            "add edges until every rank can reach every other and be reached by it",
        )


def ranges(ranks: list[int]) -> str:
    """Return ascending ranks in few words, as in "0-3, 7"."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1][1:] = [rank]
        else:
            runs.append([rank])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _neighbours(
    num_ranks: int, froms: NDArray[np.int64], tos: NDArray[np.int64]
) -> list[list[int]]:
    """Return where each rank leads, from pairs that are sorted by the first."""
    starts = np.searchsorted(froms, np.arange(num_ranks + 1)).tolist()
    ends = tos.tolist()
    return [ends[starts[rank] : starts[rank + 1]] for rank in range(num_ranks)]


def _search(start: int, neighbours: list[list[int]], seen: list[bool]) -> list[int]:
    """Return the ranks that are newly found from one, each after all that are found from it."""
    if seen[start]:
        return []
    seen[start] = True
    finished: list[int] = []
    path = [(start, iter(neighbours[start]))]
    while path:
        rank, rest = path[-1]
        found = next((other for other in rest if not seen[other]), None)
        if found is None:
            finished.append(rank)
            path.pop()
        else:
            seen[found] = True
            path.append((found, iter(neighbours[found])))
    return finished
