"""How far latents are from the nearest of the last ones visited.

Shape letters: N latents in question; F latents kept; L lanes; D features of a latent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.rl.dqn.atari.density import Recent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float32]


def mean_distance(
    recent_FD: FloatArray, x_ND: FloatArray, num_neighbours: int
) -> NDArray[np.float64]:
    """Return mean Euclidean distances to the nearest recent latents.

    Args:
        recent_FD: (F, D) recent latents, at least one.
        x_ND: (N, D) latents in question.
        num_neighbours: How many of the nearest are averaged; all there are when fewer.

    Returns:
        (N,) distances in units of the latents.
    """
    mean_D = recent_FD.mean(axis=0)  # taken out, so that fewer digits cancel below
    r_FD, y_ND = recent_FD - mean_D, x_ND - mean_D
    squares_NF = y_ND @ (-2.0 * r_FD).T
    squares_NF += np.einsum("fd,fd->f", r_FD, r_FD)
    squares_NF += np.einsum("nd,nd->n", y_ND, y_ND)[:, None]
    if num_neighbours < len(r_FD):
        squares_NF.partition(num_neighbours - 1, axis=1)
    nearest_NK = squares_NF[:, :num_neighbours]
    distances_N: NDArray[np.float64] = np.sqrt(nearest_NK.clip(0.0)).mean(axis=1, dtype=np.float64)
    return distances_N


class Neighbours(Recent):
    """Novelty as the mean distance to the nearest of the last latents.

    Args:
        window: F, the latents kept.
        num_features: D.
        num_neighbours: How many of the nearest are averaged.
    """

    def __init__(self, window: int, num_features: int, num_neighbours: int) -> None:
        super().__init__(window, num_features)
        self._num_neighbours = num_neighbours

    def novelty(self, x_ND: FloatArray) -> NDArray[np.float64]:
        """Return mean distances (N,) of latents (N, D)."""
        return mean_distance(self.latents, x_ND, self._num_neighbours)
