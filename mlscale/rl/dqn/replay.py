"""Uniform replay of flat observations: one ring of pre-allocated arrays, one row a step.

Shape letters: T rows, one a step of all lanes; L lanes (environments side by side); B transitions
of a batch; D observation values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mlscale.rl.dqn.room import room_for
from mlscale.rl.dqn.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from torch import Tensor


class Batch(NamedTuple):
    """Transitions; the tensors view memory that the next sample of the same size overwrites.

    Attributes:
        s_tm1_BD: (B, D) states before.
        a_tm1_B: (B,) actions taken.
        r_t_B: (B,) rewards, summed and discounted when over several steps.
        discount_t_B: (B,) discounts of the bootstrap value, 0 where there is none.
        s_t_BD: (B, D) states arrived at; at the end of an episode its last, not the next's first.
        weight_B: (B,) what their losses count in the batch's: 1 / B each if drawn uniformly.
        index_B: (B,) where in the memory they begin.
    """

    s_tm1_BD: Tensor
    a_tm1_B: Tensor
    r_t_B: Tensor
    discount_t_B: Tensor
    s_t_BD: Tensor
    weight_B: Tensor
    index_B: Tensor


class Buffers:
    """Batches that samples are written into, one for every size asked for.

    Args:
        state_shape: Shape of one state.
        dtype: Type of its values.
    """

    def __init__(self, state_shape: tuple[int, ...], dtype: DTypeLike) -> None:
        self._state_shape, self._dtype = state_shape, dtype
        self._of_size: dict[int, tuple[Batch, tuple[NDArray[Any], ...]]] = {}

    def __call__(self, index_B: NDArray[np.int64]) -> tuple[Batch, tuple[NDArray[Any], ...]]:
        """Return the batch of some transitions, all alike in weight and to be filled in.

        Args:
            index_B: (B,) where in the memory they begin.

        Returns:
            The batch and the arrays, in its order, that its tensors view.
        """
        import torch

        size = len(index_B)
        if size not in self._of_size:
            arrays: tuple[NDArray[Any], ...] = (
                np.zeros((size, *self._state_shape), self._dtype),
                np.zeros(size, np.int64),
                np.zeros(size, np.float32),
                np.zeros(size, np.float32),
                np.zeros((size, *self._state_shape), self._dtype),
                np.zeros(size, np.float32),
                np.zeros(size, np.int64),
            )
            self._of_size[size] = Batch(*map(torch.from_numpy, arrays)), arrays
        batch, arrays = self._of_size[size]
        arrays[5].fill(1 / size)
        arrays[6][:] = index_B
        return batch, arrays


class Replay:
    """The last `capacity` transitions of L lanes.

    Args:
        capacity: Transitions kept, rounded up to whole steps of all lanes.
        num_lanes: Lanes.
        num_values: Values of an observation.
        discount: Discount per step.
        n_step: Rewards summed in a sampled transition.
        bootstrap_at_limit: Whether time limits are bootstrapped through.

    Attributes:
        steps: Actions, rewards and ends.

    Raises:
        UserError: There is not so much memory.
    """

    def __init__(
        self,
        capacity: int,
        num_lanes: int,
        num_values: int,
        *,
        discount: float = 0.99,
        n_step: int = 1,
        bootstrap_at_limit: bool = True,
    ) -> None:
        with room_for("replay", capacity, 2 * 4 * num_values + Steps.BYTES_EACH):
            self.steps = Steps(
                capacity,
                num_lanes,
                discount=discount,
                n_step=n_step,
                bootstrap_at_limit=bootstrap_at_limit,
            )
            shape = self.steps.num_rows, num_lanes, num_values
            self._s_tm1_TLD = np.zeros(shape, np.float32)
            self._s_t_TLD = np.zeros(shape, np.float32)
        self._buffers = Buffers((num_values,), np.float32)

    def __len__(self) -> int:
        """Return how many transitions can be sampled."""
        return len(self.steps)

    @property
    def nbytes(self) -> int:
        """Bytes of all states and steps, those not filled yet included."""
        return sum(array.nbytes for array in self._arrays().values())

    def add(
        self,
        s_tm1_LD: NDArray[np.float32],
        a_tm1_L: NDArray[np.int64],
        r_t_L: NDArray[np.float32],
        s_t_LD: NDArray[np.float32],
        terminated_L: NDArray[np.bool_],
        truncated_L: NDArray[np.bool_],
    ) -> None:
        """Store one step of every lane.

        Args:
            s_tm1_LD: (L, D) states before.
            a_tm1_L: (L,) actions taken.
            r_t_L: (L,) rewards.
            s_t_LD: (L, D) states arrived at.
            terminated_L: (L,) whether those are terminal.
            truncated_L: (L,) whether a time limit cut the episode off there.
        """
        row = self.steps.added % self.steps.num_rows
        self._s_tm1_TLD[row], self._s_t_TLD[row] = s_tm1_LD, s_t_LD
        self.steps.add(a_tm1_L, r_t_L, terminated_L, truncated_L)

    def sample(self, size: int, rng: np.random.Generator, *, n_step: int | None = None) -> Batch:
        """Return transitions drawn uniformly with replacement.

        The newest steps, whose later rewards are not known yet, are left out.

        Args:
            size: How many.
            rng: Draws them.
            n_step: Rewards summed, at most the replay's own number, which is the default.

        Raises:
            ValueError: There is nothing to sample.
        """
        return self.take(self.steps.draw(size, rng), n_step=n_step)

    def take(self, index_B: NDArray[np.int64], *, n_step: int | None = None) -> Batch:
        """Return given transitions.

        Args:
            index_B: (B,) where in the memory they begin.
            n_step: Rewards summed, at most the replay's own number, which is the default.
        """
        batch, (s_tm1_BD, a_tm1_B, r_t_B, discount_t_B, s_t_BD, *_) = self._buffers(index_B)
        last_B = self.steps.fill(index_B, n_step, a_tm1_B, r_t_B, discount_t_B)
        width = self._s_t_TLD.shape[-1]
        self._s_tm1_TLD.reshape(-1, width).take(index_B, axis=0, out=s_tm1_BD, mode="clip")
        self._s_t_TLD.reshape(-1, width).take(last_B, axis=0, out=s_t_BD, mode="clip")
        return batch

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"s_tm1": self._s_tm1_TLD, "s_t": self._s_t_TLD, **self.steps.arrays()}

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the rows that are filled and how many were ever added, for a checkpoint."""
        import torch

        filled = min(self.steps.added, self.steps.num_rows)
        tensors = {f"replay/{k}": torch.from_numpy(v[:filled]) for k, v in self._arrays().items()}
        return tensors, {"added": self.steps.added}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        for key, array in self._arrays().items():
            rows = tensors[f"replay/{key}"].numpy()
            array[: len(rows)] = rows
        self.steps.added = int(state["added"])
