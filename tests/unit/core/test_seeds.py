"""A measure over seeds: its mean, its interval, and what is missing."""

import pytest

from mlscale.core.seeds import over_seeds


def test_the_mean_lies_in_an_interval_within_the_values() -> None:
    found = over_seeds([1.0, 2.0, 3.0, 6.0], resamples=2_000, seed=0)
    assert found is not None
    assert found["values"] == [1.0, 2.0, 3.0, 6.0]
    assert found["mean"] == 3.0
    low, high = found["ci95"]
    assert 1.0 <= low < 2.0
    assert 4.0 < high <= 6.0
    assert over_seeds([1.0, 2.0, 3.0, 6.0], resamples=2_000, seed=0) == found


def test_equal_values_have_an_interval_of_no_width() -> None:
    found = over_seeds([2.5] * 5, resamples=100, seed=0)
    assert found is not None
    assert found["ci95"] == pytest.approx((2.5, 2.5))


@pytest.mark.parametrize("values", [[], [None], [1.0, None, 2.0]])
def test_without_all_values_there_is_nothing(values: list[float | None]) -> None:
    assert over_seeds(values, resamples=100, seed=0) is None


def test_two_seeds_have_a_mean_and_no_interval() -> None:
    assert over_seeds([1.0, 3.0], resamples=100, seed=0) == {
        "values": [1.0, 3.0],
        "mean": 2.0,
        "ci95": None,
    }
