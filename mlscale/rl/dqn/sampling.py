"""Which transitions are learned from: drawn alike, or by priority.

Shape letters: B transitions of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mlscale.rl.dqn.priority import PrioritisedSampler

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from mlscale.rl.dqn.config import LearnerConfig
    from mlscale.rl.dqn.experience import Memory
    from mlscale.rl.dqn.replay import Batch


class Sampler(Protocol):
    """Draws what a learner learns from."""

    def sample(self, size: int, rng: np.random.Generator, step: int) -> Batch:
        """Return transitions.

        Args:
            size: How many.
            rng: Draws them.
            step: Environment steps of the training so far.

        Raises:
            ValueError: There is nothing to sample.
        """

    def update(self, batch: Batch, error_B: Tensor) -> None:
        """Take in the temporal-difference errors (B,) of the batch sampled last."""

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and plain values that `load` needs, for a checkpoint."""

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""


class UniformSampler:
    """Draws every transition alike.

    Args:
        memory: The transitions.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def sample(self, size: int, rng: np.random.Generator, step: int) -> Batch:
        """Return transitions drawn uniformly with replacement."""
        return self._memory.sample(size, rng)

    def update(self, batch: Batch, error_B: Tensor) -> None:
        """Do nothing: errors do not matter here."""

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return nothing: there is no state."""
        return {}, {}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Do nothing: there is no state."""


def make_sampler(memory: Memory, config: LearnerConfig) -> Sampler:
    """Return the sampler that the settings name."""
    if config.replay == "uniform":
        return UniformSampler(memory)
    return PrioritisedSampler(
        memory, config.priority_alpha, config.priority_beta, config.priority_beta_steps
    )
