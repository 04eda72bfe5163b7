"""Uniform replay of flat observations: one ring of pre-allocated arrays, one row a step.

Transitions are stored one step each, ends and time limits apart, so that the same memory serves
value learning with any number of steps and the fit of a one-step model.

Shape letters: T steps; L lanes (environments side by side); B transitions of a batch; D
observation values; N steps of a return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mlscale.rl.dqn.nstep import n_step_returns

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor


class Batch(NamedTuple):
    """Transitions; the tensors view memory that the next sample of the same size overwrites.

    Attributes:
        s_tm1_BD: (B, D) states before.
        a_tm1_B: (B,) actions taken.
        r_t_B: (B,) rewards, summed and discounted when over several steps.
        discount_t_B: (B,) discounts of the bootstrap value, 0 where there is none.
        s_t_BD: (B, D) states arrived at; at the end of an episode its last, not the next's first.
    """

    s_tm1_BD: Tensor
    a_tm1_B: Tensor
    r_t_B: Tensor
    discount_t_B: Tensor
    s_t_BD: Tensor


class Replay:
    """The last `capacity` transitions of L lanes.

    Args:
        capacity: Transitions kept, rounded up to whole steps of all lanes.
        num_lanes: Lanes.
        num_values: Values of an observation.
        discount: Discount per step.
        n_step: Rewards summed in a sampled transition.
        bootstrap_at_limit: Whether time limits are bootstrapped through.
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
        rows = -(-capacity // num_lanes) + n_step - 1
        self._s_tm1_TLD = np.zeros((rows, num_lanes, num_values), np.float32)
        self._s_t_TLD = np.zeros((rows, num_lanes, num_values), np.float32)
        self._a_tm1_TL = np.zeros((rows, num_lanes), np.int64)
        self._r_t_TL = np.zeros((rows, num_lanes), np.float32)
        self._terminated_TL = np.zeros((rows, num_lanes), np.bool_)
        self._truncated_TL = np.zeros((rows, num_lanes), np.bool_)
        self._rows, self._num_lanes, self._n_step = rows, num_lanes, n_step
        self._discount, self._bootstrap_at_limit = discount, bootstrap_at_limit
        self._added = 0  # rows ever added
        self._batches: dict[int, tuple[Batch, tuple[NDArray[Any], ...]]] = {}

    def __len__(self) -> int:
        """Return how many transitions can be sampled."""
        return max(0, min(self._added, self._rows) - self._n_step + 1) * self._num_lanes

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
        row = self._added % self._rows
        self._s_tm1_TLD[row] = s_tm1_LD
        self._a_tm1_TL[row] = a_tm1_L
        self._r_t_TL[row] = r_t_L
        self._s_t_TLD[row] = s_t_LD
        self._terminated_TL[row] = terminated_L
        self._truncated_TL[row] = truncated_L
        self._added += 1

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
        n_step = n_step or self._n_step
        batch, (s_tm1_BD, a_tm1_B, r_t_B, discount_t_B, s_t_BD) = self._batch(size)
        index_B = self._draw(size, rng)
        last_B = index_B
        if n_step == 1:
            self._flat(self._r_t_TL).take(index_B, out=r_t_B, mode="clip")
            stops_B = self._flat(self._terminated_TL).take(index_B)
            if not self._bootstrap_at_limit:
                stops_B |= self._flat(self._truncated_TL).take(index_B)
            np.multiply(~stops_B, self._discount, out=discount_t_B)
        else:
            last_B = self._sum_steps(index_B, n_step, r_t_B, discount_t_B)
        width = self._s_t_TLD.shape[-1]
        self._s_tm1_TLD.reshape(-1, width).take(index_B, axis=0, out=s_tm1_BD, mode="clip")
        self._flat(self._a_tm1_TL).take(index_B, out=a_tm1_B, mode="clip")
        self._s_t_TLD.reshape(-1, width).take(last_B, axis=0, out=s_t_BD, mode="clip")
        return batch

    def _draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return flat indices (row * lanes + lane), never of the newest n_step - 1 rows."""
        if not len(self):
            raise ValueError("nothing to sample: the replay is empty")
        index_B = rng.integers(0, len(self), size)
        if self._added > self._rows:  # count from the oldest row
            index_B += self._added % self._rows * self._num_lanes
            index_B %= self._rows * self._num_lanes
        return index_B

    def _sum_steps(
        self,
        index_B: NDArray[np.int64],
        n_step: int,
        r_t_B: NDArray[np.float32],
        discount_t_B: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Fill in the n-step returns from `index_B` on; return where they end."""
        steps_N = np.arange(n_step) * self._num_lanes
        index_BN = (index_B[:, None] + steps_N) % (self._rows * self._num_lanes)
        returns = n_step_returns(
            self._flat(self._r_t_TL)[index_BN],
            self._flat(self._terminated_TL)[index_BN],
            self._flat(self._truncated_TL)[index_BN],
            self._discount,
            bootstrap_at_limit=self._bootstrap_at_limit,
        )
        r_t_B[:], discount_t_B[:] = returns.r_t_B, returns.discount_t_B
        last_B: NDArray[np.int64] = index_BN[np.arange(len(index_B)), returns.last_B]
        return last_B

    def _batch(self, size: int) -> tuple[Batch, tuple[NDArray[Any], ...]]:
        """Return tensors of a batch and the arrays they view."""
        import torch

        if size not in self._batches:
            width = self._s_t_TLD.shape[-1]
            arrays: tuple[NDArray[Any], ...] = (
                np.zeros((size, width), np.float32),
                np.zeros(size, np.int64),
                np.zeros(size, np.float32),
                np.zeros(size, np.float32),
                np.zeros((size, width), np.float32),
            )
            self._batches[size] = Batch(*map(torch.from_numpy, arrays)), arrays
        return self._batches[size]

    @staticmethod
    def _flat(x_TL: NDArray[Any]) -> NDArray[Any]:
        return x_TL.reshape(-1)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "s_tm1": self._s_tm1_TLD,
            "a_tm1": self._a_tm1_TL,
            "r_t": self._r_t_TL,
            "s_t": self._s_t_TLD,
            "terminated": self._terminated_TL,
            "truncated": self._truncated_TL,
        }

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the rows that are filled and how many were ever added, for a checkpoint."""
        import torch

        filled = min(self._added, self._rows)
        tensors = {f"replay/{k}": torch.from_numpy(v[:filled]) for k, v in self._arrays().items()}
        return tensors, {"added": self._added}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        for key, array in self._arrays().items():
            rows = tensors[f"replay/{key}"].numpy()
            array[: len(rows)] = rows
        self._added = int(state["added"])
