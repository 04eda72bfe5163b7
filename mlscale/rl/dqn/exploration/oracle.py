"""The true dynamics of MountainCar, in place of a learned model.

Shape letters: L lanes; A actions; D the two values, position and velocity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.replay import Batch

FORCE, GRAVITY, MAX_SPEED = 0.001, 0.0025, 0.07
MIN_POSITION, MAX_POSITION = -1.2, 0.6
ENVIRONMENT = "MountainCar-v0"


class MountainCarDynamics:
    """Knows what every push does to the car.

    Source: Sutton and Barto 2018, example 10.1; gymnasium's MountainCar-v0.
    """

    is_fitted = True

    def predict(self, s_LD: NDArray[np.float32]) -> NDArray[np.floating[Any]]:
        """Return the next states (L, 3, 2) of all pushes in states (L, 2)."""
        position_L1, velocity_L1 = s_LD[:, :1].astype(np.float64), s_LD[:, 1:].astype(np.float64)
        push_A = FORCE * np.array([-1.0, 0.0, 1.0])
        velocity_LA = velocity_L1 + push_A - GRAVITY * np.cos(3 * position_L1)
        velocity_LA = velocity_LA.clip(-MAX_SPEED, MAX_SPEED)
        next_LA = (position_L1 + velocity_LA).clip(MIN_POSITION, MAX_POSITION)
        velocity_LA = np.where((next_LA == MIN_POSITION) & (velocity_LA < 0), 0.0, velocity_LA)
        return np.stack([next_LA, velocity_LA], axis=2)

    def observe(self, s_tm1_LD: NDArray[np.float32], s_t_LD: NDArray[np.float32]) -> None:
        """Do nothing: there is nothing to learn."""

    def fit(self, batch: Batch) -> None:
        """Do nothing: there is nothing to learn."""

    def error(self, batch: Batch) -> float:
        """Return 0."""
        return 0.0

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return nothing."""
        return {}, {}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Do nothing."""


def true_dynamics(env_id: str) -> MountainCarDynamics:
    """Return the true dynamics of an environment.

    Raises:
        UserError: They are known for MountainCar-v0 only.
    """
    if env_id != ENVIRONMENT:
        raise UserError(f"no oracle for {env_id}", f"the oracle knows {ENVIRONMENT} only")
    return MountainCarDynamics()
