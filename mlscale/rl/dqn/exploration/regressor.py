"""A perceptron fitted by mean squared error, evaluated by NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.gradients import differentiable
from mlscale.rl.dqn.networks import Mirror, load_weights, make_mlp, tensors_of
from mlscale.rl.dqn.optimizer import FusedAdam

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
        self._differentiable = differentiable(self._network)
        self._adam = FusedAdam(self._network, lr)
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
        predicted_BO, pull_back = self._differentiable.linearise(x_BI)
        error_BO = predicted_BO - y_BO
        num = error_BO.numel()
        value = error_BO.square().sum().item() / num
        if not math.isfinite(value):
            raise WorkFailed(f"the dynamics model diverged: its loss became {value}")
        self._adam.step(pull_back(error_BO.mul_(2 / num)))
        self.num_fits += 1
        return value

    def saved(self) -> dict[str, Tensor]:
        """Return weights and the optimizer's state, for a checkpoint."""
        return {
            **tensors_of(self._network, "model"),
            **self._adam.saved("model_adam"),
        }

    def load(self, tensors: dict[str, Tensor], num_fits: int) -> None:
        """Put back what `saved` gave."""
        load_weights(self._network, "model", tensors)
        self._adam.load("model_adam", tensors)
        self.num_fits = num_fits
