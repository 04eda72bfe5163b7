"""One epoch of one replica, or of all replicas of a simulation.

Shape letters: N replicas; P parameters; K parameter tensors.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from torch import Tensor

    from mlscale.decentral.trainer import Trainer


class Epoch(NamedTuple):
    """What came of an epoch.

    Attributes:
        loss: (1,) or (N,) mean losses of the batches.
        norms: (K,) or (N, K) norms of each tensor before the last mixing.
        seconds: How long it took, evaluation apart.
    """

    loss: Tensor
    norms: Tensor
    seconds: float


def train_epoch(
    trainer: Trainer,
    steps: int,
    take: Callable[[int], tuple[Tensor, Tensor]],
    lr: Callable[[int], float],
) -> Generator[int, None, Epoch]:
    """Take the steps of an epoch, and yield after each how many there were in the training.

    Args:
        trainer: Takes them.
        steps: How many.
        take: The inputs and targets of a step of the epoch.
        lr: The learning rate of a step of the training.

    Returns:
        What came of it.

    Raises:
        Diverged: A loss is NaN or infinite.
    """
    import torch

    began_s = time.monotonic()
    losses: list[Tensor] = []
    for step in range(steps):
        x_B, y_B = take(step)
        measured = trainer.step(x_B, y_B, lr(trainer.step_number), measure=step == steps - 1)
        losses.append(measured.loss)
        yield trainer.step_number
    norms = measured.norms
    assert norms is not None  # noqa: S101 - the last step measures
    return Epoch(torch.stack(losses).mean(dim=0), norms, time.monotonic() - began_s)
