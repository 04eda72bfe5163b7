"""Exploratory actions held for several steps, so that they lead somewhere.

Shape letters: L lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def start_probability(epsilon: float, num_steps: int) -> float:
    """Return how often a free step must start a spell for a share `epsilon` of steps to be in one.

    Spells of d steps begin at free steps with probability p, so the share of steps inside them is
    p d / (p d + 1 - p), which is solved for p.

    Args:
        epsilon: Share of exploratory steps, in 0..1.
        num_steps: Length of a spell, in steps.
    """
    return epsilon / (num_steps * (1.0 - epsilon) + epsilon)


class Spells:
    """Which lanes are in the middle of an exploratory action, and which.

    Args:
        num_lanes: L.
        num_steps: Length of a spell in steps. With 1 nothing is held.
        rng: Draws who starts.

    Source: Dabney et al. 2021 hold actions for heavy-tailed times; one length for all is ours, so
    that a model of one spell can be fitted.
    """

    def __init__(self, num_lanes: int, num_steps: int, rng: np.random.Generator) -> None:
        self._num_steps, self._rng = num_steps, rng
        self._action_L = np.zeros(num_lanes, np.int64)
        self._left_L = np.zeros(num_lanes, np.int64)

    def starts(self, epsilon: float) -> NDArray[np.bool_]:
        """Return (L,) which lanes start an exploratory action now."""
        probability = start_probability(epsilon, self._num_steps)
        starts_L = self._rng.random(len(self._left_L)) < probability
        return np.asarray(starts_L & (self._left_L == 0))

    @property
    def held(self) -> NDArray[np.bool_]:
        """Which lanes (L,) go on with an action begun before."""
        return self._left_L > 0

    def begin(self, starts_L: NDArray[np.bool_], a_N: NDArray[np.int64]) -> None:
        """Let the lanes that start hold their new actions (N,), one for each of them."""
        self._action_L[starts_L] = a_N
        self._left_L[starts_L] = self._num_steps

    def advance(self, a_L: NDArray[np.int64]) -> None:
        """Put the actions of lanes in a spell into `a_L` and let a step of it pass."""
        in_spell_L = self._left_L > 0
        a_L[in_spell_L] = self._action_L[in_spell_L]
        self._left_L[in_spell_L] -= 1

    def stop(self, lanes: Sequence[int]) -> None:
        """End the spells of lanes whose episode is over."""
        self._left_L[lanes] = 0

    def saved(self) -> dict[str, Any]:
        """Return the spells under way, for a checkpoint."""
        return {"actions": self._action_L.tolist(), "left": self._left_L.tolist()}

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        self._action_L[:], self._left_L[:] = state["actions"], state["left"]
