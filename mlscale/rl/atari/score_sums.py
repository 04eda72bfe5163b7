"""Running sums of scores per agent, game and seed, and the search for rows given twice.

Memory grows with the number of (agent, game, seed) triples, plus 8 bytes a row where a table
has episodes. Letters: R rows, K distinct keys.
"""

from __future__ import annotations

import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlscale.rl.atari.games import all_games

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_AGENTS = 10_000
SEED_LIMIT = 2**43  # an (agent, game) pair takes 20 of the 64 bits of a key, a seed the others
EPISODE_LIMIT = 2**53  # whole numbers up to here are exact as float64

_MERGE_AT_ROWS = 2**20


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

    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    sums: NDArray[np.float64] = field(default_factory=lambda: np.empty(0, np.float64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def _merged(parts: list[_Sums]) -> _Sums:
    if len(parts) == 1:
        return parts[0]
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
        self._parts = [_Sums()]
        self._num_pending = 0
        self._row_keys = array.array("Q")
        self._has_episodes = False

    def add(self, batch: Batch) -> None:
        """Add some rows, at least one."""
        ones_R = np.ones(len(batch.scores), np.int64)
        self._parts.append(_summed(batch.triple_keys(), batch.scores, ones_R))
        self._num_pending += len(self._parts[-1].keys)
        # Merging only when as much is pending as was merged keeps the total work n log n.
        if self._num_pending >= max(_MERGE_AT_ROWS, len(self._parts[0].keys)):
            self._merge()
        if batch.episodes is not None:
            self._has_episodes = True
            self._row_keys.frombytes(batch.row_keys().tobytes())

    def _merge(self) -> _Sums:
        self._parts = [_merged(self._parts)]
        self._num_pending = 0
        return self._parts[0]

    def suspects(self) -> NDArray[np.uint64]:
        """Return the row keys that came more than once, in ascending order."""
        if not self._has_episodes:
            sums = self._merge()
            return sums.keys[sums.counts > 1]
        key_R = np.frombuffer(self._row_keys, np.uint64)
        key_R.sort()  # in place: a copy would double the memory
        return np.unique(key_R[1:][key_R[1:] == key_R[:-1]])

    def means(self) -> Mapping[tuple[int, int], NDArray[np.float64]]:
        """Return by (agent code, game place) the mean score of each seed, seeds ascending."""
        sums = self._merge()
        if not len(sums.keys):
            return {}
        pair_K = (sums.keys >> np.uint64(44)).astype(np.int64)
        starts = _group_starts(pair_K)
        parts = np.split(sums.sums / sums.counts, starts[1:])
        num_games = len(all_games())
        return {
            divmod(int(pair_K[start]), num_games): part
            for start, part in zip(starts, parts, strict=True)
        }
