"""Emulators and their frame memory; a checkpoint holds the actions, and going on plays them again.

A frame memory of 100,000 steps is 0.7 GB. The emulators are a function of their seeds and
actions, so one byte an action is all that has to be written, and a checkpoint takes no time.

Shape letters: L lanes; T rows, one a step of all lanes.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.errors import WorkFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.atari.emulators import Emulators
    from mlscale.rl.dqn.atari.frames import FrameReplay
    from mlscale.rl.dqn.experience import Memory
    from mlscale.rl.dqn.lanes import Step

REPORT_EVERY_ROWS = 500


class FrameExperience:
    """Emulators stepped side by side, whose frames are kept.

    Args:
        emulators: The emulators.
        replay: Their memory.
        report: Told how many rows of how many were played again when a checkpoint is loaded.
    """

    def __init__(
        self, emulators: Emulators, replay: FrameReplay, report: Callable[[int, int], None]
    ) -> None:
        self._emulators, self._replay, self._report = emulators, replay, report
        self._actions = bytearray()  # of rows from `_first_row` on, L bytes each
        self._first_row, self._num_rows = 0, 0
        self._stretches = [[(0, 0)] for _ in emulators.lanes]  # their numbers and first rows

    @property
    def memory(self) -> Memory:
        """The transitions kept."""
        return self._replay

    @property
    def states(self) -> NDArray[np.uint8]:
        """The observations (L, 4, 84, 84) that the next actions are chosen for."""
        return self._emulators.states_LFHW

    def step(self, a_L: NDArray[np.int64]) -> Step:
        """Take one action (L,) in every lane, keep the transitions and return them."""
        step = self._emulators.step(a_L)
        self._keep(a_L, step)
        return step

    def _keep(self, a_L: NDArray[np.int64], step: Step) -> None:
        self._replay.add(
            step.s_tm1_LD, a_L, step.r_t_L, step.s_t_LD, step.terminated_L, step.truncated_L
        )
        self._actions += a_L.astype(np.uint8).tobytes()
        self._num_rows += 1
        for ended in step.ended:
            lane, stretches = self._emulators.lanes[ended.lane], self._stretches[ended.lane]
            if lane.stretch != stretches[-1][0]:
                stretches.append((lane.stretch, lane.started_at))

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the actions that the memory and the present states come from."""
        import torch

        self._forget()
        actions_TL = np.frombuffer(bytes(self._actions), np.uint8).reshape(-1, len(self._stretches))
        state = {
            "first_row": self._first_row,
            "stretches": [list(stretches[0]) for stretches in self._stretches],
            "checksum": self._checksum(),
        }
        return {"actions": torch.from_numpy(actions_TL.copy())}, state

    def _forget(self) -> None:
        """Drop the actions that nothing in the memory comes from any more."""
        oldest = max(0, self._num_rows - self._replay.num_rows)
        for stretches in self._stretches:
            while len(stretches) > 1 and stretches[1][1] <= oldest:
                stretches.pop(0)
        first_row = min(stretches[0][1] for stretches in self._stretches)
        del self._actions[: (first_row - self._first_row) * len(self._stretches)]
        self._first_row = first_row

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Play the actions of a checkpoint again.

        Raises:
            WorkFailed: The emulators did not come to the same states again.
        """
        actions_TL = tensors["actions"].numpy().astype(np.int64)
        self._first_row = self._num_rows = int(state["first_row"])
        self._actions.clear()
        self._stretches = [[(int(number), int(row))] for number, row in state["stretches"]]
        self._replay.skip_to(self._first_row)
        starts_L = np.array([stretches[0][1] for stretches in self._stretches])
        for number, a_L in enumerate(actions_TL):
            self._play_again(a_L, starts_L)
            if number % REPORT_EVERY_ROWS == 0:
                self._report(number, len(actions_TL))
        if self._checksum() != state["checksum"]:
            raise WorkFailed(
                "the emulators did not come to the checkpoint's states again",
                "was ale-py updated in between? Start again in another directory",
            )

    def _play_again(self, a_L: NDArray[np.int64], starts_L: NDArray[np.int64]) -> None:
        """Play one row again in the lanes that have begun; the others' rows are never sampled."""
        emulators, row = self._emulators, self._num_rows
        for number in np.flatnonzero(starts_L == row):
            stretch, _ = self._stretches[number][0]
            emulators.states_LFHW[number] = emulators.lanes[number].begin(stretch, row)
        step = emulators.step(a_L, starts_L <= row)
        self._keep(a_L, step)

    def _checksum(self) -> int:
        return zlib.crc32(self._emulators.states_LFHW.tobytes())

    def close(self) -> None:
        """Stop the emulators."""
        self._emulators.close()
