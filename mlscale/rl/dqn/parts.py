"""What a training is put together from, and the parts of one with flat observations.

Shape letters: L lanes; A actions; S whatever a state is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mlscale.core.seeding import generator
from mlscale.rl.dqn.experience import FlatExperience
from mlscale.rl.dqn.exploration.make import make_explorer
from mlscale.rl.dqn.lanes import Lanes
from mlscale.rl.dqn.learner import Learner
from mlscale.rl.dqn.networks import Mirror, make_value_network
from mlscale.rl.dqn.replay import Replay
from mlscale.rl.dqn.success import success_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from mlscale.rl.dqn.config import AgentConfig
    from mlscale.rl.dqn.experience import Experience
    from mlscale.rl.dqn.exploration.base import Explorer
    from mlscale.rl.dqn.success import Success

Values: TypeAlias = "Callable[[NDArray[Any]], NDArray[np.float32]]"
"""From states (L, S...) to action values (L, A)."""


class Parts(NamedTuple):
    """What `Trainer` puts to work.

    Attributes:
        experience: Environments and replay memory.
        learner: Q-network, target network, optimizer.
        values: The Q-network for acting.
        explorer: Chooses exploratory actions.
        success: Tells whether an episode succeeded.
    """

    experience: Experience
    learner: Learner
    values: Values
    explorer: Explorer
    success: Success


def flat_parts(config: AgentConfig, agent: str) -> Parts:
    """Return the parts of a training on an environment with flat observations.

    Args:
        config: The settings.
        agent: dqn, dqn_mbe or dqn_rnd.

    Raises:
        UserError: The environment is unknown or of the wrong kind, or the replay too large.
    """
    learn, seed = config.learn, config.seed
    lanes = Lanes(config.env, config.lanes, seed)
    num_values, num_actions = lanes.num_values, lanes.num_actions
    replay = Replay(
        learn.replay_steps,
        config.lanes,
        num_values,
        discount=learn.discount,
        n_step=learn.n_step,
        bootstrap_at_limit=learn.time_limits == "bootstrap",
    )
    rng = generator(seed, "network")
    online, target = (make_value_network(num_values, num_actions, learn, rng) for _ in range(2))
    return Parts(
        experience=FlatExperience(lanes, replay),
        learner=Learner(online, target, learn),
        values=Mirror(online),
        explorer=make_explorer(agent, num_actions, num_values, config, generator(seed, "explore")),
        success=success_of(config.env),
    )
