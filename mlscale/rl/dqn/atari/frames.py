"""Replay of stacked frames that keeps every frame once: one byte a pixel, one frame a step.

A stack shares three of its four frames with the stack before it, so a row keeps the newest frame
of the state before its step and stacks are put together when they are sampled. The newest frame
of the state after a step is in the next row, except at the end of an episode, where the next row
begins another one: a time limit's last frame is kept apart, and a terminal state's, whose value
nothing asks for, is not kept at all.

Shape letters: T rows, one a step of all lanes; L lanes (environments side by side); B transitions
of a batch; 4 frames of a stack, oldest first; H, W pixels of a frame; P all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.rl.dqn.replay import Batch, Buffers
from mlscale.rl.dqn.room import room_for
from mlscale.rl.dqn.steps import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

STACK = 4
FRAME_SHAPE = (84, 84)
FRAME_BYTES = FRAME_SHAPE[0] * FRAME_SHAPE[1]
HISTORY_4 = np.arange(1 - STACK, 1)  # rows from a state's own to those of its stack


class FrameReplay:
    """The last `capacity` transitions of L lanes whose states are stacks of frames.

    The first step added begins an episode in every lane, and so does a lane's step after the end
    of one; the three older frames of a first stack are zero.

    Args:
        capacity: Transitions kept, rounded up to whole steps of all lanes.
        num_lanes: Lanes.
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
        *,
        discount: float = 0.99,
        n_step: int = 1,
        bootstrap_at_limit: bool = True,
    ) -> None:
        with room_for("replay", capacity, FRAME_BYTES + 1 + Steps.BYTES_EACH):
            self.steps = Steps(
                capacity,
                num_lanes,
                spare_rows=STACK,  # the older frames of the oldest stack, and the newest of all
                discount=discount,
                n_step=n_step,
                bootstrap_at_limit=bootstrap_at_limit,
            )
            num_rows = self.steps.num_rows
            self._blank = num_rows * num_lanes  # index of one frame that stays zero
            # Zeros are not written by numpy: memory is taken only as rows are filled.
            self._frames_IP = np.zeros((self._blank + 1, FRAME_BYTES), np.uint8)
            self._age_TL = np.zeros((num_rows, num_lanes), np.uint8)  # earlier frames, at most 3
        self._next_age_L = np.zeros(num_lanes, np.uint8)
        self._limit_frames: dict[int, NDArray[np.uint8]] = {}  # last frames at time limits
        self._keeps_limit_frames = bootstrap_at_limit
        self._buffers = Buffers((STACK, *FRAME_SHAPE), np.uint8)

    def __len__(self) -> int:
        """Return how many transitions can be sampled."""
        return len(self.steps)

    @property
    def num_rows(self) -> int:
        """Rows that are kept at most, those behind the oldest stack included."""
        return self.steps.num_rows

    def skip_to(self, row: int) -> None:
        """Go on as if `row` rows had been added to the empty memory.

        Rows that are skipped must be out of reach again before anything is sampled: for a memory
        with its rows from r on, skip to r or less and add them all.

        Args:
            row: How many.
        """
        self.steps.added = row

    @property
    def nbytes(self) -> int:
        """Bytes of all frames and steps, those not filled yet included."""
        arrays = (self._frames_IP, self._age_TL, *self.steps.arrays().values())
        return sum(array.nbytes for array in (*arrays, *self._limit_frames.values()))

    def add(
        self,
        s_tm1_L4HW: NDArray[np.uint8],
        a_tm1_L: NDArray[np.int64],
        r_t_L: NDArray[np.float32],
        s_t_L4HW: NDArray[np.uint8],
        terminated_L: NDArray[np.bool_],
        truncated_L: NDArray[np.bool_],
    ) -> None:
        """Store one step of every lane.

        Args:
            s_tm1_L4HW: (L, 4, 84, 84) states before, oldest frame first.
            a_tm1_L: (L,) actions taken.
            r_t_L: (L,) rewards.
            s_t_L4HW: (L, 4, 84, 84) states arrived at; an ended episode's last.
            terminated_L: (L,) whether those are terminal.
            truncated_L: (L,) whether a time limit cut the episode off there.
        """
        steps, num_lanes = self.steps, self.steps.num_lanes
        row = steps.added % steps.num_rows
        following = (row + 1) % steps.num_rows
        for lane in np.flatnonzero(steps.truncated_TL[row]):  # of the step overwritten
            self._limit_frames.pop(int(row * num_lanes + lane), None)
        frames_TLP = self._frames_IP[:-1].reshape(steps.num_rows, num_lanes, -1)
        frames_TLP[row] = s_tm1_L4HW[:, -1].reshape(num_lanes, -1)
        frames_TLP[following] = s_t_L4HW[:, -1].reshape(num_lanes, -1)
        self._age_TL[row] = self._next_age_L
        self._next_age_L = np.minimum(self._next_age_L + 1, STACK - 1)
        self._next_age_L[terminated_L | truncated_L] = 0
        if self._keeps_limit_frames:
            for lane in np.flatnonzero(truncated_L & ~terminated_L):
                frame_P = s_t_L4HW[lane, -1].flatten()
                self._limit_frames[int(row * num_lanes + lane)] = frame_P
        steps.add(a_tm1_L, r_t_L, terminated_L, truncated_L)

    def sample(self, size: int, rng: np.random.Generator, *, n_step: int | None = None) -> Batch:
        """Return transitions drawn uniformly with replacement, their states (B, 4, 84, 84) bytes.

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
        """Return given transitions, their states (B, 4, 84, 84) bytes.

        The newest frame of a terminal state is a copy of the one before.

        Args:
            index_B: (B,) where in the memory they begin.
            n_step: Rewards summed, at most the replay's own number, which is the default.
        """
        batch, (s_tm1_B4HW, a_tm1_B, r_t_B, discount_t_B, s_t_B4HW, *_) = self._buffers(index_B)
        last_B = self.steps.fill(index_B, n_step, a_tm1_B, r_t_B, discount_t_B)
        self._take(self._rows_of_stacks(index_B, HISTORY_4), s_tm1_B4HW)

        index_B4 = self._rows_of_stacks(last_B, HISTORY_4 + 1)
        at_limit_B = self.steps.truncated_TL.reshape(-1).take(last_B)
        ended_B = at_limit_B | self.steps.terminated_TL.reshape(-1).take(last_B)
        index_B4[ended_B, -1] = last_B[ended_B]
        self._take(index_B4, s_t_B4HW)
        if self._limit_frames:
            for i in np.flatnonzero(at_limit_B & (discount_t_B > 0)):
                s_t_B4HW[i, -1] = self._limit_frames[int(last_B[i])].reshape(FRAME_SHAPE)
        return batch

    def _rows_of_stacks(
        self, index_B: NDArray[np.int64], rows_4: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return flat indices (B, 4) some rows off; of the blank frame before an episode's first.

        Args:
            index_B: (B,) flat indices of steps.
            rows_4: (4,) rows from there to the frames of a stack.
        """
        index_B4: NDArray[np.int64] = index_B[:, None] + rows_4 * self.steps.num_lanes
        index_B4 %= self._blank
        index_B4[-rows_4 > self._age_TL.reshape(-1).take(index_B)[:, None]] = self._blank
        return index_B4

    def _take(self, index_B4: NDArray[np.int64], out_B4HW: NDArray[np.uint8]) -> None:
        """Copy frames out."""
        out_B4P = out_B4HW.reshape(*index_B4.shape, -1)
        self._frames_IP.take(index_B4, axis=0, out=out_B4P, mode="clip")
