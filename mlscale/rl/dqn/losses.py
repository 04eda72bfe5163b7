"""Losses of temporal-difference errors, averaged over the batch, and their gradients.

Shape letters: B transitions of a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

Loss: TypeAlias = "Callable[[Tensor], tuple[Tensor, Tensor]]"
"""From errors (B,), predicted minus target, to their mean loss and its gradient (B,) by them."""


def mse(error_B: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of the squared errors, and its gradient.

    Args:
        error_B: (B,) predicted action values minus what they ought to have been.
    """
    num = len(error_B)
    return error_B.dot(error_B) / num, error_B * (2 / num)


def huber(error_B: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean of e²/2 where |e| <= 1 and |e| - 1/2 beyond, and its gradient.

    The gradient is the error clipped to [-1, 1]; clipping the error before squaring it, as some
    code does, has no gradient beyond 1.

    Args:
        error_B: (B,) predicted action values minus what they ought to have been.

    Source: Huber 1964; Mnih et al. 2015, methods.
    """
    num = len(error_B)
    clipped_B = error_B.clamp(-1.0, 1.0)
    # Within [-1, 1] both are e: e * (e - e/2) = e²/2. Beyond, clipped is ±1: |e| - 1/2.
    loss = clipped_B.dot(error_B.sub(clipped_B, alpha=0.5)) / num
    return loss, clipped_B / num


LOSSES: dict[str, Loss] = {"mse": mse, "huber": huber}
