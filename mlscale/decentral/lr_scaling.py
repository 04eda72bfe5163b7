"""How the learning rate grows with the number of replicas, and how it is warmed up.

Source: the linear rule and its warm-up are of Goyal et al. 2017 (arXiv 1706.02677, sections 2.1
and 2.2); the square root keeps the variance of a step (Krizhevsky 2014, arXiv 1404.5997).
"""

from __future__ import annotations

import math
from typing import Literal

LrRule = Literal["none", "sqrt", "linear"]


def scaled_lr(base_lr: float, num_replicas: int, rule: LrRule) -> float:
    """Return the learning rate for a number of replicas.

    Args:
        base_lr: That of one replica.
        num_replicas: At least 1.
        rule: "none" leaves it, "sqrt" multiplies by the root of the number, "linear" by the number.

    Raises:
        ValueError: There is no such rule, or no replica.
    """
    if num_replicas < 1:
        raise ValueError(f"expected one replica or more, got {num_replicas}")
    if rule == "none":
        return base_lr
    if rule == "sqrt":
        return base_lr * math.sqrt(num_replicas)
    if rule == "linear":
        return base_lr * num_replicas
    raise ValueError(f"no rule {rule!r}")


def warmed_up(epoch: float, warmup_epochs: float, start_lr: float, full_lr: float) -> float:
    """Return the learning rate on the line from `start_lr` at epoch 0 to `full_lr`.

    Args:
        epoch: Epochs trained so far, parts of one included; from 0.
        warmup_epochs: Epochs until `full_lr`; 0 begins with it.
        start_lr: That of epoch 0.
        full_lr: That of `warmup_epochs` and after.
    """
    if epoch >= warmup_epochs:
        return full_lr
    return start_lr + (full_lr - start_lr) * epoch / warmup_epochs


def lr_at(
    epoch: float, *, base_lr: float, num_replicas: int, rule: LrRule, warmup_epochs: float
) -> float:
    """Return the learning rate at a point of the training, scaled and warmed up.

    Args:
        epoch: Epochs trained so far, parts of one included; from 0.
        base_lr: That of one replica, which the warm-up begins with.
        num_replicas: At least 1.
        rule: How the number of replicas counts.
        warmup_epochs: Epochs until the whole of it; Goyal et al. take 5.
    """
    return warmed_up(epoch, warmup_epochs, base_lr, scaled_lr(base_lr, num_replicas, rule))
