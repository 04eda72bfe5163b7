"""The sum tree against a running sum, one place at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.rl.dqn.sum_tree import SumTree


def slow_find(values: list[int], mass: float) -> int:
    upto = 0
    for place, value in enumerate(values):
        upto += value
        if mass < upto:
            return place
    raise AssertionError


@settings(max_examples=40, deadline=None)
@given(num_values=st.sampled_from([1, 63, 64, 65, 500, 4097, 5000]), seed=st.integers(0, 1000))
def test_it_finds_what_a_running_sum_finds(num_values: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, values = SumTree(num_values), np.zeros(num_values, int)
    for _ in range(5):
        places = rng.integers(0, num_values, 20)
        # Equal places take equal values; whole numbers make every sum exact.
        new = rng.integers(0, 4, num_values)[places]
        new[0] = values[places[0]] = 1
        new[places == places[0]] = 1
        values[places] = new
        tree.set(places, new.astype(float))
        assert tree.total == values.sum()
        assert tree.values.tolist() == values.tolist()
        masses = np.concatenate([rng.random(10) * values.sum(), [0, values.sum() - 1]])
        found = tree.find(masses)
        assert found.tolist() == [slow_find(values.tolist(), mass) for mass in masses]


@pytest.mark.parametrize("num_values", [40, 5000])
def test_a_zero_is_never_found_whatever_the_rounding(num_values: int) -> None:
    rng = np.random.default_rng(0)
    tree = SumTree(num_values)
    some = np.arange(0, num_values - 7, 3)
    tree.set(some, rng.random(len(some)) ** 8 + 1e-9)
    edges = np.cumsum(tree.values)[some]  # where one place ends and the next begins
    masses = np.concatenate([edges, np.nextafter(edges, 0), [tree.total, tree.total * (1 + 1e-9)]])
    assert np.isin(tree.find(masses), some).all()


def test_sums_depend_on_the_values_alone() -> None:
    rng = np.random.default_rng(0)
    grown, written = SumTree(5000), SumTree(5000)
    for turn in range(100):  # ever smaller: what large values left behind would show
        places = rng.permutation(5000)[:1000]
        grown.set(places, rng.random(1000) * 10.0 ** (9 - turn / 5))
    written.set(np.arange(5000), grown.values)
    assert written.total == grown.total
    masses = rng.random(1000) * grown.total
    assert (written.find(masses) == grown.find(masses)).all()
