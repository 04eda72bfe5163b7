"""Episodes on the real emulator: protocols, pitfalls, and independence of one another."""

import dataclasses

import numpy as np
import pytest

from mlscale.core.errors import WorkFailed
from mlscale.rl.atari.agents.actions import action_sets, offered_actions
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.noop_agent import NoopAgent
from mlscale.rl.atari.agents.random_agent import RandomAgent
from mlscale.rl.atari.lanes import Episode, EpisodeStart, make_emulator
from mlscale.rl.atari.play import check_actions, play_episodes
from mlscale.rl.atari.protocols import PROTOCOLS, Protocol

SABER = PROTOCOLS["saber"]


def starts(*numbers: int) -> list[EpisodeStart]:
    return [
        EpisodeStart(episode=number, emulator_seed=1_000 + number, agent_seed=2_000 + number)
        for number in numbers
    ]


def play(
    game: str,
    protocol: Protocol,
    episodes: list[EpisodeStart],
    agent=RandomAgent,
    max_lanes: int = 2,
) -> dict[int, Episode]:
    task = Task(game=game, action_ids=offered_actions(game, protocol))
    played = play_episodes(
        game,
        protocol,
        episodes,
        lambda group: agent(task),
        num_actions=task.num_actions,
        max_lanes=max_lanes,
    )
    return {event.episode: event for event in played if isinstance(event, Episode)}


def test_an_episode_depends_on_its_seeds_alone():
    together = play("breakout", SABER, starts(0, 1, 2, 3), max_lanes=3)
    alone = play("breakout", SABER, starts(2), max_lanes=1)
    assert sorted(together) == [0, 1, 2, 3]
    assert together[2] == alone[2]
    assert len({(episode.score, episode.frames) for episode in together.values()}) > 1


def test_breakout_without_a_button_ends_by_the_stuck_limit():
    episode = play("breakout", SABER, starts(0), agent=NoopAgent)[0]
    assert episode == Episode(episode=0, score=0, frames=18_000, end="stuck")


def test_a_reward_restarts_the_stuck_limit():
    limit = dataclasses.replace(SABER, stuck_frames=400)
    episode = play("pong", limit, starts(0), agent=NoopAgent)[0]
    # Pong's opponent scores against a still paddle every few seconds, first within 400 frames.
    assert episode.end == "game over"
    assert episode.score == -21


def test_the_frame_cap_counts_emulator_frames():
    capped = dataclasses.replace(SABER, max_frames=200)
    episode = play("pong", capped, starts(0), agent=NoopAgent)[0]
    assert (episode.frames, episode.end) == (200, "frame cap")


def test_rewards_are_not_clipped():
    emulator = make_emulator("alien", SABER)
    emulator.reset(seed=0)
    generator = np.random.default_rng(0)
    rewards = [int(emulator.step(generator.integers(18, size=1))[1][0]) for _ in range(300)]
    assert max(rewards) >= 10


@pytest.mark.parametrize(("protocol", "num_actions"), [("saber", 18), ("v5", 6), ("nature", 6)])
def test_the_protocol_sets_the_actions(protocol, num_actions):
    assert make_emulator("pong", PROTOCOLS[protocol]).single_action_space.n == num_actions


def test_skiing_has_no_fire_button_and_takes_nine_actions():
    capped = dataclasses.replace(SABER, max_frames=400)
    assert action_sets("skiing").legal == (0, 2, 3, 4, 5, 6, 7, 8, 9)
    assert play("skiing", capped, starts(0))[0].frames == 400


def test_fire_is_not_pressed_at_the_start():
    emulator = make_emulator("breakout", SABER)
    emulator.reset(seed=0)
    frames = [emulator.step(np.zeros(1, dtype=np.int64))[0] for _ in range(50)]
    # The ball appears only after FIRE: with no-ops alone the picture stands still.
    assert np.array_equal(frames[10], frames[-1])


@pytest.mark.parametrize(("protocol", "expected"), [("saber", {0}), ("nature", set(range(30)))])
def test_noop_starts(protocol, expected):
    emulator = make_emulator("pong", PROTOCOLS[protocol])
    counts = {int(emulator.reset(seed=seed)[1]["episode_frame_number"][0]) for seed in range(6)}
    assert counts <= expected
    assert protocol == "saber" or len(counts) > 2


def test_nature_has_no_sticky_actions_and_saber_has():
    def frames(protocol: str) -> list[int]:
        without_noops = dataclasses.replace(PROTOCOLS[protocol], noop_max=0)
        played = play("breakout", without_noops, starts(0, 1, 2), agent=Pattern)
        return [episode.frames for episode in played.values()]

    assert len(set(frames("nature"))) == 1
    assert len(set(frames("saber"))) > 1


class Pattern:
    """Moves in a fixed pattern of game steps."""

    def __init__(self, task: Task) -> None:
        self._num_actions = task.num_actions

    def reset(self, num_lanes: int) -> None:
        self._steps_N = np.zeros(num_lanes, dtype=int)

    def begin(self, lane: int, seed: int) -> None:
        self._steps_N[lane] = 0

    def act(self, observations_NFHW):
        self._steps_N += 1
        return self._steps_N // 7 % self._num_actions


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.array([0, 18]), "returned action 18; legal here: 0 to 17"),
        (np.array([-1, 0]), "returned action -1; legal here: 0 to 17"),
        (np.array([0]), r"actions of shape \(1,\), not \(2,\)"),
        (np.array([[0, 1]]), r"actions of shape \(1, 2\), not \(2,\)"),
        (np.array([0.0, 1.0]), "of type float64, not integers"),
        (None, r"actions of shape \(\), not \(2,\)"),
    ],
)
def test_an_answer_that_is_no_batch_of_actions(answer, message):
    with pytest.raises(WorkFailed, match=message):
        check_actions(answer, num_lanes=2, num_actions=18)


def test_legal_answers_pass():
    assert check_actions([0, 17], num_lanes=2, num_actions=18).tolist() == [0, 17]


class Failing(NoopAgent):
    def act(self, observations_NFHW):
        raise ZeroDivisionError("by zero")


def test_an_agent_that_raises_is_named_as_the_cause():
    with pytest.raises(WorkFailed, match="the agent raised ZeroDivisionError: by zero"):
        play("pong", SABER, starts(0), agent=Failing)


class OutOfRange(NoopAgent):
    def act(self, observations_NFHW):
        return np.full(len(observations_NFHW), 99)


def test_an_action_out_of_range_does_not_hang_the_emulator():
    with pytest.raises(WorkFailed, match="returned action 99"):
        play("pong", SABER, starts(0), agent=OutOfRange)


class Recorder(NoopAgent):
    seen: list = []  # noqa: RUF012 - shared on purpose: groups have an agent each

    def reset(self, num_lanes: int) -> None:
        super().reset(num_lanes)
        self._num_lanes = num_lanes

    def begin(self, lane: int, seed: int) -> None:
        assert 0 <= lane < self._num_lanes
        Recorder.seen.append(seed)

    def act(self, observations_NFHW):
        assert observations_NFHW.shape == (self._num_lanes, 4, 84, 84)
        assert observations_NFHW.dtype == np.uint8
        return super().act(observations_NFHW)


def test_agents_are_told_of_each_episode_and_see_full_batches():
    Recorder.seen.clear()
    capped = dataclasses.replace(SABER, max_frames=40)
    episodes = play("pong", capped, starts(*range(5)), agent=Recorder, max_lanes=3)
    assert sorted(episodes) == [0, 1, 2, 3, 4]
    assert sorted(Recorder.seen) == [2_000, 2_001, 2_002, 2_003, 2_004]


def test_no_episodes_need_no_emulator():
    assert play("pong", SABER, []) == {}
