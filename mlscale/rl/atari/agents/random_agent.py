"""The random agent: every action equally likely, from the episode's own seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlscale.rl.atari.agents.base import Task

BLOCK_STEPS = 1024  # drawing a block at a time costs a hundredth of drawing step by step


class RandomAgent:
    """Draws each lane's actions from that lane's episode seed."""

    def __init__(self, task: Task) -> None:
        self._num_actions = task.num_actions

    def reset(self, num_lanes: int) -> None:
        """Get ready for `num_lanes` lanes."""
        self._generators = [np.random.default_rng(0) for _ in range(num_lanes)]
        self._blocks_NT = np.zeros((num_lanes, BLOCK_STEPS), dtype=np.int64)
        self._used_N = np.full(num_lanes, BLOCK_STEPS)
        self._lanes_N = np.arange(num_lanes)

    def begin(self, lane: int, seed: int) -> None:
        """Start the lane's stream of actions for a new episode."""
        self._generators[lane] = np.random.default_rng(seed)
        self._used_N[lane] = BLOCK_STEPS

    def act(self, observations_NFHW: NDArray[np.uint8]) -> NDArray[np.integer[Any]]:
        """Return (N,) random action indices."""
        for lane in np.flatnonzero(self._used_N == BLOCK_STEPS):
            generator = self._generators[lane]
            self._blocks_NT[lane] = generator.integers(self._num_actions, size=BLOCK_STEPS)
            self._used_N[lane] = 0
        actions_N: NDArray[np.int64] = self._blocks_NT[self._lanes_N, self._used_N]
        self._used_N += 1
        return actions_N
