"""Held exploratory actions: their share of the steps, and what ends them."""

import numpy as np
import pytest

from mlscale.rl.dqn.exploration.spells import Spells, start_probability


@pytest.mark.parametrize("num_steps", [1, 4])
def test_nothing_and_everything_can_be_exploratory(num_steps: int) -> None:
    assert start_probability(0.0, num_steps) == 0.0
    assert start_probability(1.0, num_steps) == 1.0


def test_without_holding_a_step_is_exploratory_with_probability_epsilon() -> None:
    assert start_probability(0.3, 1) == pytest.approx(0.3)


@pytest.mark.parametrize(("epsilon", "length"), [(0.1, 8), (0.5, 8), (0.3, 1), (0.9, 3)])
def test_the_share_of_exploratory_steps_is_epsilon(epsilon: float, length: int) -> None:
    spells = Spells(64, length, np.random.default_rng(0))
    num_steps, num_exploratory = 4_000, 0
    for _ in range(num_steps):
        starts_L = spells.starts(epsilon)
        spells.begin(starts_L, np.zeros(int(starts_L.sum()), np.int64))
        num_exploratory += int(spells.held.sum())
        spells.advance(np.zeros(64, np.int64))
    assert num_exploratory / (64 * num_steps) == pytest.approx(epsilon, rel=0.02)


def test_an_action_is_held_to_its_end_or_the_episode_s() -> None:
    spells = Spells(2, 50, np.random.default_rng(1))
    spells.begin(np.array([True, True]), np.array([7, 9]))
    a_L = np.array([0, 0])
    spells.advance(a_L)
    assert a_L.tolist() == [7, 9]
    assert spells.held.tolist() == [True, True]
    assert not spells.starts(1.0).any()
    spells.stop([1])
    a_L = np.array([0, 0])
    spells.advance(a_L)
    assert a_L.tolist() == [7, 0]
    assert spells.starts(1.0).tolist() == [False, True]


def test_saved_spells_go_on() -> None:
    spells, other = (Spells(3, 9, np.random.default_rng(2)) for _ in range(2))
    spells.begin(np.array([True, False, True]), np.array([4, 5]))
    other.load(spells.saved())
    for _ in range(9):
        expected_L, a_L = np.zeros(3, np.int64), np.zeros(3, np.int64)
        spells.advance(expected_L)
        other.advance(a_L)
        assert a_L.tolist() == expected_L.tolist()
