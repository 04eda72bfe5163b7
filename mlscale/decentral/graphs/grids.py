"""Graphs that are not circles: grids with and without edges, hypercubes, stars."""

from __future__ import annotations

import math

import numpy as np

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.links import Links


def sides(num_ranks: int) -> tuple[int, int]:
    """Return the two factors of N that are closest, the smaller one first."""
    short = next(side for side in range(math.isqrt(num_ranks), 0, -1) if num_ranks % side == 0)
    return short, num_ranks // short


def torus(num_ranks: int) -> Links:
    """Return the a x b grid whose rows and columns are closed to circles; a ring when a = 1."""
    ranks_AB = np.arange(num_ranks).reshape(sides(num_ranks))
    down, right = np.roll(ranks_AB, -1, 0), np.roll(ranks_AB, -1, 1)
    return Links.both_ways(
        num_ranks, np.tile(ranks_AB.ravel(), 2), np.concatenate([down.ravel(), right.ravel()])
    )


def grid(num_ranks: int) -> Links:
    """Return the a x b grid with edges; a line when a = 1."""
    ranks_AB = np.arange(num_ranks).reshape(sides(num_ranks))
    return Links.both_ways(
        num_ranks,
        np.concatenate([ranks_AB[:-1].ravel(), ranks_AB[:, :-1].ravel()]),
        np.concatenate([ranks_AB[1:].ravel(), ranks_AB[:, 1:].ravel()]),
    )


def hypercube(num_ranks: int) -> Links:
    """Return the graph in which ranks that differ in one bit receive from each other.

    Raises:
        UserError: The ranks are not a power of two.
    """
    bits = num_ranks.bit_length() - 1
    if num_ranks != 2**bits:
        raise UserError(
            f"a hypercube needs a power of two of ranks, not {num_ranks}",
            f"take {2**bits} or {2 ** (bits + 1)} ranks, or exp_sym, which takes any number",
        )
    ranks = np.repeat(np.arange(num_ranks), bits)
    return Links.of(num_ranks, ranks, ranks ^ np.tile(2 ** np.arange(bits), num_ranks))


def star(num_ranks: int) -> Links:
    """Return the graph in which rank 0 and each other rank receive from each other."""
    rim = np.arange(1, num_ranks)
    return Links.both_ways(num_ranks, np.zeros_like(rim), rim)
