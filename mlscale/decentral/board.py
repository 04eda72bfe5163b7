"""Where replicas' processes leave their parameters at the end of an epoch, for the caller to read.

A file in memory that all map: two places for each replica, used in turns, so that one who is
ahead does not write over what was not read yet.

Shape letters: N replicas; P parameters; K parameter tensors.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

PLACES = 2
PAUSE_S = 0.005


class Board:
    """The file, mapped.

    Args:
        path: Of the file; made when it is not there.
        num_ranks: N.
        num_parameters: P.
        num_tensors: K.
    """

    def __init__(self, path: Path, num_ranks: int, num_parameters: int, num_tensors: int) -> None:
        mode: Any = "r+" if path.exists() else "w+"
        width = num_parameters + num_tensors
        shape = (PLACES, num_ranks, width)
        self._num_parameters = num_parameters
        self._taken_1 = np.memmap(path.with_suffix(".taken"), np.int64, mode, shape=(1,))
        self._rows = np.memmap(path, np.float32, mode, shape=shape)

    @property
    def taken(self) -> int:
        """Epochs that the caller has read and logged."""
        return int(self._taken_1[0])

    @taken.setter
    def taken(self, epochs: int) -> None:
        self._taken_1[0] = epochs

    def has_place(self, epoch: int) -> bool:
        """Return whether an epoch may be posted: the one whose place it takes was read."""
        return self.taken > epoch - PLACES

    def pause(self) -> None:
        """Wait a little before asking again."""
        time.sleep(PAUSE_S)

    def post(
        self, rank: int, epoch: int, x_P: NDArray[np.float32], norms_K: NDArray[np.float32]
    ) -> None:
        """Leave a replica's parameters and norms at the end of an epoch."""
        row = self._rows[epoch % PLACES, rank]
        row[: self._num_parameters] = x_P
        row[self._num_parameters :] = norms_K

    def take(self, epoch: int, ranks: list[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the parameters (N, P) and norms (N, K) of some replicas at the end of an epoch."""
        rows = np.array(self._rows[epoch % PLACES, ranks])
        return rows[:, : self._num_parameters], rows[:, self._num_parameters :]
