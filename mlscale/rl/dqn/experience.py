"""Where transitions come from and where they are kept: environments and their replay memory.

Shape letters: L lanes; S whatever a state is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.lanes import Lanes, Step
    from mlscale.rl.dqn.replay import Batch, Replay
    from mlscale.rl.dqn.steps import Steps


class Memory(Protocol):
    """A replay memory, as learners and explorers sample it."""

    @property
    def steps(self) -> Steps:
        """Actions, rewards and ends of the steps kept."""

    @property
    def nbytes(self) -> int:
        """Bytes of all of it, what is not filled yet included."""

    def __len__(self) -> int:
        """Return how many transitions can be sampled."""

    def sample(self, size: int, rng: np.random.Generator, *, n_step: int | None = None) -> Batch:
        """Return transitions drawn uniformly."""

    def take(self, index_B: NDArray[np.int64], *, n_step: int | None = None) -> Batch:
        """Return the transitions that begin at flat indices (B,)."""


class Experience(Protocol):
    """Environments stepped side by side, whose every step is kept in a replay memory."""

    @property
    def memory(self) -> Memory:
        """The transitions kept."""

    @property
    def states(self) -> NDArray[Any]:
        """The states (L, S...) that the next actions are chosen for."""

    def step(self, a_L: NDArray[np.int64]) -> Step:
        """Take one action (L,) in every lane, keep the transitions and return them."""

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and plain values that `load` needs, for a checkpoint."""

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""

    def close(self) -> None:
        """Close the environments."""


class FlatExperience:
    """Environments with flat observations; a checkpoint holds their replay memory.

    Args:
        lanes: The environments.
        replay: Their memory.
    """

    def __init__(self, lanes: Lanes, replay: Replay) -> None:
        self._lanes, self._replay = lanes, replay

    @property
    def memory(self) -> Memory:
        """The transitions kept."""
        return self._replay

    @property
    def states(self) -> NDArray[np.float32]:
        """The states (L, D) that the next actions are chosen for."""
        return self._lanes.s_LD

    def step(self, a_L: NDArray[np.int64]) -> Step:
        """Take one action (L,) in every lane, keep the transitions and return them."""
        step = self._lanes.step(a_L)
        self._replay.add(
            step.s_tm1_LD, a_L, step.r_t_L, step.s_t_LD, step.terminated_L, step.truncated_L
        )
        return step

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the replay memory and how to get to the present states again."""
        tensors, replay = self._replay.saved()
        return tensors, {"lanes": self._lanes.saved(), "replay": replay}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave.

        Raises:
            WorkFailed: An environment did not come to the same state again.
        """
        self._replay.load(tensors, state["replay"])
        self._lanes.load(state["lanes"])

    def close(self) -> None:
        """Close the environments."""
        self._lanes.close()
