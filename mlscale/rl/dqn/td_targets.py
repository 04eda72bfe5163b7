"""Targets of temporal-difference learning: what an action value ought to have been.

Shape letters: B transitions of a batch; A actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def plain_target(r_t_B: Tensor, discount_t_B: Tensor, q_target_t_BA: Tensor) -> Tensor:
    """Return r + discount * max_a Q_target(s_t, a).

    Args:
        r_t_B: (B,) rewards, or sums of discounted rewards over several steps.
        discount_t_B: (B,) discounts of the bootstrap value, 0 where there is none.
        q_target_t_BA: (B, A) target network's values of the states arrived at.

    Returns:
        (B,) targets in reward units.

    Source: Mnih et al. 2015, algorithm 1.
    """
    return r_t_B + discount_t_B * q_target_t_BA.amax(dim=1)


def double_target(
    r_t_B: Tensor, discount_t_B: Tensor, q_target_t_BA: Tensor, q_online_t_BA: Tensor
) -> Tensor:
    """Return r + discount * Q_target(s_t, argmax_a Q_online(s_t, a)).

    Args:
        r_t_B: As for `plain_target`.
        discount_t_B: As for `plain_target`.
        q_target_t_BA: As for `plain_target`.
        q_online_t_BA: (B, A) online network's values of the same states.

    Returns:
        (B,) targets in reward units.

    Source: van Hasselt et al. 2016, equation 4.
    """
    a_t_B1 = q_online_t_BA.argmax(dim=1, keepdim=True)
    return r_t_B + discount_t_B * q_target_t_BA.gather(1, a_t_B1).squeeze(1)
