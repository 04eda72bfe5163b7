"""How much norms differ from rank to rank, and whether two measures rise together.

Shape letters: N ranks; K tensors measured side by side.

Every measure is taken along the first axis, in its population form (over n, not n - 1): (N,)
gives one number, (N, K) gives K. Norms are those of before a round of averaging, since the round
itself makes ranks alike. A tensor that is zero on all ranks differs nowhere: its measures are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def gini(norms_NK: ArrayLike) -> NDArray[np.float64]:
    """Return the Gini coefficient: the mean distance of two ranks over twice the mean.

    Args:
        norms_NK: (N,) or (N, K) norms, none negative.

    Returns:
        () or (K,), from 0, all alike, to 1 - 1/N, one rank has it all; free of scale.

    Raises:
        ValueError: There is no rank, or a norm is negative.
    """
    norms_NK = _checked(norms_NK)
    num_ranks = len(norms_NK)
    # Of the sorted norms, the i-th (from 1) is the larger of i - 1 pairs and the smaller of N - i.
    signs_N = 2 * np.arange(1, num_ranks + 1) - num_ranks - 1
    distances_K = np.tensordot(signs_N, np.sort(norms_NK, axis=0), axes=1) * 2
    return _ratio(distances_K, 2 * num_ranks**2 * norms_NK.mean(axis=0))


def cv(norms_NK: ArrayLike) -> NDArray[np.float64]:
    """Return the coefficient of variation: standard deviation over mean, () or (K,); free of scale.

    Args:
        norms_NK: (N,) or (N, K) norms, none negative.

    Raises:
        ValueError: There is no rank, or a norm is negative.
    """
    norms_NK = _checked(norms_NK)
    return _ratio(norms_NK.std(axis=0), norms_NK.mean(axis=0))


def iod(norms_NK: ArrayLike) -> NDArray[np.float64]:
    """Return the index of dispersion: variance over mean, () or (K,); it grows with the scale.

    Args:
        norms_NK: (N,) or (N, K) norms, none negative.

    Raises:
        ValueError: There is no rank, or a norm is negative.
    """
    norms_NK = _checked(norms_NK)
    return _ratio(norms_NK.var(axis=0), norms_NK.mean(axis=0))


def qcd(norms_NK: ArrayLike) -> NDArray[np.float64]:
    """Return the quartile coefficient of dispersion, (Q3 - Q1) / (Q3 + Q1), () or (K,).

    Quartiles between two ranks are interpolated linearly.

    Args:
        norms_NK: (N,) or (N, K) norms, none negative.

    Raises:
        ValueError: There is no rank, or a norm is negative.
    """
    low_K, high_K = np.quantile(_checked(norms_NK), (0.25, 0.75), axis=0)
    return _ratio(high_K - low_K, high_K + low_K)


MEASURES = {"gini": gini, "cv": cv, "iod": iod, "qcd": qcd}
"""The measures by name."""


def _checked(norms_NK: ArrayLike) -> NDArray[np.float64]:
    norms = np.asarray(norms_NK, np.float64)
    if norms.ndim == 0 or len(norms) == 0:
        raise ValueError(f"expected norms (N,) or (N, K) of one rank or more, got {norms.shape}")
    if (norms < 0).any():
        raise ValueError(f"norms cannot be negative, got {norms.min()}")
    return norms


def _ratio(above_K: ArrayLike, below_K: ArrayLike) -> NDArray[np.float64]:
    """Return the quotient, 0 where the divisor is 0; NaN norms stay NaN."""
    above_K, below_K = np.asarray(above_K), np.asarray(below_K)
    quotient_K = np.zeros(below_K.shape)
    np.divide(above_K, below_K, out=quotient_K, where=below_K != 0)
    return quotient_K


def spearman(first_N: ArrayLike, second_N: ArrayLike) -> float | None:
    """Return Spearman's rank correlation: Pearson's of the places, ties sharing their mean place.

    Args:
        first_N: (N,) values of one measure.
        second_N: (N,) values of another, in the same order.

    Returns:
        From -1 to 1; None where one of them does not vary, so that there is none.

    Raises:
        ValueError: The two have not the same length.
    """
    first_N, second_N = np.asarray(first_N), np.asarray(second_N)
    if first_N.ndim != 1 or first_N.shape != second_N.shape:
        raise ValueError(f"expected two equal (N,), got {first_N.shape} and {second_N.shape}")
    places_N, others_N = _centred_places(first_N), _centred_places(second_N)
    scale = np.sqrt((places_N @ places_N) * (others_N @ others_N))
    return float(places_N @ others_N / scale) if scale > 0 else None


def _centred_places(values_N: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each value's place minus the mean place, ties sharing the mean of theirs, (N,)."""
    _, which_N, counts = np.unique(values_N, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    places_N = (last - (counts - 1) / 2)[which_N]
    return np.asarray(places_N - (len(values_N) + 1) / 2)
