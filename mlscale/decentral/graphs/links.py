"""Who receives from whom in one round, before there are weights.

Shape letters: N ranks; E links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links between ranks, by receiver and then sender, none twice and none to itself.

    Args:
        num_ranks: N.
        receivers_E: (E,) who receives.
        senders_E: (E,) from whom.
    """

    num_ranks: int
    receivers_E: NDArray[np.int64]
    senders_E: NDArray[np.int64]

    @classmethod
    def of(cls, num_ranks: int, receivers: ArrayLike, senders: ArrayLike) -> Links:
        """Return the links from given pairs; repeated ones count once, own ones not at all."""
        receivers_E, senders_E = np.asarray(receivers, np.int64), np.asarray(senders, np.int64)
        others = receivers_E != senders_E
        # Sorted and thinned out by hand: np.unique hashes, many times as slowly for a million.
        keys = np.sort(receivers_E[others] * num_ranks + senders_E[others], kind="stable")
        keys = keys[np.diff(keys, prepend=-1) > 0]
        return cls(num_ranks, keys // num_ranks, keys % num_ranks)

    @classmethod
    def both_ways(cls, num_ranks: int, ends: ArrayLike, other_ends: ArrayLike) -> Links:
        """Return the links from given edges, each in both directions."""
        ends_E, other_ends_E = np.asarray(ends, np.int64), np.asarray(other_ends, np.int64)
        return cls.of(
            num_ranks,
            np.concatenate([ends_E, other_ends_E]),
            np.concatenate([other_ends_E, ends_E]),
        )

    @property
    def degrees(self) -> NDArray[np.int64]:
        """From how many each rank receives, (N,)."""
        degrees_N: NDArray[np.int64] = np.bincount(self.receivers_E, minlength=self.num_ranks)
        return degrees_N

    @property
    def is_symmetric(self) -> bool:
        """Whether any rank that sends to another receives from it too."""
        turned = Links.of(self.num_ranks, self.senders_E, self.receivers_E)
        return bool(
            np.array_equal(self.receivers_E, turned.receivers_E)
            and np.array_equal(self.senders_E, turned.senders_E)
        )


def circulant(num_ranks: int, distances: Iterable[int]) -> Links:
    """Return the links in which every rank receives from the ranks at some distances before it.

    Args:
        num_ranks: N.
        distances: Of any sign and size; they count modulo N.
    """
    distances_K = np.array(list(distances), np.int64)
    ranks = np.repeat(np.arange(num_ranks), len(distances_K))
    return Links.of(num_ranks, ranks, (ranks - np.tile(distances_K, num_ranks)) % num_ranks)
