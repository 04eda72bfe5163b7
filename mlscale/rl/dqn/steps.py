"""What every replay keeps of a step beside its states: a ring of actions, rewards and ends.

Transitions are stored one step each, ends and time limits apart, so that the same memory serves
value learning with any number of steps and the fit of a one-step model.

Shape letters: T rows, one a step of all lanes; L lanes (environments side by side); B transitions
of a batch; N steps of a return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.rl.dqn.nstep import n_step_returns

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Steps:
    """The last steps of L lanes; a flat index of one is row * L + lane.

    A step takes `BYTES_EACH` bytes.

    Args:
        capacity: Transitions that can be drawn, rounded up to whole rows.
        num_lanes: Lanes.
        spare_rows: Rows kept beyond those that transitions begin or end in.
        discount: Discount per step.
        n_step: Rewards summed in a transition.
        bootstrap_at_limit: Whether time limits are bootstrapped through.

    Attributes:
        num_rows: Rows of the ring.
        num_lanes: Lanes.
        added: Rows ever added.
        terminated_TL: (T, L) whether a step reached a terminal state.
        truncated_TL: (T, L) whether a time limit cut the episode off there.
    """

    BYTES_EACH = 8 + 4 + 1 + 1  # its action, reward, end, time limit

    def __init__(
        self,
        capacity: int,
        num_lanes: int,
        *,
        spare_rows: int = 0,
        discount: float,
        n_step: int,
        bootstrap_at_limit: bool,
    ) -> None:
        self._start_rows = -(-capacity // num_lanes)  # transitions begin in at most so many
        self.num_rows = self._start_rows + n_step - 1 + spare_rows
        self.num_lanes, self.added = num_lanes, 0
        shape = self.num_rows, num_lanes
        self._a_tm1_TL, self._r_t_TL = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        self.terminated_TL, self.truncated_TL = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        self._n_step, self._discount = n_step, discount
        self._bootstrap_at_limit = bootstrap_at_limit

    @property
    def starts(self) -> range:
        """Rows, counted from the first ever added, that transitions can begin in."""
        stop = max(0, self.added - self._n_step + 1)
        return range(max(0, stop - self._start_rows), stop)

    def __len__(self) -> int:
        """Return how many transitions can be drawn."""
        return len(self.starts) * self.num_lanes

    def flat(self, rows: range) -> NDArray[np.int64]:
        """Return the flat indices of all steps of rows that are counted from the first ever."""
        row_T1 = np.arange(rows.start, rows.stop)[:, None] % self.num_rows
        return (row_T1 * self.num_lanes + np.arange(self.num_lanes)).reshape(-1)

    def add(
        self,
        a_tm1_L: NDArray[np.int64],
        r_t_L: NDArray[np.float32],
        terminated_L: NDArray[np.bool_],
        truncated_L: NDArray[np.bool_],
    ) -> None:
        """Store one step of every lane.

        Args:
            a_tm1_L: (L,) actions taken.
            r_t_L: (L,) rewards.
            terminated_L: (L,) whether the states arrived at are terminal.
            truncated_L: (L,) whether a time limit cut the episode off there.
        """
        row = self.added % self.num_rows
        self._a_tm1_TL[row], self._r_t_TL[row] = a_tm1_L, r_t_L
        self.terminated_TL[row], self.truncated_TL[row] = terminated_L, truncated_L
        self.added += 1

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return flat indices (B,) drawn uniformly, never of the newest n_step - 1 rows.

        Args:
            size: How many.
            rng: Draws them.

        Raises:
            ValueError: There is nothing to sample.
        """
        starts = self.starts
        if not starts:
            raise ValueError("nothing to sample: the replay is empty")
        index_B = rng.integers(0, len(starts) * self.num_lanes, size)
        if starts.start:
            index_B += starts.start % self.num_rows * self.num_lanes
            index_B %= self.num_rows * self.num_lanes
        return index_B

    def held(self, index_B: NDArray[np.int64], num_steps: int) -> NDArray[np.bool_]:
        """Return (B,) whether one action was taken in all of some steps, none of them an end.

        Args:
            index_B: (B,) flat indices of the first of the steps.
            num_steps: How many in a row.
        """
        steps_N = np.arange(num_steps) * self.num_lanes
        index_BN = (index_B[:, None] + steps_N) % (self.num_rows * self.num_lanes)
        a_BN = self._a_tm1_TL.reshape(-1)[index_BN]
        ends_BN = self.terminated_TL.reshape(-1)[index_BN] | self.truncated_TL.reshape(-1)[index_BN]
        newer_rows_B = (self.added - 1 - index_B // self.num_lanes) % self.num_rows
        is_held_B = (a_BN == a_BN[:, :1]).all(axis=1) & ~ends_BN.any(axis=1)
        return np.asarray(is_held_B & (newer_rows_B >= num_steps - 1))

    def fill(
        self,
        index_B: NDArray[np.int64],
        n_step: int | None,
        a_tm1_B: NDArray[np.int64],
        r_t_B: NDArray[np.float32],
        discount_t_B: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Fill in actions, returns and discounts of transitions.

        Args:
            index_B: (B,) flat indices of their first steps.
            n_step: Rewards summed, all of them known already; None for the ring's own number.
            a_tm1_B: (B,) actions, written.
            r_t_B: (B,) returns, written.
            discount_t_B: (B,) discounts of the bootstrap value, written.

        Returns:
            (B,) flat indices of their last steps.
        """
        self._a_tm1_TL.reshape(-1).take(index_B, out=a_tm1_B, mode="clip")
        if (n_step or self._n_step) > 1:
            return self._sum_steps(index_B, n_step or self._n_step, r_t_B, discount_t_B)
        self._r_t_TL.reshape(-1).take(index_B, out=r_t_B, mode="clip")
        stops_B = self.terminated_TL.reshape(-1).take(index_B)
        if not self._bootstrap_at_limit:
            stops_B |= self.truncated_TL.reshape(-1).take(index_B)
        np.multiply(~stops_B, self._discount, out=discount_t_B)
        return index_B

    def _sum_steps(
        self,
        index_B: NDArray[np.int64],
        n_step: int,
        r_t_B: NDArray[np.float32],
        discount_t_B: NDArray[np.float32],
    ) -> NDArray[np.int64]:
        """Fill in the n-step returns from `index_B` on; return where they end."""
        steps_N = np.arange(n_step) * self.num_lanes
        index_BN = (index_B[:, None] + steps_N) % (self.num_rows * self.num_lanes)
        returns = n_step_returns(
            self._r_t_TL.reshape(-1)[index_BN],
            self.terminated_TL.reshape(-1)[index_BN],
            self.truncated_TL.reshape(-1)[index_BN],
            self._discount,
            bootstrap_at_limit=self._bootstrap_at_limit,
        )
        r_t_B[:], discount_t_B[:] = returns.r_t_B, returns.discount_t_B
        last_B: NDArray[np.int64] = index_BN[np.arange(len(index_B)), returns.last_B]
        return last_B

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the ring, each (T, L), by name."""
        return {
            "a_tm1": self._a_tm1_TL,
            "r_t": self._r_t_TL,
            "terminated": self.terminated_TL,
            "truncated": self.truncated_TL,
        }
