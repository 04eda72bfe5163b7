"""What a training came to: numbers from the records of its episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LAST = 100
"""Episodes behind a final return."""


def summarise(records: Sequence[Mapping[str, Any]]) -> dict[str, float | int | None]:
    """Return the numbers of a training.

    Args:
        records: One record per episode, in order: step, length, return, success.

    Returns:
        episodes; successes and first_success_step (environment steps up to and including the
        first successful episode), None where success is not defined or never came;
        mean_return over all episodes (the area under the learning curve by episodes);
        final_return, the mean of the last 100 episodes; best_return.
    """
    returns = [float(record["return"]) for record in records]
    known = [record for record in records if record["success"] is not None]
    successes = [record for record in known if record["success"]]
    return {
        "episodes": len(records),
        "successes": len(successes) if known else None,
        "first_success_step": int(successes[0]["step"]) if successes else None,
        "mean_return": float(np.mean(returns)) if returns else None,
        "final_return": float(np.mean(returns[-LAST:])) if returns else None,
        "best_return": max(returns, default=None),
    }


UNITS = {
    "episodes": "episodes",
    "successes": "episodes",
    "first_success_step": "environment steps",
    "mean_return": "return",
    "final_return": "return, last 100 episodes",
    "best_return": "return",
}
