"""Filming an episode changes nothing about it, and the film shows what the agent saw."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mlscale.core.errors import WorkFailed
from mlscale.rl.atari import filmed
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.random_agent import RandomAgent
from mlscale.rl.atari.filmed import Scene, play_filmed
from mlscale.rl.atari.lanes import Episode, Lane
from mlscale.rl.atari.play import play_episodes
from mlscale.rl.atari.protocols import PROTOCOLS, Protocol
from mlscale.rl.atari.stretches import EpisodeStart

BOX = Image.Resampling.BOX
START = EpisodeStart(episode=0, emulator_seed=1_000, agent_seed=2_000)


class Witness(RandomAgent):
    """A random agent that remembers the newest frame of what it saw."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.seen: list[np.ndarray] = []

    def act(self, observations_NFHW: np.ndarray) -> Any:
        assert observations_NFHW.shape == (1, 4, 84, 84)
        self.seen.append(observations_NFHW[0, -1].copy())
        return super().act(observations_NFHW)


def capped(name: str, max_frames: int) -> Protocol:
    return dataclasses.replace(PROTOCOLS[name], max_frames=max_frames)


def task_of(game: str, protocol: Protocol) -> Task:
    return Task(game=game, action_ids=offered_actions(game, protocol))


def film(game: str, protocol: Protocol, agent: Any) -> list[Scene]:
    num_actions = len(offered_actions(game, protocol))
    scenes = play_filmed(game, protocol, START, agent, num_actions)
    return [scene._replace(screen_HWC=scene.screen_HWC.copy()) for scene in scenes]


@pytest.mark.parametrize(
    ("game", "protocol"),
    [
        ("pong", capped("saber", 1_200)),
        ("breakout", capped("nature", 1_200)),  # no-op starts, the game's own actions
        ("boxing", capped("v5", 402)),  # a cap within a step
        ("breakout", dataclasses.replace(PROTOCOLS["saber"], stuck_frames=200)),
    ],
)
def test_a_filmed_episode_is_the_one_that_is_evaluated(game: str, protocol: Protocol) -> None:
    task = task_of(game, protocol)
    played = play_episodes(
        game,
        protocol,
        [[START]],
        lambda group: RandomAgent(task),
        num_actions=task.num_actions,
        max_lanes=1,
    )
    scenes = film(game, protocol, RandomAgent(task))
    *before, last = scenes
    assert [last.episode] == [event for event in played if isinstance(event, Episode)]
    assert all(scene.episode is None for scene in before)
    assert last.episode is not None
    assert (last.score, last.frames) == (last.episode.score, last.episode.frames)
    assert (before[0].score, before[0].frames) == (0, 0)
    assert all(scene.screen_HWC.shape == (210, 160, 3) for scene in scenes)


@pytest.mark.parametrize("game", ["pong", "ms_pacman"])
def test_each_scene_is_what_the_agent_saw(game: str) -> None:
    protocol = capped("saber", 800)
    agent = Witness(task_of(game, protocol))
    scenes = film(game, protocol, agent)
    assert len(agent.seen) == len(scenes) - 1  # the last scene asks for no action
    small = [
        np.asarray(
            Image.fromarray(scene.screen_HWC).convert("L").resize((84, 84), Image.Resampling.BOX)
        )
        for scene in scenes
    ]

    def gap(late: int) -> float:
        """How far, in greys, scenes are from what was seen so many steps before or after."""
        pairs = zip(small[max(late, 0) :], agent.seen[max(-late, 0) :], strict=False)
        return float(np.mean([np.abs(scene.astype(int) - seen).mean() for scene, seen in pairs]))

    assert gap(0) < 5  # the emulator's greys are not quite these
    assert gap(0) < min(gap(late) for late in (-2, -1, 1, 2))


def test_emulators_that_part_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class OtherSeed(Lane):
        def take(self, stretch: Any) -> None:
            (start,) = stretch
            colour = self._env.observation_space.shape[-1] == 3
            seed = start.emulator_seed + colour
            super().take([dataclasses.replace(start, emulator_seed=seed)])

    monkeypatch.setattr(filmed, "Lane", OtherSeed)
    protocol = capped("saber", 4_000)
    with pytest.raises(RuntimeError, match="the emulators have parted: score"):
        film("ms_pacman", protocol, RandomAgent(task_of("ms_pacman", protocol)))


def test_an_agent_that_fails_is_a_failure_as_in_an_evaluation() -> None:
    class Broken(RandomAgent):
        def act(self, observations_NFHW: np.ndarray) -> Any:
            return np.array([99])

    protocol = capped("saber", 100)
    with pytest.raises(WorkFailed, match="the agent returned action 99; legal here: 0 to 17"):
        film("pong", protocol, Broken(task_of("pong", protocol)))
