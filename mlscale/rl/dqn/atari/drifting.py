"""Running mean and standard deviation of values whose distribution drifts.

An encoder that learns moves its features, so that old batches must be forgotten.

Shape letters: B rows of a batch; D values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float32]

SMALLEST_SHARE = 0.1
"""Of the root of the mean variance; no standard deviation counts as smaller."""
SMALLEST_STD = 1e-6


class Drifting:
    """Mean, standard deviation and root mean square of D values, old batches fading.

    Args:
        num_values: D.
        decay: What is left of a batch's weight after the next one.

    Attributes:
        num_added: Batches so far.
        mean: (D,) means; 0 before the first batch.
        std: (D,) standard deviations, none below a tenth of the root of their mean square.
        root_mean_square: Over all values; 0 before the first batch.
    """

    def __init__(self, num_values: int, decay: float) -> None:
        self._decay = decay
        self._set(0, np.zeros(num_values), np.zeros(num_values))

    def _set(self, num_added: int, sums_D: NDArray[Any], squares_D: NDArray[Any]) -> None:
        """Keep decaying averages that started from 0, and what follows from them."""
        self.num_added, self._sums_D, self._squares_D = num_added, sums_D, squares_D
        weight = 1 - self._decay**num_added if num_added else 1.0
        mean_D, square_D = sums_D / weight, squares_D / weight
        variance_D = np.maximum(square_D - mean_D**2, 0.0)
        smallest = max(SMALLEST_STD, SMALLEST_SHARE * float(np.sqrt(variance_D.mean())))
        self.mean: FloatArray = mean_D.astype(np.float32)
        self.std: FloatArray = np.maximum(np.sqrt(variance_D), smallest).astype(np.float32)
        self.root_mean_square = np.float32(np.sqrt(square_D.mean()))

    def with_batch(self, x_BD: FloatArray) -> Drifting:
        """Return what this would be after a batch (B, D)."""
        decay = self._decay
        after = Drifting(len(self._sums_D), decay)
        x_BD = x_BD.astype(np.float64)
        sums_D = decay * self._sums_D + (1 - decay) * x_BD.mean(axis=0)
        squares_D = decay * self._squares_D + (1 - decay) * np.square(x_BD).mean(axis=0)
        after._set(self.num_added + 1, sums_D, squares_D)
        return after

    def saved(self) -> dict[str, Any]:
        """Return what `loaded` needs, for a checkpoint."""
        return {
            "decay": self._decay,
            "num_added": self.num_added,
            "sums": self._sums_D.tolist(),
            "squares": self._squares_D.tolist(),
        }

    @classmethod
    def loaded(cls, state: dict[str, Any]) -> Drifting:
        """Return what `saved` described."""
        drifting = cls(len(state["sums"]), float(state["decay"]))
        drifting._set(
            int(state["num_added"]), np.asarray(state["sums"]), np.asarray(state["squares"])
        )
        return drifting
