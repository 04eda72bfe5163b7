"""Static graphs of random distances on a circle."""

from __future__ import annotations

import math

import numpy as np

from mlscale.core.seeding import generator
from mlscale.decentral.graphs.mixing import Mixing


def equi_static(num_ranks: int, num_offsets: int, seed: int) -> Mixing:
    """Return the round in which rank r receives from the ranks at M random distances before it.

    Each distance is drawn on its own and has the weight (1 - 1/N) / M, twice that when drawn
    twice; a rank's own weight is 1 / N. Distances by which some ranks never hear of others are
    drawn again.

    Args:
        num_ranks: N.
        num_offsets: M.
        seed: Of the draws.

    Source: Song et al. 2022 (arXiv 2210.07881), D-EquiStatic.
    """
    if num_ranks == 1:
        return Mixing.from_rows([[(0, 1.0)]])
    rng = generator(seed, "equi", num_ranks, num_offsets)
    offsets_M = rng.integers(1, num_ranks, num_offsets)
    while math.gcd(num_ranks, *offsets_M.tolist()) > 1:
        offsets_M = rng.integers(1, num_ranks, num_offsets)
    distances, counts = np.unique(offsets_M, return_counts=True)
    shares = counts * (1 - 1 / num_ranks) / num_offsets
    ranks = np.arange(num_ranks)
    receivers = np.repeat(ranks, len(distances))
    return Mixing.from_entries(
        num_ranks,
        np.concatenate([receivers, ranks]),
        np.concatenate([(receivers - np.tile(distances, num_ranks)) % num_ranks, ranks]),
        np.concatenate([np.tile(shares, num_ranks), np.full(num_ranks, 1 / num_ranks)]),
    )
