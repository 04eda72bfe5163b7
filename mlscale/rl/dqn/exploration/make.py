"""The exploration strategy of each agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.rl.dqn.exploration.dynamics import make_dynamics
from mlscale.rl.dqn.exploration.epsilon import Uniform
from mlscale.rl.dqn.exploration.mbe import ModelBased
from mlscale.rl.dqn.exploration.rnd import Distilled

if TYPE_CHECKING:
    import numpy as np

    from mlscale.rl.dqn.config import AgentConfig
    from mlscale.rl.dqn.exploration.base import Explorer


def make_explorer(
    agent: str, num_actions: int, num_values: int, config: AgentConfig, rng: np.random.Generator
) -> Explorer:
    """Return the strategy of dqn, dqn_mbe or dqn_rnd.

    Args:
        agent: The agent's name.
        num_actions: Actions.
        num_values: Values of an observation.
        config: The settings of all strategies.
        rng: All that the strategy draws comes from it.
    """
    if agent == "dqn_mbe":
        dynamics = make_dynamics(num_values, num_actions, config.mbe, rng)
        return ModelBased(num_actions, num_values, dynamics, config.mbe, rng)
    if agent == "dqn_rnd":
        return Distilled(num_actions, num_values, config.rnd, rng)
    return Uniform(num_actions, rng)
