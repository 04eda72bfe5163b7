"""Non-negative values with their sums, to be drawn in proportion: a tree 64 wide.

Every node is the sum of 64 below it, computed anew when one of them changes, so sums depend on
the values alone, not on the order in which they came: no rounding builds up, and values that are
written to another tree draw the same there. Wide and flat suits NumPy: a tree of a million values
is four levels of vectorised operations.

Shape letters: B places asked for together; F the 64 children of a node.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH = 64


class SumTree:
    """Values by place, all 0 at first.

    Args:
        num_values: How many.
    """

    def __init__(self, num_values: int) -> None:
        self._num_values = num_values
        num_nodes = -(-num_values // WIDTH)
        self._levels = [np.zeros((num_nodes, WIDTH))]  # values first, the root's children last
        while num_nodes > 1:
            num_nodes = -(-num_nodes // WIDTH)
            self._levels.append(np.zeros((num_nodes, WIDTH)))

    @property
    def values(self) -> NDArray[np.float64]:
        """All values in order, as a view to read."""
        return self._levels[0].reshape(-1)[: self._num_values]

    @property
    def total(self) -> float:
        """Their sum."""
        return float(self._levels[-1].sum())

    def set(self, place_B: NDArray[np.int64], value_B: NDArray[np.float64] | float) -> None:
        """Put values at places.

        Args:
            place_B: (B,) places; one that is there twice takes equal values.
            value_B: (B,) values, or one for all; none below 0.
        """
        self._levels[0].reshape(-1)[place_B] = value_B
        node_B = place_B
        for lower, upper in pairwise(self._levels):
            node_B = np.unique(node_B // WIDTH)
            upper.reshape(-1)[node_B] = lower[node_B].sum(axis=1)

    def find(self, mass_B: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return where running sums of the values first exceed given ones.

        A uniform draw from [0, total) finds a place with probability value / total; a value of 0
        is never found, whatever the rounding.

        Args:
            mass_B: (B,) sums in [0, total); the total is above 0.

        Returns:
            (B,) places.
        """
        node_B, rows_B = np.zeros(len(mass_B), np.int64), np.arange(len(mass_B))
        for level in reversed(self._levels):
            upto_BF = level[node_B].cumsum(axis=1)
            # A node and the running sum of its children differ by rounding.
            mass_B = np.minimum(mass_B, np.nextafter(upto_BF[:, -1], 0))
            child_B = (upto_BF <= mass_B[:, None]).sum(axis=1)
            mass_B = mass_B - np.where(child_B > 0, upto_BF[rows_B, child_B - 1], 0)
            node_B = node_B * WIDTH + child_B
        return node_B
