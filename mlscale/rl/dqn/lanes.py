"""Environments stepped side by side, each episode a function of its seed and its actions alone.

So the state of an episode is its seed and the actions so far: a checkpoint holds these, and
going on replays them. That works for any environment whose reset is seeded, whatever is inside.

Shape letters: L lanes; D observation values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mlscale.core.errors import WorkFailed
from mlscale.core.seeding import derive_seed
from mlscale.rl.dqn.environments import make_environment

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Step(NamedTuple):
    """What one step of all lanes gave; the arrays are overwritten by the next.

    Attributes:
        s_tm1_LD: (L, D...) states before.
        r_t_L: (L,) rewards.
        s_t_LD: (L, D...) states arrived at; of an ended episode its last.
        terminated_L: (L,) whether the episode reached a terminal state.
        truncated_L: (L,) whether a time limit cut it off.
        ended: Episodes that ended with this step.
    """

    s_tm1_LD: NDArray[Any]
    r_t_L: NDArray[np.float32]
    s_t_LD: NDArray[Any]
    terminated_L: NDArray[np.bool_]
    truncated_L: NDArray[np.bool_]
    ended: list[Ended]


class Ended(NamedTuple):
    """An episode that is over."""

    lane: int
    episode_return: float
    length: int
    terminated: bool


class Lanes:
    """L environments of one id; ended episodes start again at once.

    Args:
        env_id: A gymnasium id.
        num_lanes: L.
        seed: Seed of the run; every episode of every lane has its own from it.

    Attributes:
        s_LD: (L, D) the states that the next actions are chosen for.
        num_actions: Actions of the environment.
        num_values: D.
        bounds: (D,) smallest and (D,) largest observation values.
    """

    def __init__(self, env_id: str, num_lanes: int, seed: int) -> None:
        self._envs = [make_environment(env_id) for _ in range(num_lanes)]
        space: Any = self._envs[0].action_space
        self.num_actions, self._first_action = int(space.n), int(space.start)
        observations: Any = self._envs[0].observation_space
        self.num_values = int(observations.shape[0])
        self.bounds = np.asarray(observations.low), np.asarray(observations.high)
        self.s_LD = np.zeros((num_lanes, self.num_values), np.float32)
        self._step = Step(
            s_tm1_LD=np.zeros_like(self.s_LD),
            r_t_L=np.zeros(num_lanes, np.float32),
            s_t_LD=np.zeros_like(self.s_LD),
            terminated_L=np.zeros(num_lanes, np.bool_),
            truncated_L=np.zeros(num_lanes, np.bool_),
            ended=[],
        )
        self._seed = seed
        self._episodes = [0] * num_lanes  # started in each lane before the present one
        self._actions: list[list[int]] = [[] for _ in self._envs]  # of the present episodes
        self._returns = [0.0] * num_lanes
        for lane in range(num_lanes):
            self._begin(lane)

    def step(self, a_L: NDArray[np.int64]) -> Step:
        """Take one action in every lane, (L,) counted from 0, and return what came of it."""
        step = self._step
        step.s_tm1_LD[:] = self.s_LD
        step.ended.clear()
        for lane, action in enumerate(a_L.tolist()):
            state, reward, terminated, truncated, _ = self._envs[lane].step(
                action + self._first_action
            )
            step.s_t_LD[lane] = state
            step.r_t_L[lane] = reward
            step.terminated_L[lane] = terminated
            step.truncated_L[lane] = truncated
            self._actions[lane].append(action)
            self._returns[lane] += float(reward)
            if terminated or truncated:
                length = len(self._actions[lane])
                step.ended.append(Ended(lane, self._returns[lane], length, bool(terminated)))
                self._episodes[lane] += 1
                self._begin(lane)
            else:
                self.s_LD[lane] = state
        return step

    def _begin(self, lane: int) -> None:
        """Start the lane's next episode."""
        seed = derive_seed(self._seed, "env", lane, self._episodes[lane])
        self.s_LD[lane] = self._envs[lane].reset(seed=seed)[0]
        self._actions[lane].clear()
        self._returns[lane] = 0.0

    def saved(self) -> dict[str, Any]:
        """Return how to get to the present states again, for a checkpoint."""
        return {
            "episodes": list(self._episodes),
            "actions": [list(actions) for actions in self._actions],
            "states": self.s_LD.tolist(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Replay the present episodes from what `saved` gave.

        Raises:
            WorkFailed: An environment did not come to the same state again.
        """
        self._episodes = list(state["episodes"])
        for lane, actions in enumerate(state["actions"]):
            self._begin(lane)
            for action in actions:
                observed, reward, *_ = self._envs[lane].step(action + self._first_action)
                self.s_LD[lane] = observed
                self._returns[lane] += float(reward)
            self._actions[lane] = list(actions)
        if self.s_LD.tolist() != state["states"]:
            raise WorkFailed(
                "the environment did not come to the checkpoint's state again",
                "it draws on more than its seed: start again in another directory",
            )

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()
