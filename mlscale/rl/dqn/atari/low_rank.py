"""How unlikely latents are under a regularised Gaussian of the last ones visited.

With fewer latents than features the covariance has their rank at most, and everything is done
between the latents; else between the features. Either way in single precision: the ridge bounds
the condition of what is inverted by 1 + D / ridge.

Shape letters: N latents in question; F latents kept; L lanes; D features; S the smaller of F, D.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.rl.dqn.atari.density import Recent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float32]

SMALLEST_VARIANCE = 1e-12
"""Stands in for the mean variance of latents that do not vary at all."""


def ridged_mahalanobis(
    recent_FD: FloatArray, x_ND: FloatArray, ridge: float
) -> NDArray[np.float64]:
    """Return squared Mahalanobis distances under a covariance with a ridge.

    The covariance is XᵀX / (F - 1) + λI, with X the recent latents less their mean, and λ =
    `ridge` times the mean of their D variances. The order is that of negative log densities.

    Args:
        recent_FD: (F, D) recent latents, at least two.
        x_ND: (N, D) latents in question.
        ridge: Share of the mean variance added to every variance; from 0.001 up.

    Returns:
        (N,) squared distances, in squared standard deviations.

    Source: Gou and Liu 2019, section 3, with a ridge; the small form is Woodbury's identity.
    """
    mean_D = recent_FD.mean(axis=0)
    x_FD, y_ND = recent_FD - mean_D, x_ND - mean_D
    num, width = x_FD.shape
    variance = float(np.einsum("fd,fd->", x_FD, x_FD)) / ((num - 1) * width)
    added = ridge * max(variance, SMALLEST_VARIANCE)
    if num > width:
        covariance_DD = x_FD.T @ x_FD / (num - 1)
        return _squares_through(covariance_DD, added, y_ND.T)
    # With K = XXᵀ + (F-1)λI, the inverse covariance is (I - XᵀK⁻¹X) / λ.
    explained_N = _squares_through(x_FD @ x_FD.T, (num - 1) * added, x_FD @ y_ND.T)
    length_N = np.einsum("nd,nd->n", y_ND, y_ND, dtype=np.float64)
    return np.asarray((length_N - explained_N) / added)


def _squares_through(
    matrix_SS: FloatArray, ridge: float, columns_SN: FloatArray
) -> NDArray[np.float64]:
    """Return c' (M + ridge I)⁻¹ c (N,) of each column c."""
    import torch

    matrix_SS.flat[:: len(matrix_SS) + 1] += ridge
    factor_SS = torch.linalg.cholesky(torch.from_numpy(matrix_SS))
    columns = torch.from_numpy(np.ascontiguousarray(columns_SN))
    half_SN = torch.linalg.solve_triangular(factor_SS, columns, upper=False).numpy()
    return np.asarray(np.einsum("sn,sn->n", half_SN, half_SN, dtype=np.float64))


class LowRankGaussian(Recent):
    """Novelty as the squared Mahalanobis distance from the last latents.

    Args:
        window: F, the latents kept.
        num_features: D.
        ridge: Share of the mean variance added to every variance.
    """

    def __init__(self, window: int, num_features: int, ridge: float) -> None:
        super().__init__(window, num_features)
        self._ridge = ridge

    def novelty(self, x_ND: FloatArray) -> NDArray[np.float64]:
        """Return squared distances (N,) of latents (N, D)."""
        return ridged_mahalanobis(self.latents, x_ND, self._ridge)
