"""How episodes are cut into stretches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.rl.atari.stretches import EpisodeStart, cut_into_stretches


def starts(numbers) -> list[EpisodeStart]:
    return [EpisodeStart(episode=n, emulator_seed=n, agent_seed=n) for n in numbers]


def cuts(numbers, num_episodes: int) -> list[list[int]]:
    return [[s.episode for s in part] for part in cut_into_stretches(starts(numbers), num_episodes)]


@pytest.mark.parametrize(
    ("num_episodes", "lengths"),
    [
        (1, [1]),
        (5, [1] * 5),
        (31, [1] * 31),
        (32, [2] * 16),
        (100, [6] * 16 + [4]),
        (1_000, [8] * 125),
    ],
)
def test_lengths_by_hand(num_episodes, lengths):
    assert [len(part) for part in cuts(range(num_episodes), num_episodes)] == lengths


@given(st.integers(1, 400), st.sets(st.integers(0, 399)))
def test_what_is_left_is_cut_where_the_whole_is(num_episodes, left):
    numbers = sorted(number for number in left if number < num_episodes)
    found = cuts(numbers, num_episodes)
    assert [number for part in found for number in part] == numbers
    whole = {n: part[0] for part in cuts(range(num_episodes), num_episodes) for n in part}
    assert all(len({whole[n] for n in part}) == 1 for part in found)
    assert len(found) == len({whole[n] for n in numbers})
