"""Where replicas' processes leave their parameters at the end of an epoch, for the caller to read.

A file in memory that all map, with a place for each replica. A replica leaves an epoch there when
all before it were read and logged, so none is ever more than one epoch ahead of the log.

Shape letters: N replicas; P parameters; K parameter tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


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
        self._num_parameters = num_parameters
        self._taken_1 = np.memmap(path.with_suffix(".taken"), np.int64, mode, shape=(1,))
        shape = (num_ranks, num_parameters + num_tensors)
        self._rows = np.memmap(path, np.float32, mode, shape=shape)

    @property
    def taken(self) -> int:
        """Epochs that the caller has read and logged."""
        return int(self._taken_1[0])

    @taken.setter
    def taken(self, epochs: int) -> None:
        self._taken_1[0] = epochs

    def post(self, rank: int, x_P: NDArray[np.float32], norms_K: NDArray[np.float32]) -> None:
        """Leave a replica's parameters and norms at the end of an epoch."""
        self._rows[rank, : self._num_parameters] = x_P
        self._rows[rank, self._num_parameters :] = norms_K

    def take(self, ranks: Sequence[int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the parameters (N, P) and norms (N, K) that some replicas have left."""
        rows = np.array(self._rows[list(ranks)])
        return rows[:, : self._num_parameters], rows[:, self._num_parameters :]
