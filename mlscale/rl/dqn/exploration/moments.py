"""Running mean and standard deviation of everything seen.

Shape letters: N rows; D values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST_STD = 1e-8


class Moments:
    """Mean and standard deviation of D values, updated row by row.

    Args:
        num_values: D.

    Attributes:
        mean_D: (D,) mean so far.

    Source: Chan, Golub and LeVeque 1979 (pairwise update).
    """

    def __init__(self, num_values: int) -> None:
        self._count = 0
        self.mean_D = np.zeros(num_values)
        self._squares_D = np.zeros(num_values)

    def add(self, x_ND: NDArray[np.floating[Any]]) -> None:
        """Take in rows (N, D)."""
        num = len(x_ND)
        mean_D = np.add.reduce(x_ND, axis=0, dtype=np.float64) / num
        shift_D = mean_D - self.mean_D
        total = self._count + num
        self.mean_D += shift_D * (num / total)
        self._squares_D += shift_D * shift_D * (self._count * num / total)
        if num > 1:
            self._squares_D += np.square(x_ND - mean_D).sum(axis=0)
        self._count = total

    @property
    def std(self) -> NDArray[np.float64]:
        """Standard deviation (D,); 1 where nothing has varied yet."""
        std_D = np.sqrt(self._squares_D / max(1, self._count))
        return np.where(std_D > SMALLEST_STD, std_D, 1.0)

    def saved(self) -> dict[str, Any]:
        """Return what `load` needs, for a checkpoint."""
        return {
            "count": self._count,
            "mean": self.mean_D.tolist(),
            "squares": self._squares_D.tolist(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        self._count = int(state["count"])
        self.mean_D[:] = state["mean"]
        self._squares_D[:] = state["squares"]
