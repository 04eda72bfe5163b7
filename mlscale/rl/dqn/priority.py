"""Proportional prioritised replay: surprising transitions are drawn more often and count less.

Source: Schaul et al. 2016, "Prioritized experience replay", section 3.3 and 3.4.

Shape letters: B transitions of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.rl.dqn.room import room_for
from mlscale.rl.dqn.sum_tree import SumTree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.experience import Memory
    from mlscale.rl.dqn.replay import Batch

LEAST_ERROR = 1e-6  # added to errors, so that none is never drawn again


def importance_weights(priority_B: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    """Return (N P)^-beta of transitions drawn with probabilities P, over the batch's largest.

    Neither N, how many transitions there are, nor the sum of priorities matters for the quotient.

    Args:
        priority_B: (B,) what P is proportional to.
        beta: How much of the bias is corrected, from 0, none, to 1, all.
    """
    weight_B: NDArray[np.float64] = (priority_B.min() / priority_B) ** beta
    return weight_B


class PrioritisedSampler:
    """Draws transitions with probabilities proportional to (|error| + a little) ** alpha.

    A transition has the largest priority so far, 1 at first, until it is learned from for the
    first time. Every draw comes from its own of `size` equal parts of the priorities' sum.

    Args:
        memory: The transitions.
        alpha: How much errors matter, from 0, not at all.
        beta: How much of the bias importance weights correct at first; all of it at the end.
        beta_steps: Environment steps until all of it is corrected.

    Raises:
        UserError: There is not so much memory.
    """

    def __init__(self, memory: Memory, alpha: float, beta: float, beta_steps: int) -> None:
        self._memory, self._alpha = memory, alpha
        self._beta, self._beta_steps = beta, beta_steps
        num_places = memory.steps.num_rows * memory.steps.num_lanes
        with room_for("priorities", num_places, 8):
            self._tree = SumTree(num_places)
        self._seen = range(0)  # rows of transitions that have a priority
        self._largest = 1.0

    def beta_at(self, step: int) -> float:
        """Return how much of the bias is corrected at an environment step."""
        return self._beta + (1.0 - self._beta) * min(1.0, step / self._beta_steps)

    def sample(self, size: int, rng: np.random.Generator, step: int) -> Batch:
        """Return transitions, weighted for the bias of having been drawn by priority.

        Args:
            size: How many.
            rng: Draws them.
            step: Environment steps of the training so far.

        Raises:
            ValueError: There is nothing to sample.
        """
        self._catch_up()
        if not self._seen:
            raise ValueError("nothing to sample: the replay is empty")
        mass_B = (np.arange(size) + rng.random(size)) * (self._tree.total / size)
        index_B = self._tree.find(mass_B)
        batch = self._memory.take(index_B)
        weight_B = importance_weights(self._tree.values[index_B], self.beta_at(step))
        batch.weight_B.numpy()[:] = weight_B / size
        return batch

    def _catch_up(self) -> None:
        """Give priorities to new transitions, and take them from those that cannot be drawn."""
        steps, before = self._memory.steps, self._seen
        now = steps.starts
        gone = range(before.start, min(before.stop, now.start))
        new = range(max(before.stop, now.start), now.stop)
        for rows, priority in (gone, 0.0), (new, self._largest):  # a new one may replace an old one
            if rows:
                self._tree.set(steps.flat(rows), priority)
        self._seen = now

    def update(self, batch: Batch, error_B: Tensor) -> None:
        """Set the priorities of the batch sampled last.

        Args:
            batch: The batch.
            error_B: (B,) its temporal-difference errors.
        """
        size_B = error_B.abs().cpu().numpy().astype(np.float64)
        priority_B = (size_B + LEAST_ERROR) ** self._alpha
        self._tree.set(batch.index_B.numpy(), priority_B)
        self._largest = max(self._largest, float(priority_B.max()))

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return all priorities and which rows have them."""
        import torch

        tensors = {"priorities": torch.from_numpy(self._tree.values)}
        seen = [self._seen.start, self._seen.stop]
        return tensors, {"seen": seen, "largest": self._largest}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        priorities = tensors["priorities"].numpy()
        self._tree.set(np.arange(len(priorities)), priorities)
        self._seen = range(*map(int, state["seen"]))
        self._largest = float(state["largest"])
