"""Emulators stepped side by side in training, each a function of its seeds and actions alone.

Seeding an emulator costs about as much as two hundred steps, so only a lane's first episode and
those that begin after `STRETCH_STEPS` further steps are seeded; an episode in between continues
the random draws of the one before. A lane's state is therefore the seed of its present stretch
and the actions since: a checkpoint holds these, and going on plays them again.

Shape letters: L lanes; F = 4 stacked frames; H = W = 84.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.seeding import derive_seed
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.lanes import make_emulator
from mlscale.rl.atari.tally import Tally
from mlscale.rl.dqn.lanes import Ended, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlscale.rl.atari.protocols import Protocol

FRAME_SHAPE = (4, 84, 84)
STRETCH_STEPS = 5_000


class EmulatorLane:
    """One emulator and the episode it is playing.

    Args:
        game: ALE ROM id.
        protocol: The conditions to play under.
        seed: Seed of the lane.

    Attributes:
        stretch: Number of the present stretch, from 0.
        started_at: Step of the lane at which that began.
        steps: Steps taken so far.
    """

    def __init__(self, game: str, protocol: Protocol, seed: int) -> None:
        self._env = make_emulator(game, protocol)
        self._tally = Tally(game, protocol)
        self._seed = seed
        self._action_1 = np.zeros(1, np.int64)
        self.stretch, self.started_at, self.steps = 0, 0, 0

    def begin(self, stretch: int, step: int) -> NDArray[np.uint8]:
        """Seed the emulator for a stretch that begins at `step`; return the first observation."""
        self.stretch, self.started_at, self.steps = stretch, step, step
        seed_1 = np.array([derive_seed(self._seed, stretch)])
        return self._first(self._env.reset(seed=seed_1)[0])

    def next_episode(self) -> NDArray[np.uint8]:
        """Begin the episode after one that ended; return its first observation (F, H, W)."""
        if self.steps - self.started_at >= STRETCH_STEPS:
            return self.begin(self.stretch + 1, self.steps)
        return self._first(self._env.reset()[0])

    def _first(self, observation_1FHW: NDArray[np.uint8]) -> NDArray[np.uint8]:
        self._tally.begin()
        self._length = 0
        first_FHW: NDArray[np.uint8] = observation_1FHW[0]
        return first_FHW

    def send(self, action: int) -> None:
        """Start one step: the emulator's thread plays it while the caller goes on."""
        self._action_1[0] = action
        self._env.send(self._action_1)

    def receive(self) -> tuple[NDArray[np.uint8], int, bool, bool]:
        """Wait for the step; return observation (F, H, W), points, terminal or not, cut or not."""
        observation_1FHW, reward_1, terminated_1, truncated_1, info = self._env.recv()
        reward = self._tally.take(int(reward_1[0]), int(info["episode_frame_number"][0]))
        self.steps += 1
        self._length += 1
        terminated = bool(terminated_1[0])
        cut = bool(truncated_1[0]) or self._tally.is_stuck
        return observation_1FHW[0], reward, terminated, not terminated and cut

    def ended(self, lane: int, *, terminated: bool) -> Ended:
        """Return what came of the episode that has just ended."""
        return Ended(lane, float(self._tally.score), self._length, terminated)

    def close(self) -> None:
        """Stop the emulator's thread."""
        self._env.close()


class Emulators:
    """L emulators of one game; ended episodes start again at once.

    Rewards are the signs of the points, as learning wants them; returns are in points.

    Args:
        game: ALE ROM id.
        protocol: The conditions to play under.
        num_lanes: L.
        seed: Seed of the run; every lane has its own from it.

    Attributes:
        states_LFHW: (L, 4, 84, 84) the observations that the next actions are chosen for.
        action_ids: The ALE action behind each action index.

    Source: Mnih et al. 2015, methods (signs of rewards).
    """

    def __init__(self, game: str, protocol: Protocol, num_lanes: int, seed: int) -> None:
        self.action_ids = offered_actions(game, protocol)
        self.lanes = [
            EmulatorLane(game, protocol, derive_seed(seed, "env", lane))
            for lane in range(num_lanes)
        ]
        self.states_LFHW = np.zeros((num_lanes, *FRAME_SHAPE), np.uint8)
        self._step = Step(
            s_tm1_LD=np.zeros_like(self.states_LFHW),
            r_t_L=np.zeros(num_lanes, np.float32),
            s_t_LD=np.zeros_like(self.states_LFHW),
            terminated_L=np.zeros(num_lanes, np.bool_),
            truncated_L=np.zeros(num_lanes, np.bool_),
            ended=[],
        )
        for number, lane in enumerate(self.lanes):
            self.states_LFHW[number] = lane.begin(0, 0)

    def step(self, a_L: NDArray[np.int64], plays_L: NDArray[np.bool_] | None = None) -> Step:
        """Take one action in every lane, or in those that play, and return what came of it.

        Args:
            a_L: (L,) action indices.
            plays_L: (L,) which lanes play; all of them when None.
        """
        step, lanes = self._step, self.lanes
        playing = range(len(lanes)) if plays_L is None else np.flatnonzero(plays_L).tolist()
        step.s_tm1_LD[:] = self.states_LFHW
        step.terminated_L[:] = step.truncated_L[:] = False
        step.ended.clear()
        for number in playing:
            lanes[number].send(int(a_L[number]))
        for number in playing:
            state, reward, terminated, truncated = lanes[number].receive()
            step.s_t_LD[number] = state
            step.r_t_L[number] = np.sign(reward)
            step.terminated_L[number], step.truncated_L[number] = terminated, truncated
            if terminated or truncated:
                step.ended.append(lanes[number].ended(number, terminated=terminated))
                state = lanes[number].next_episode()
            self.states_LFHW[number] = state
        return step

    def close(self) -> None:
        """Stop all emulators."""
        for lane in self.lanes:
            lane.close()
