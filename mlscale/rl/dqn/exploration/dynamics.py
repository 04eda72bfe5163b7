"""Models of the next state of every action: the authors' inputs and outputs, and mended ones.

Shape letters: L lanes; A actions; B transitions; D observation values; I inputs of the network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mlscale.rl.dqn.exploration.moments import Moments
from mlscale.rl.dqn.exploration.regressor import Regressor

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.config import MbeConfig
    from mlscale.rl.dqn.replay import Batch

    FloatArray = NDArray[np.float32]


class Dynamics(Protocol):
    """Predicts the next state of every action."""

    @property
    def is_fitted(self) -> bool:
        """Whether predictions mean anything yet."""

    def predict(self, s_LD: FloatArray) -> NDArray[np.floating[Any]]:
        """Return the next states (L, A, D) of all actions in states (L, D)."""

    def observe(self, s_tm1_LD: FloatArray, s_t_LD: FloatArray) -> None:
        """Take in states (L, D) before and after a step."""

    def fit(self, batch: Batch) -> None:
        """Take one step towards a batch of one-step transitions."""

    def error(self, batch: Batch) -> float:
        """Return the mean squared error of next states, in squared units of the states."""

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and plain values that `load` needs, for a checkpoint."""

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""


class DirectDynamics:
    """From raw values and the action's index straight to raw next values.

    Source: Gou and Liu 2019's code.
    """

    def __init__(
        self, num_values: int, num_actions: int, config: MbeConfig, rng: np.random.Generator
    ) -> None:
        sizes = (num_values + 1, *config.hidden, num_values)
        self._model = Regressor(sizes, config.lr, rng)
        self._actions_A = np.arange(num_actions, dtype=np.float32)

    @property
    def is_fitted(self) -> bool:
        """Whether there was any fit."""
        return self._model.num_fits > 0

    def predict(self, s_LD: FloatArray) -> NDArray[np.floating[Any]]:
        """Return the next states (L, A, D) of all actions in states (L, D)."""
        num_lanes, num_actions = len(s_LD), len(self._actions_A)
        s_ND = np.repeat(s_LD, num_actions, axis=0)
        a_N = np.tile(self._actions_A, num_lanes)
        next_ND = self._model.predict(np.column_stack([s_ND, a_N]))
        return next_ND.reshape(num_lanes, num_actions, -1)

    def observe(self, s_tm1_LD: FloatArray, s_t_LD: FloatArray) -> None:
        """Do nothing: raw values need no statistics."""

    def fit(self, batch: Batch) -> None:
        """Take one step towards a batch of one-step transitions."""
        import torch

        a_B1 = batch.a_tm1_B.unsqueeze(1)
        self._model.fit(torch.cat([batch.s_tm1_BD, a_B1.float()], dim=1), batch.s_t_BD)

    def error(self, batch: Batch) -> float:
        """Return the mean squared error of next states, in squared units of the states."""
        return one_step_error(self, batch)

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the model."""
        return self._model.saved(), {"num_fits": self._model.num_fits}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put the model back."""
        self._model.load(tensors, int(state["num_fits"]))


class DifferenceDynamics:
    """From standardised values and a one-hot action to the standardised change of each value."""

    def __init__(
        self, num_values: int, num_actions: int, config: MbeConfig, rng: np.random.Generator
    ) -> None:
        sizes = (num_values + num_actions, *config.hidden, num_values)
        self._model = Regressor(sizes, config.lr, rng)
        self._one_hot_AA = np.eye(num_actions, dtype=np.float32)
        self._moments = Moments(2 * num_values)  # of the states, then of their differences
        self._num_values = num_values

    @property
    def is_fitted(self) -> bool:
        """Whether there was any fit."""
        return self._model.num_fits > 0

    def predict(self, s_LD: FloatArray) -> NDArray[np.floating[Any]]:
        """Return the next states (L, A, D) of all actions in states (L, D)."""
        num_lanes, num_actions = len(s_LD), len(self._one_hot_AA)
        mean, std, width = self._moments.mean_D, self._moments.std, self._num_values
        z_LD = (s_LD - mean[:width]) / std[:width]
        x_NI = np.empty((num_lanes * num_actions, width + num_actions), np.float32)
        x_NI[:, :width] = np.repeat(z_LD, num_actions, axis=0)
        x_NI[:, width:] = np.tile(self._one_hot_AA, (num_lanes, 1))
        change_LAD = self._model.predict(x_NI).reshape(num_lanes, num_actions, width)
        return s_LD[:, None] + change_LAD * std[width:] + mean[width:]

    def observe(self, s_tm1_LD: FloatArray, s_t_LD: FloatArray) -> None:
        """Bring the statistics of states and differences up to date."""
        self._moments.add(np.concatenate([s_tm1_LD, s_t_LD - s_tm1_LD], axis=1))

    def fit(self, batch: Batch) -> None:
        """Take one step towards a batch of one-step transitions."""
        import torch

        mean, std = self._moments.mean_D.astype(np.float32), self._moments.std.astype(np.float32)
        width = self._num_values
        s_BD, next_BD = batch.s_tm1_BD.numpy(), batch.s_t_BD.numpy()
        x_BI = np.empty((len(s_BD), width + len(self._one_hot_AA)), np.float32)
        x_BI[:, :width] = (s_BD - mean[:width]) / std[:width]
        x_BI[:, width:] = self._one_hot_AA[batch.a_tm1_B.numpy()]
        y_BD = (next_BD - s_BD - mean[width:]) / std[width:]
        self._model.fit(torch.from_numpy(x_BI), torch.from_numpy(y_BD))

    def error(self, batch: Batch) -> float:
        """Return the mean squared error of next states, in squared units of the states."""
        return one_step_error(self, batch)

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the model and the statistics."""
        state = {"num_fits": self._model.num_fits, "moments": self._moments.saved()}
        return self._model.saved(), state

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put the model and the statistics back."""
        self._model.load(tensors, int(state["num_fits"]))
        self._moments.load(state["moments"])


def one_step_error(dynamics: Dynamics, batch: Batch) -> float:
    """Return the mean squared error of predicted next states over a batch of transitions."""
    predicted_BAD = dynamics.predict(batch.s_tm1_BD.numpy())
    a_B = batch.a_tm1_B.numpy()
    predicted_BD = predicted_BAD[np.arange(len(a_B)), a_B]
    return float(np.square(predicted_BD - batch.s_t_BD.numpy()).mean())


def make_dynamics(
    num_values: int, num_actions: int, config: MbeConfig, rng: np.random.Generator
) -> Dynamics:
    """Return the model that the settings name."""
    kind = DirectDynamics if config.dynamics == "direct" else DifferenceDynamics
    return kind(num_values, num_actions, config, rng)
