"""The no-op agent: it never touches the joystick. What a score is worth less than this, is luck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlscale.rl.atari.agents.base import Task

NOOP = 0  # the ALE's number for it, first in every action set


class NoopAgent:
    """Answers no-op in every lane."""

    def __init__(self, task: Task) -> None:
        self._noop = task.action_ids.index(NOOP)

    def reset(self, num_lanes: int) -> None:
        """Get ready for `num_lanes` lanes."""
        self._actions_N = np.full(num_lanes, self._noop, dtype=np.int64)

    def act(self, observations_NFHW: NDArray[np.uint8]) -> NDArray[np.integer[Any]]:
        """Return (N,) no-ops."""
        return self._actions_N
