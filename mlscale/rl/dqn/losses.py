"""Losses of temporal-difference errors, summed by weight, and their gradients.

Shape letters: B transitions of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

Loss: TypeAlias = "Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]"
"""From errors (B,), predicted minus target, and weights (B,), 1 / B each for a mean, to the loss
and its gradient (B,) by the errors."""


def mse(error_B: Tensor, weight_B: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of the squared errors, and its gradient.

    Args:
        error_B: (B,) predicted action values minus what they ought to have been.
        weight_B: (B,) weights.
    """
    weighted_B = weight_B * error_B
    return weighted_B.dot(error_B), 2 * weighted_B


def huber(error_B: Tensor, weight_B: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weighted sum of e²/2 where |e| <= 1 and |e| - 1/2 beyond, and its gradient.

    The gradient is the error clipped to [-1, 1], times its weight; clipping the error before
    squaring it, as some code does, has no gradient beyond 1.

    Args:
        error_B: (B,) predicted action values minus what they ought to have been.
        weight_B: (B,) weights.

    Source: Huber 1964; Mnih et al. 2015, methods.
    """
    clipped_B = error_B.clamp(-1.0, 1.0)
    # Within [-1, 1] both are e: e * (e - e/2) = e²/2. Beyond, clipped is ±1: |e| - 1/2.
    gradient_B = weight_B * clipped_B
    return gradient_B.dot(error_B.sub(clipped_B, alpha=0.5)), gradient_B


LOSSES: dict[str, Loss] = {"mse": mse, "huber": huber}
