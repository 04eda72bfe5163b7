"""Uniformly random actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.rl.dqn.exploration.base import Explorer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor


class Uniform(Explorer):
    """Explores by chance.

    Args:
        num_actions: Actions.
        rng: Draws them.
    """

    def __init__(self, num_actions: int, rng: np.random.Generator) -> None:
        self._num_actions, self._rng = num_actions, rng

    def act(self, s_LD: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return a random action (L,) for each state (L, D)."""
        return self._rng.integers(0, self._num_actions, len(s_LD))

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the generator's state."""
        return {}, {"rng": self._rng.bit_generator.state}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put the generator's state back."""
        self._rng.bit_generator.state = state["rng"]
