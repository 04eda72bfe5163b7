"""Graphs in which every rank sees the others alike: by their distances on a circle."""

from __future__ import annotations

from mlscale.decentral.graphs.links import Links, circulant


def hops(num_ranks: int) -> list[int]:
    """Return the distances 1, 2, 4, ... below the number of ranks, ceil(log2 N) of them."""
    return [2**power for power in range((num_ranks - 1).bit_length())]


def complete(num_ranks: int) -> Links:
    """Return the graph in which everyone receives from all others."""
    return circulant(num_ranks, range(1, num_ranks))


def ring(num_ranks: int) -> Links:
    """Return the graph in which rank r receives from r - 1 and r + 1."""
    return circulant(num_ranks, [1, -1])


def lattice(num_ranks: int, num_neighbours: int) -> Links:
    """Return the graph in which rank r receives from r - i and r + i, i up to K / 2.

    Args:
        num_ranks: N.
        num_neighbours: K, even; the graph is complete from N - 1 on.
    """
    if num_neighbours >= num_ranks - 1:
        return complete(num_ranks)
    reach = num_neighbours // 2
    return circulant(num_ranks, [*range(-reach, 0), *range(1, reach + 1)])


def exponential(num_ranks: int) -> Links:
    """Return the graph in which rank r receives from r - 1, r - 2, r - 4, ...

    Source: Ying et al. 2021 (arXiv 2110.13363), the static exponential graph.
    """
    return circulant(num_ranks, hops(num_ranks))


def exponential_both_ways(num_ranks: int) -> Links:
    """Return the graph in which rank r receives from r - 1, r + 1, r - 2, r + 2, r - 4, ..."""
    distances = hops(num_ranks)
    return circulant(num_ranks, [*distances, *(-distance for distance in distances)])


def one_peer(num_ranks: int) -> list[Links]:
    """Return the rounds in which rank r receives from r - 1, then from r - 2, then r - 4, ...

    A period of them is the exact mean when the ranks are a power of two.

    Source: Ying et al. 2021 (arXiv 2110.13363), the one-peer exponential graph.
    """
    return [circulant(num_ranks, [distance]) for distance in hops(num_ranks) or [0]]
