"""Rounds of few neighbours each that together are the exact mean, for any number of ranks.

A round is built as groups of ranks: edges of a weight, the rest of a rank's weight its own.

Source: Takezawa et al. 2023 (arXiv 2305.11420): the hyper-hypercube graph, the simple base-(k+1)
graph, and the base-(k+1) graph, which is the shorter of the simple one and of simple ones of parts
of the ranks joined by a hyper-hypercube.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from mlscale.decentral.graphs.mixing import TOLERANCE, Mixing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Edges = dict[tuple[int, int], float]
"""The weight that two ranks give each other; every pair once."""


def base_graph(num_ranks: int, most: int) -> list[Mixing]:
    """Return the rounds of the base-(k+1) graph, symmetric and of degree k or less.

    Args:
        num_ranks: N.
        most: k, neighbours a rank may have in a round.
    """
    together = _joined(num_ranks, most)
    simple = _simple(range(num_ranks), most)
    rounds = simple if len(simple) < len(together) else together
    return [_mixing(num_ranks, edges) for edges in rounds or [{}]]


def _joined(num_ranks: int, most: int) -> list[Edges]:
    """Return the mean within blocks of a size without small factors, then between the blocks."""
    num_blocks = num_ranks
    for factor in range(2, most + 2):
        while num_blocks % factor == 0:
            num_blocks //= factor
    size, num_blocks = num_blocks, num_ranks // num_blocks
    within = [_simple(range(first, first + size), most) for first in range(0, num_ranks, size)]
    between = [_hyper_hypercube(range(place, num_ranks, size), most) for place in range(size)]
    return [*_side_by_side(within), *_side_by_side(between)]


def _simple(ranks: Sequence[int], most: int) -> list[Edges]:
    """Return the rounds of the simple base-(k+1) graph.

    The ranks are cut into parts by the digits of their number in base k + 1. Every part averages
    within itself; then one part after the other gives the later ones their due and takes as much
    from them, so that each of its pieces has the mean of all as its own; then pieces average.
    """
    if _factors(len(ranks), most + 1) is not None:
        return _hyper_hypercube(ranks, most)
    parts = _parts(ranks, most + 1)
    first = [_hyper_hypercube([rank for piece in part for rank in piece], most) for part in parts]
    last = [_last_rounds(part, most) for part in parts]
    rounds = [
        _merged(own[step % len(own)] for own in first if own) for step in range(len(first[0]))
    ]
    for turn in range(len(last[0]) + 1):
        edges: Edges = {}
        if turn < len(parts) - 1:
            edges = _exchange(parts[turn], parts[turn + 1 :], most)
        # A part averages once it has exchanged; the last one has nobody to exchange with.
        for place, own in enumerate(last):
            since = turn - min(place + 1, len(parts) - 1)
            if own and since >= 0:
                edges |= own[since % len(own)]
        rounds.append(edges)
    return rounds


def _parts(ranks: Sequence[int], base: int) -> list[list[Sequence[int]]]:
    """Return the ranks in parts a_l pieces of base^p_l ranks, the largest pieces first."""
    parts: list[list[Sequence[int]]] = []
    begin, size = 0, 1
    while size * base <= len(ranks):
        size *= base
    while begin < len(ranks):
        digit = (len(ranks) - begin) // size
        if digit:
            pieces = [ranks[begin + i * size : begin + (i + 1) * size] for i in range(digit)]
            parts.append(pieces)
        begin, size = begin + digit * size, size // base
    return parts


def _last_rounds(part: list[Sequence[int]], most: int) -> list[Edges]:
    """Return the rounds that average within pieces, or within a part of single ranks."""
    if len(part[0]) == 1:
        return _hyper_hypercube([rank for piece in part for rank in piece], most)
    return _side_by_side([_hyper_hypercube(piece, most) for piece in part])


def _exchange(part: list[Sequence[int]], later: list[list[Sequence[int]]], most: int) -> Edges:
    """Return the round in which a part exchanges with all later ones.

    Each later rank meets one rank of every piece. Ranks of the part that meet nobody average in
    groups: they are equal after the rounds before, but not once gradients come between.
    """
    size = sum(len(piece) for piece in part)
    others = [rank for other in later for piece in other for rank in piece]
    weight = size / (size + len(others)) / len(part)
    edges = {
        _pair(rank, piece[-1 - place]): weight
        for place, rank in enumerate(others)
        for piece in part
    }
    idle = [rank for piece in part for rank in piece[: len(piece) - len(others)]]
    for begin in range(0, len(idle), most + 1):
        group = idle[begin : begin + most + 1]
        edges |= _everyone(group)
    return edges


def _hyper_hypercube(ranks: Sequence[int], most: int) -> list[Edges]:
    """Return rounds of groups of k + 1 or fewer, one round for each factor of the number of ranks.

    Numbered in the mixed base of the factors, ranks that differ in one digit alone are a group.
    """
    rounds: list[Edges] = []
    stride = 1
    for factor in _factors(len(ranks), most + 1) or ():
        edges: Edges = {}
        for begin in range(len(ranks)):
            if begin // stride % factor == 0:
                edges |= _everyone([ranks[begin + digit * stride] for digit in range(factor)])
        rounds.append(edges)
        stride *= factor
    return rounds


@lru_cache(maxsize=4096)
def _factors(number: int, largest: int) -> tuple[int, ...] | None:
    """Return the fewest factors of 2 to `largest`, ascending, whose product is the number.

    None when a prime factor is larger.
    """
    if number == 1:
        return ()
    best: tuple[int, ...] | None = None
    for factor in range(min(largest, number), 1, -1):
        if number % factor == 0:
            rest = _factors(number // factor, factor)
            if rest is not None and (best is None or len(rest) + 1 < len(best)):
                best = (*rest, factor)
    return best


def _everyone(group: Sequence[int]) -> Edges:
    """Return the edges by which a group takes its mean."""
    return {_pair(one, other): 1 / len(group) for one, other in combinations(group, 2)}


def _side_by_side(sequences: list[list[Edges]]) -> list[Edges]:
    """Return the rounds of ranks apart from one another, as many as each has, at the same time."""
    return [_merged(edges) for edges in zip(*sequences, strict=True)]


def _merged(sets: Iterable[Edges]) -> Edges:
    """Return all edges of sets of ranks apart from one another."""
    return {pair: weight for edges in sets for pair, weight in edges.items()}


def _mixing(num_ranks: int, edges: Edges) -> Mixing:
    """Return the round of some edges, what they leave of a rank's weight its own."""
    one, other = np.array(list(edges), np.int64).reshape(-1, 2).T
    weights = np.array(list(edges.values()))
    rows, sources = np.concatenate([one, other]), np.concatenate([other, one])
    ranks, twice = np.arange(num_ranks), np.concatenate([weights, weights])
    own = 1 - np.bincount(rows, twice, num_ranks)
    return Mixing.from_entries(
        num_ranks,
        np.concatenate([rows, ranks]),
        np.concatenate([sources, ranks]),
        np.concatenate([twice, np.where(np.abs(own) < TOLERANCE, 0, own)]),
    )


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
