"""The random agent: uniform, and a function of the episode's seed alone."""

import numpy as np
import pytest
from numpy.typing import NDArray

from mlscale.rl.atari.agents.base import EpisodicAgent, Task
from mlscale.rl.atari.agents.random_agent import BLOCK_STEPS, RandomAgent


def make(num_lanes: int, num_actions: int = 18) -> RandomAgent:
    agent = RandomAgent(Task(game="pong", action_ids=tuple(range(num_actions))))
    agent.reset(num_lanes)
    return agent


def play(agent: RandomAgent, num_lanes: int, num_steps: int) -> NDArray[np.int64]:
    frames_NFHW = np.zeros((num_lanes, 4, 84, 84), np.uint8)
    actions = [agent.act(frames_NFHW) for _ in range(num_steps)]
    return np.array(actions, dtype=np.int64).reshape(num_steps, num_lanes)


def stream(seed: int, num_steps: int, num_actions: int = 18) -> NDArray[np.int64]:
    agent = make(1, num_actions)
    agent.begin(0, seed)
    return play(agent, 1, num_steps)[:, 0]


@pytest.mark.parametrize(
    ("num_actions", "limit"),
    # Chi-square of 17, 5 and 2 degrees of freedom, exceeded by chance once in a thousand.
    [(18, 40.79), (6, 20.52), (3, 13.82)],
)
def test_actions_are_equally_likely(num_actions: int, limit: float) -> None:
    counts = np.bincount(stream(7, 20_000, num_actions), minlength=num_actions)
    expected = 20_000 / num_actions
    assert len(counts) == num_actions
    assert ((counts - expected) ** 2 / expected).sum() < limit


def test_an_action_says_nothing_of_the_next() -> None:
    actions = stream(7, 20_000, 3)
    pairs = np.bincount(actions[:-1] * 3 + actions[1:], minlength=9)
    expected = (len(actions) - 1) / 9
    assert ((pairs - expected) ** 2 / expected).sum() < 26.12  # 8 degrees of freedom, 1 in 1000


def test_a_lane_depends_on_its_own_seed_alone() -> None:
    together = make(3)
    for lane, seed in enumerate((5, 6, 7)):
        together.begin(lane, seed)
    actions_TN = play(together, 3, 50)
    for lane, seed in enumerate((5, 6, 7)):
        assert np.array_equal(actions_TN[:, lane], stream(seed, 50))
    assert not np.array_equal(actions_TN[:, 0], actions_TN[:, 1])


@pytest.mark.parametrize("played_before", [0, 1, 700, BLOCK_STEPS, BLOCK_STEPS + 1])
def test_an_episode_does_not_depend_on_those_before_it(played_before: int) -> None:
    agent = make(2)
    agent.begin(0, 1)
    agent.begin(1, 2)
    before_TN = play(agent, 2, played_before)
    agent.begin(1, 9)  # the other lane goes on with its episode
    after_TN = play(agent, 2, 100)
    assert np.array_equal(after_TN[:, 1], stream(9, 100))
    lane_0 = np.concatenate([before_TN, after_TN])[:, 0]
    assert np.array_equal(lane_0, stream(1, played_before + 100))


def test_the_same_seed_plays_the_same_again() -> None:
    agent = make(1)
    agent.begin(0, 4)
    first = play(agent, 1, 30)
    agent.begin(0, 4)
    assert np.array_equal(play(agent, 1, 30), first)


def test_blocks_join_without_a_seam() -> None:
    """A long stream is the generator's own draws, block after block, each once."""
    num_steps = 3 * BLOCK_STEPS + 5
    generator = np.random.default_rng(3)
    expected = [generator.integers(18, size=BLOCK_STEPS) for _ in range(4)]
    actions = stream(3, num_steps)
    assert np.array_equal(actions, np.concatenate(expected)[:num_steps])
    assert not np.array_equal(actions[:BLOCK_STEPS], actions[BLOCK_STEPS : 2 * BLOCK_STEPS])


def test_it_is_told_of_episodes() -> None:
    assert isinstance(make(1), EpisodicAgent)
