"""Rules that give links their weights, and forms that keep more of the own value.

Shape letters: N ranks; E links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.links import Links
from mlscale.decentral.graphs.mixing import Mixing

if TYPE_CHECKING:
    from numpy.typing import NDArray


def uniform(links: Links) -> Mixing:
    """Return the round in which rank i gives all it receives, and its own, 1 / (d_i + 1).

    The mean is kept where all degrees are equal.
    """
    shares_N = 1 / (links.degrees + 1)
    return _with_own(links, shares_N[links.receivers_E], shares_N)


def metropolis(links: Links, name: str) -> Mixing:
    """Return the round in which two neighbours give each other 1 / (1 + the larger degree).

    The rest is a rank's own weight, so the matrix is symmetric and keeps the mean.

    Args:
        links: Who receives from whom.
        name: The graph's, for the error.

    Raises:
        UserError: Some links are one way.

    Source: Xiao, Boyd and Lall 2005, the Metropolis weights.
    """
    if not links.is_symmetric:
        raise UserError(
            f"metropolis weights need links both ways, and {name} has some that are one way",
            "take the uniform weights, or a graph with links both ways",
        )
    degrees_N = links.degrees
    weights_E = 1 / (
        1 + np.maximum(degrees_N[links.receivers_E], degrees_N[links.senders_E]).astype(float)
    )
    taken_N = np.bincount(links.receivers_E, weights_E, links.num_ranks).astype(np.float64)
    return _with_own(links, weights_E, 1 - taken_N)


def lazy(mixing: Mixing) -> Mixing:
    """Return (I + W) / 2, whose eigenvalues are at least 0 when W is symmetric."""
    return damped(mixing, 0.5)


def damped(mixing: Mixing, share: float) -> Mixing:
    """Return (1 - a) I + a W.

    Args:
        mixing: W.
        share: a, in (0, 1].
    """
    rows_E = np.repeat(np.arange(mixing.num_ranks), np.diff(mixing.starts))
    others = rows_E != mixing.sources_E
    own_N = np.zeros(mixing.num_ranks)
    own_N[rows_E[~others]] = mixing.weights_E[~others]
    links = Links(mixing.num_ranks, rows_E[others], mixing.sources_E[others])
    return _with_own(links, share * mixing.weights_E[others], 1 - share + share * own_N)


def _with_own(links: Links, weights_E: NDArray[np.float64], own_N: NDArray[np.float64]) -> Mixing:
    """Return the round with given weights on links and on ranks' own values."""
    ranks = np.arange(links.num_ranks)
    return Mixing.from_entries(
        links.num_ranks,
        np.concatenate([links.receivers_E, ranks]),
        np.concatenate([links.senders_E, ranks]),
        np.concatenate([weights_E, own_N]),
    )
