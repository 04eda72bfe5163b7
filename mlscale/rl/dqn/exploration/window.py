"""The last states visited, across the ends of episodes.

Shape letters: F states; L lanes; D observation values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Window:
    """A ring of the last states.

    Args:
        capacity: F, the states kept.
        num_values: D.
    """

    def __init__(self, capacity: int, num_values: int) -> None:
        self._ring_FD = np.zeros((capacity, num_values))
        self._added = 0

    def __len__(self) -> int:
        """Return how many states there are."""
        return min(self._added, len(self._ring_FD))

    def add(self, s_LD: NDArray[np.float32]) -> None:
        """Take in states (L, D)."""
        for s_D in s_LD:
            self._ring_FD[self._added % len(self._ring_FD)] = s_D
            self._added += 1

    @property
    def states(self) -> NDArray[np.float64]:
        """The states there are, in no particular order."""
        return self._ring_FD[: len(self)]

    def saved(self) -> dict[str, object]:
        """Return the states and their number, for a checkpoint."""
        return {"states": self.states.tolist(), "added": self._added}

    def load(self, state: dict[str, object]) -> None:
        """Put back what `saved` gave."""
        states_FD = np.asarray(state["states"]).reshape(-1, self._ring_FD.shape[1])
        self._ring_FD[: len(states_FD)] = states_FD
        self._added = int(str(state["added"]))
