"""A trained value network as a player of episodes.

Letters: N lanes, F stacked frames, H height, W width, A actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.agents.network_agent import NetworkAgent
from mlscale.rl.atari.protocols import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.atari.agents.base import Task

EVALUATION_EPSILON = 0.01
"""Share of random actions: without any, a deterministic policy can wait for ever (for FIRE)."""

BLOCK_STEPS = 1024  # drawing a block at a time costs a hundredth of drawing step by step


class ValueAgent:
    """Takes the action of the highest value, now and then a random one.

    The random ones come from the episode's own seed, so that an episode is the same whichever
    lane plays it.

    Args:
        network: Maps (N, 4, 84, 84) uint8 frames to (N, A) values, on the task's device.
        trained_ids: The ALE action behind each of the A values, as in training.
        task: What to play.
        epsilon: Share of random actions.

    Raises:
        UserError: The task offers other actions than training did.
    """

    def __init__(
        self,
        network: Callable[[Tensor], Tensor],
        trained_ids: Sequence[int],
        task: Task,
        *,
        epsilon: float = EVALUATION_EPSILON,
    ) -> None:
        check_action_set(trained_ids, task)
        self._greedy = NetworkAgent(network, trained_ids, task)
        self._num_actions = task.num_actions
        self._epsilon = epsilon

    def reset(self, num_lanes: int) -> None:
        """Get ready for `num_lanes` lanes."""
        self._generators = [np.random.default_rng(0) for _ in range(num_lanes)]
        self._blocks_NT = np.zeros((num_lanes, BLOCK_STEPS))
        self._used_N = np.full(num_lanes, BLOCK_STEPS)
        self._lanes_N = np.arange(num_lanes)

    def begin(self, lane: int, seed: int) -> None:
        """Start the lane's stream of random numbers for a new episode."""
        self._generators[lane] = np.random.default_rng(seed)
        self._used_N[lane] = BLOCK_STEPS

    def act(self, observations_NFHW: NDArray[np.uint8]) -> NDArray[np.integer[Any]]:
        """Return (N,) action indices."""
        greedy_N = self._greedy.act(observations_NFHW)
        for lane in np.flatnonzero(self._used_N == BLOCK_STEPS):
            self._blocks_NT[lane] = self._generators[lane].random(BLOCK_STEPS)
            self._used_N[lane] = 0
        drawn_N = self._blocks_NT[self._lanes_N, self._used_N]
        self._used_N += 1
        return explore(greedy_N, drawn_N, self._epsilon, self._num_actions)


def explore(
    greedy_N: NDArray[np.integer[Any]],
    drawn_N: NDArray[np.float64],
    epsilon: float,
    num_actions: int,
) -> NDArray[np.integer[Any]]:
    """Return the greedy actions, each replaced by a random one with probability `epsilon`.

    Args:
        greedy_N: (N,) action indices.
        drawn_N: (N,) uniform numbers in [0, 1): below `epsilon` one stands for a random action,
            and where below says for which.
        epsilon: Share of random actions, 0..1.
        num_actions: A.
    """
    if epsilon == 0:
        return greedy_N
    random_N = np.minimum(drawn_N / epsilon * num_actions, num_actions - 1).astype(np.int64)
    return np.where(drawn_N < epsilon, random_N, greedy_N)


def check_action_set(trained_ids: Sequence[int], task: Task) -> None:
    """Refuse a task that offers other actions than those trained with.

    Raises:
        UserError: The sets differ; the hint names the protocols that offer the trained one.
    """
    if set(trained_ids) == set(task.action_ids):
        return
    fitting = [
        name
        for name, protocol in PROTOCOLS.items()
        if set(offered_actions(task.game, protocol)) == set(trained_ids)
    ]
    raise UserError(
        f"the weights for {task.game} were trained with {len(trained_ids)} actions; this protocol "
        f"offers {task.num_actions}",
        f"play with --protocol {' or '.join(fitting)}" if fitting else None,
    )


def make_value_agent(
    weights: Mapping[str, NDArray[np.float32]], kind: str, trained_ids: Sequence[int], task: Task
) -> ValueAgent:
    """Return the player of a trained network.

    Args:
        weights: By name in the network's state.
        kind: The network's name, as `make_network` takes it.
        trained_ids: The ALE action behind each value.
        task: What to play.

    Raises:
        UserError: The weights are not those of such a network, or the task offers other actions.
    """
    import torch

    from mlscale.rl.dqn.atari.networks import make_network

    check_action_set(trained_ids, task)
    head = "duelling" if any(name.startswith("head.value.") for name in weights) else "plain"
    network = make_network(kind, len(trained_ids), head=head)
    try:
        network.load_state_dict({name: torch.from_numpy(weights[name]) for name in weights})
    except RuntimeError:
        raise UserError(
            f"the weights for {task.game} are not those of a {kind!r} network of "
            f"{len(trained_ids)} actions"
        ) from None
    return ValueAgent(network.eval().to(task.device), trained_ids, task)
