"""One measure over the seeds of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.stats import bootstrap

if TYPE_CHECKING:
    from collections.abc import Sequence


def over_seeds(
    values: Sequence[float | None], *, resamples: int, seed: int
) -> dict[str, Any] | None:
    """Return values, mean and ci95 (its 95 % interval, None of few seeds) of all seeds.

    Args:
        values: Of each seed.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Returns:
        None if a value is missing, or there is none.
    """
    known_R = [float(value) for value in values if value is not None]
    if not known_R or len(known_R) < len(values):
        return None
    interval = bootstrap(
        [known_R],
        lambda x_BR: x_BR.mean(axis=1, keepdims=True),
        num_resamples=resamples,
        seed=seed,
    )
    ci95 = interval.at(0) if interval else None
    return {"values": known_R, "mean": float(np.mean(known_R)), "ci95": ci95}
