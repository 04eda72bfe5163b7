"""Running sums of scores per agent, game and seed, and the search for rows given twice.

Memory grows by about 30 bytes with every (agent, game, seed) triple, and by 8 with every row
where a table has episodes. Letters: R rows, K distinct keys.
"""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlscale.rl.atari.games import all_games

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_AGENTS = 10_000
SEED_LIMIT = 2**43  # an (agent, game) pair takes 20 of the 64 bits of a key, a seed the others
EPISODE_LIMIT = 2**53  # whole numbers up to here are exact as float64

_MERGE_AT_ROWS = 2**20
_SAMPLE_ROWS = 2**12
_RANGE_SAMPLES = 2**5  # a range of keys merged at once has some 2**17 rows


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a score table, checked.

    Attributes:
        agents: (R,) codes of agents, under `MAX_AGENTS`.
        games: (R,) places of games in `all_games()`.
        seeds: (R,) whole numbers of size under `SEED_LIMIT`.
        episodes: (R,) whole numbers, or None in a table without episodes.
        scores: (R,) game points, finite.
    """

    agents: NDArray[np.int64]
    games: NDArray[np.int64]
    seeds: NDArray[np.int64]
    episodes: NDArray[np.int64] | None
    scores: NDArray[np.float64]

    def triple_keys(self) -> NDArray[np.uint64]:
        """Return (R,) keys that are equal only where agent, game and seed are."""
        pair_R = self.agents * len(all_games()) + self.games
        return (pair_R.astype(np.uint64) << np.uint64(44)) | (
            (self.seeds + SEED_LIMIT).astype(np.uint64)
        )

    def row_keys(self) -> NDArray[np.uint64]:
        """Return (R,) keys that are equal where agent, game, seed and episode are.

        With episodes they are 64-bit hashes: equal keys are a suspicion, not a proof.
        """
        key_R = self.triple_keys()
        if self.episodes is None:
            return key_R
        return _mixed(_mixed(key_R) + self.episodes.astype(np.uint64))


def _mixed(key_R: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scatter keys over 64 bits.

    Source: Steele et al. 2014, "Fast Splittable Pseudorandom Number Generators" (SplitMix64).
    """
    key_R = key_R + np.uint64(0x9E3779B97F4A7C15)
    key_R = (key_R ^ (key_R >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key_R = (key_R ^ (key_R >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key_R ^ (key_R >> np.uint64(31))


@dataclass(slots=True)
class _Sums:
    """Sums and counts of scores by key, in ascending order of the keys."""

    keys: NDArray[np.uint64]
    sums: NDArray[np.float64]
    counts: NDArray[np.int64]

    def split(self, bound: np.uint64) -> tuple[_Sums, _Sums]:
        """Return the sums with keys under `bound`, and the others."""
        cut = np.searchsorted(self.keys, bound)
        return (
            _Sums(self.keys[:cut], self.sums[:cut], self.counts[:cut]),
            _Sums(self.keys[cut:], self.sums[cut:], self.counts[cut:]),
        )


def _merged(parts: Sequence[_Sums]) -> _Sums:
    return _summed(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.sums for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )


def _summed(
    key_R: NDArray[np.uint64], sum_R: NDArray[np.float64], count_R: NDArray[np.int64]
) -> _Sums:
    """Return one entry per distinct key."""
    order_R = np.argsort(key_R, kind="stable")
    key_R = key_R[order_R]
    starts_K = _group_starts(key_R)
    return _Sums(
        key_R[starts_K],
        np.add.reduceat(sum_R[order_R], starts_K),
        np.add.reduceat(count_R[order_R], starts_K),
    )


def _group_starts(key_R: NDArray[Any]) -> NDArray[np.intp]:
    """Return where each run of equal keys starts, of at least one key."""
    return np.flatnonzero(np.append(True, key_R[1:] != key_R[:-1]))


class ScoreSums:
    """Adds up batches of rows."""

    def __init__(self) -> None:
        self._parts: list[_Sums] = []
        self._num_merged = 0
        self._num_pending = 0
        self._row_keys = array.array("Q")
        self._has_episodes = False

    def add(self, batch: Batch) -> None:
        """Add some rows, at least one."""
        ones_R = np.ones(len(batch.scores), np.int64)
        self._parts.append(_summed(batch.triple_keys(), batch.scores, ones_R))
        self._num_pending += len(self._parts[-1].keys)
        # Merging only when much is pending for what was merged keeps the total work n log n.
        if self._num_pending >= max(_MERGE_AT_ROWS, self._num_merged // 4):
            self._merge()
        if batch.episodes is not None:
            self._has_episodes = True
            self._row_keys.frombytes(batch.row_keys().tobytes())

    def _merge(self) -> None:
        """Merge all parts into ones with ascending ranges of keys, each key in one of them.

        A range is merged at a time, and what it was made of is freed: memory holds sums once.
        """
        if not self._num_pending:
            return
        parts, self._parts = self._parts, []
        samples = np.sort(np.concatenate([part.keys[::_SAMPLE_ROWS] for part in parts]))
        for bound in samples[_RANGE_SAMPLES::_RANGE_SAMPLES]:
            halves = [part.split(bound) for part in parts]
            below = [under for under, _ in halves if len(under.keys)]
            parts = [over for _, over in halves if len(over.keys)]
            if below:
                self._parts.append(_merged(below))
        self._parts.append(_merged(parts))
        self._num_merged = sum(len(part.keys) for part in self._parts)
        self._num_pending = 0

    def suspects(self) -> NDArray[np.uint64]:
        """Return the row keys that came more than once, in ascending order."""
        if not self._has_episodes:
            self._merge()
            repeated = [part.keys[part.counts > 1] for part in self._parts]
            return np.concatenate([np.empty(0, np.uint64), *repeated])
        key_R = np.frombuffer(self._row_keys, np.uint64)
        key_R.sort()  # in place: a copy would double the memory
        return np.unique(key_R[1:][key_R[1:] == key_R[:-1]])

    def take_means(self) -> Mapping[tuple[int, int], NDArray[np.float64]]:
        """Return by (agent code, game place) the mean score of each seed, seeds ascending.

        The sums are gone afterwards, so that memory need not hold them and the means.
        """
        self._merge()
        parts, self._parts = self._parts[::-1], []
        pieces: dict[int, list[NDArray[np.float64]]] = {}
        while parts:
            part = parts.pop()
            pair_K = (part.keys >> np.uint64(44)).astype(np.int64)
            starts = _group_starts(pair_K)
            means = np.split(part.sums / part.counts, starts[1:])
            for start, mean_S in zip(starts, means, strict=True):
                pieces.setdefault(int(pair_K[start]), []).append(mean_S)
        num_games = len(all_games())
        return {divmod(pair, num_games): np.concatenate(means) for pair, means in pieces.items()}
