"""Epsilon schedules: how the share of exploratory actions falls with the number of actions.

Source: Gou and Liu 2019's code for the multiplicative one; Mnih et al. 2015 for the linear one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlscale.rl.dqn.config import ExploreConfig


def multiplicative(action: int, decay: float, final: float) -> float:
    """Return epsilon after `action` actions: `decay ** action`, at least `final`.

    Args:
        action: Actions taken since epsilon began to fall, from 0.
        decay: Factor per action, in (0, 1].
        final: The floor.
    """
    return max(final, decay**action)


def linear(action: int, num_actions: int, final: float) -> float:
    """Return epsilon on the line from 1 at action 0 to `final` at `num_actions` and after."""
    return final + (1.0 - final) * max(0.0, 1.0 - action / num_actions)


def epsilon_at(config: ExploreConfig, action: int, only_steps: int) -> float:
    """Return the share of exploratory actions at an action, 1 in the exploration-only phase.

    Args:
        config: The schedule.
        action: Actions taken so far, from 0.
        only_steps: Length of the agent's exploration-only phase, in actions.
    """
    if action < only_steps:
        return 1.0
    since = action - only_steps if config.decay_from == "after_only" else action
    if config.schedule == "linear":
        return linear(since, config.linear_steps, config.epsilon_final)
    return multiplicative(since, config.decay, config.epsilon_final)
