"""Losses of temporal-difference errors, averaged over the batch.

Shape letters: B transitions of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


def mse(predicted_B: Tensor, target_B: Tensor) -> Tensor:
    """Return the mean of the squared errors.

    Args:
        predicted_B: (B,) action values.
        target_B: (B,) what they ought to have been.
    """
    return (predicted_B - target_B).square().mean()


def huber(predicted_B: Tensor, target_B: Tensor) -> Tensor:
    """Return the mean of e²/2 where |e| <= 1 and |e| - 1/2 beyond.

    It is the loss whose gradient is the error clipped to [-1, 1]; clipping the error before
    squaring it, as some code does, has no gradient beyond 1.

    Args:
        predicted_B: (B,) action values.
        target_B: (B,) what they ought to have been.

    Source: Huber 1964; Mnih et al. 2015, methods.
    """
    error_B = (predicted_B - target_B).abs()
    inner_B = error_B.clamp(max=1.0)
    # Below 1 both are |e|: e * e - e²/2 = e²/2. Beyond, inner is 1: |e| - 1/2.
    return (inner_B * (error_B - 0.5 * inner_B)).mean()


LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"mse": mse, "huber": huber}
