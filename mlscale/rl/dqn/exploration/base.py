"""What an exploration strategy is.

Shape letters: L lanes; D observation values; A actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.experience import Memory
    from mlscale.rl.dqn.replay import Batch


class Explorer:
    """Chooses exploratory actions; does nothing else unless a strategy says so.

    Attributes:
        novelty: How unfamiliar the last thing was that the strategy looked at, in its own unit;
            None for strategies that measure none.
    """

    novelty: float | None = None

    def act(self, s_LD: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return an exploratory action (L,) for each state (L, D)."""
        raise NotImplementedError

    def observe(self, s_tm1_LD: NDArray[np.float32], s_t_LD: NDArray[np.float32]) -> None:
        """Take in states (L, D) before and after a step."""

    def learn(self, memory: Memory, step: int) -> None:
        """Fit whatever models the strategy has, after environment step `step`."""

    def add_bonus(self, batch: Batch) -> None:
        """Add a bonus for novelty to the rewards of a batch, in place."""

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and plain values that `load` needs, for a checkpoint."""
        return {}, {}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
