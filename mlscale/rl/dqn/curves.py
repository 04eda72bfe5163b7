"""Learning curves against environment steps, and the area under them.

Shape letters: K points of a grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

WINDOW = 20
NUM_POINTS = 60


def make_grid(steps: int) -> NDArray[np.float64]:
    """Return the steps (K,) at which curves are taken, the last one being `steps`."""
    return np.linspace(0, steps, NUM_POINTS + 1)[1:]


def learning_curve(
    records: Sequence[Mapping[str, Any]], grid_K: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean return of the last 20 episodes that ended by each point of a grid.

    Args:
        records: One record per episode, in order: step, return.
        grid_K: (K,) environment steps, ascending.

    Returns:
        (K,) mean returns; before the first end of an episode, that episode's return.

    Raises:
        ValueError: No episode has ended.
    """
    if not records:
        raise ValueError("expected at least one finished episode, got none")
    steps_N = np.array([record["step"] for record in records])
    sums_N = np.concatenate([[0.0], np.cumsum([float(record["return"]) for record in records])])
    last_K = np.searchsorted(steps_N, grid_K, side="right").clip(1)
    first_K = (last_K - WINDOW).clip(0)
    return np.asarray((sums_N[last_K] - sums_N[first_K]) / (last_K - first_K))
