"""A perceptron fitted by mean squared error, evaluated by NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.networks import Mirror, load_weights, make_mlp, tensors_of
from mlscale.rl.dqn.optimizer import load_adam, make_adam, tensors_of_adam

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from torch import Tensor


class Regressor:
    """A network, its optimizer, and how often it was fitted.

    Args:
        sizes: Units of every layer, input and output included.
        lr: Learning rate of Adam.
        rng: Draws the first weights.

    Attributes:
        predict: From inputs (B, I) to outputs (B, O), as NumPy arrays.
        num_fits: Updates so far.
    """

    def __init__(self, sizes: Sequence[int], lr: float, rng: np.random.Generator) -> None:
        self._network = make_mlp(sizes, rng)
        self._adam = make_adam(self._network, lr)
        self.predict = Mirror(self._network)
        self.num_fits = 0

    def fit(self, x_BI: Tensor, y_BO: Tensor) -> float:
        """Take one step of Adam and return the loss before it.

        Args:
            x_BI: (B, I) inputs.
            y_BO: (B, O) what the outputs ought to be.

        Raises:
            WorkFailed: The loss is NaN or infinite; the weights are as before the update.
        """
        loss = (self._network(x_BI) - y_BO).square().mean()
        value = float(loss.item())
        if not math.isfinite(value):
            raise WorkFailed(f"the dynamics model diverged: its loss became {value}")
        self._adam.zero_grad()
        loss.backward()
        self._adam.step()
        self.num_fits += 1
        return value

    def saved(self) -> dict[str, Tensor]:
        """Return weights and the optimizer's state, for a checkpoint."""
        return {
            **tensors_of(self._network, "model"),
            **tensors_of_adam(self._adam, "model_adam"),
        }

    def load(self, tensors: dict[str, Tensor], num_fits: int) -> None:
        """Put back what `saved` gave."""
        load_weights(self._network, "model", tensors)
        load_adam(self._adam, "model_adam", tensors)
        self.num_fits = num_fits
