"""How unlikely states are under a Gaussian of recently visited ones.

Shape letters: N states in question; F recent states; D observation values.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mlscale.rl.dqn.config import MbeConfig

FloatArray: TypeAlias = "NDArray[np.float64]"
Novelty: TypeAlias = "Callable[[FloatArray, FloatArray], FloatArray]"
"""From recent states (F, D) and states in question (N, D) to their novelty (N,)."""


def mahalanobis(recent_FD: FloatArray, x_ND: FloatArray) -> FloatArray:
    """Return squared Mahalanobis distances: the least likely state has the largest.

    Args:
        recent_FD: (F, D) recent states, at least two.
        x_ND: (N, D) states in question.

    Returns:
        (N,) distances in squared standard deviations; a direction in which the recent states do
        not vary counts for nothing (pseudo-inverse).

    Source: Gou and Liu 2019, section 3; the pseudo-inverse is ours.
    """
    mean_D, covariance_DD = _moments(recent_FD)
    return _quadratic(x_ND - mean_D, np.linalg.pinv(covariance_DD, hermitian=True))


def surprise(recent_FD: FloatArray, x_ND: FloatArray, *, ridge: float) -> FloatArray:
    """Return negative log densities under a Gaussian with `ridge` added to its variances.

    Args:
        recent_FD: (F, D) recent states, at least two.
        x_ND: (N, D) states in question.
        ridge: Added to the diagonal of the covariance, in squared units of the states.

    Returns:
        (N,) negative log densities in nats.
    """
    mean_D, covariance_DD = _moments(recent_FD)
    covariance_DD.flat[:: len(mean_D) + 1] += ridge
    _, log_determinant = np.linalg.slogdet(covariance_DD)
    constant = len(mean_D) * math.log(2 * math.pi) + log_determinant
    distances_N = _quadratic(x_ND - mean_D, np.linalg.inv(covariance_DD))
    return np.asarray(0.5 * (distances_N + constant))


def make_novelty(config: MbeConfig) -> Novelty:
    """Return the measure of novelty that the settings name."""
    if config.density == "gaussian":
        return mahalanobis
    return functools.partial(surprise, ridge=config.ridge)


def _moments(recent_FD: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean (D,) and the unbiased covariance (D, D)."""
    mean_D = np.add.reduce(recent_FD, axis=0) / len(recent_FD)
    centred_FD = recent_FD - mean_D
    return mean_D, centred_FD.T @ centred_FD / (len(recent_FD) - 1)


def _quadratic(x_ND: FloatArray, matrix_DD: NDArray[np.floating[Any]]) -> FloatArray:
    """Return x' M x (N,) for each row."""
    return np.asarray(((x_ND @ matrix_DD) * x_ND).sum(axis=1))
