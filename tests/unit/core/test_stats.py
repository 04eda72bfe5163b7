"""Oracles: rliable 1.2.0 (arch 7.2.0, scipy 1.17.1, numpy 2.4.6) and hand-computed numbers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mlscale.core import stats

if TYPE_CHECKING:
    from mlscale.core.stats import FloatArray

SMALL_X = np.array([[0.1, 1.5, -0.2, 2.0], [0.4, 1.1, 0.3, 2.5], [0.4, 0.9, 0.0, 3.5]])
SMALL_Y = np.array(
    [[0.2, 1.5, 0.1, 1.0], [0.4, 0.7, -0.3, 2.0], [0.3, 0.8, 0.3, 2.5], [0.5, 1.2, 0.0, 0.4]]
)
SMALL_THRESHOLDS = np.array([0.0, 0.4, 1.0, 2.5])
THRESHOLDS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0])
RAGGED = [np.array([0.1, 0.4, 0.4]), np.array([1.5, 1.1, 0.9, 3.0, 2.0]), np.array([-0.2])]


def two_agents() -> tuple[FloatArray, FloatArray]:
    """Return scores (5, 57) and (7, 57) of games on unlike scales, the same on any numpy."""
    scale_G = np.exp(1.2 * np.sin(np.arange(57.0)) - 0.5)
    x_RG = scale_G * (1 + 0.7 * np.sin(12.9898 * np.arange(5 * 57).reshape(5, 57)))
    y_SG = scale_G * (0.85 + 0.7 * np.sin(78.233 * np.arange(7 * 57).reshape(7, 57)))
    return x_RG, y_SG


def four_aggregates(x_BN: FloatArray) -> FloatArray:
    """Return IQM, optimality gap, mean and median of 57 games of 5 runs, (B, 4)."""
    mean_BG = stats.game_means_rows(x_BN, np.full(57, 5))
    columns = (
        stats.iqm_rows(x_BN),
        stats.optimality_gap_rows(x_BN),
        mean_BG.mean(axis=-1),
        np.median(mean_BG, axis=-1),
    )
    return np.stack(columns, axis=-1)


def one_mean(x_BN: FloatArray) -> FloatArray:
    return x_BN.mean(axis=-1, keepdims=True)


def assert_near(intervals: stats.Intervals | None, low: list[float], high: list[float]) -> None:
    """Assert that bounds equal an oracle's within the Monte-Carlo error of both.

    A bootstrap distribution close to normal, of standard deviation s, has its 2.5 % quantile
    estimated from B resamples with a standard error of sqrt(0.025 * 0.975 / B) / 0.0584 * s =
    2.7 s / sqrt(B): for 10,000 resamples 0.027 s, or 0.007 of the width of 3.92 s, and 0.01 for
    the difference of two such estimates. 4 % of the width is four of those, and half of the 8 %
    by which a bound of a 90 % interval would be off.
    """
    assert intervals is not None
    tolerance = 0.04 * (np.array(high) - np.array(low))
    assert (np.abs(intervals.low - low) < tolerance).all()
    assert (np.abs(intervals.high - high) < tolerance).all()


def test_iqm_equals_rliable() -> None:
    x_RG, _ = two_agents()
    assert stats.iqm(SMALL_X) == pytest.approx(0.7666666666666666, rel=1e-12)
    assert stats.iqm(x_RG) == pytest.approx(0.5752614013850434, rel=1e-12)


@pytest.mark.parametrize(
    ("num_scores", "expected"),
    # Squares 0, 1, 4, ...: up to three scores nothing is cut, then one in four from each end.
    [(1, 0.0), (3, 5 / 3), (4, 2.5), (5, 14 / 3), (7, 11.0), (8, 13.5)],
)
def test_iqm_cuts_a_quarter_rounded_down_from_each_end(num_scores: int, expected: float) -> None:
    assert stats.iqm(np.arange(num_scores)[:, None] ** 2.0) == pytest.approx(expected)


def test_iqm_of_unequal_games_counts_every_score_once() -> None:
    # Sorted: -0.2 0.1 | 0.4 0.4 0.9 1.1 1.5 | 2.0 3.0
    assert stats.iqm(RAGGED) == pytest.approx(4.3 / 5)


def test_optimality_gap_equals_rliable() -> None:
    x_RG, _ = two_agents()
    assert stats.optimality_gap(SMALL_X) == pytest.approx(0.425, rel=1e-12)
    assert stats.optimality_gap(x_RG) == pytest.approx(0.43044371339276866, rel=1e-12)
    assert stats.optimality_gap(x_RG, target=0.5) == pytest.approx(0.11943463326518655, rel=1e-12)


def test_probability_of_improvement_equals_rliable() -> None:
    assert stats.probability_of_improvement(SMALL_X, SMALL_Y) == pytest.approx(0.59375, rel=1e-12)
    assert stats.probability_of_improvement(*two_agents()) == pytest.approx(
        0.6015037593984962, rel=1e-12
    )


def test_probability_of_improvement_of_unequal_games_equals_counting_pairs() -> None:
    other = [np.array([0.4, 0.2]), np.array([1.1, 1.1, 1.1]), np.array([0.0, -0.2, -0.5])]
    shares = [
        np.mean([(x > y) + 0.5 * (x == y) for x, y in itertools.product(x_R, y_S)])
        for x_R, y_S in zip(RAGGED, other, strict=True)
    ]
    assert stats.probability_of_improvement(RAGGED, other) == pytest.approx(np.mean(shares))


def test_probability_of_improvement_of_equal_scores_is_a_half() -> None:
    assert stats.probability_of_improvement(SMALL_X, SMALL_X) == 0.5


def test_performance_profile_equals_rliable() -> None:
    x_RG, _ = two_agents()
    np.testing.assert_allclose(
        stats.performance_profile(SMALL_X, SMALL_THRESHOLDS),
        [0.8333333333333334, 0.5, 0.4166666666666667, 0.08333333333333333],
    )
    np.testing.assert_allclose(
        stats.performance_profile(x_RG, THRESHOLDS),
        np.array([285, 216, 150, 84, 35, 0]) / 285,
    )


def test_performance_profile_refuses_unsorted_thresholds() -> None:
    with pytest.raises(ValueError, match="ascending thresholds"):
        stats.performance_profile(SMALL_X, np.array([1.0, 0.0]))


# rliable ignores its `random_state`: its intervals here come from numpy's global seed 1, with
# 50,000 resamples, or 10,000 for the probability of improvement.
def test_intervals_of_aggregates_agree_with_rliable() -> None:
    x_RG, _ = two_agents()
    assert_near(
        stats.bootstrap(x_RG, four_aggregates),
        [0.5273006045986884, 0.4090340978798019, 0.7848853976740027, 0.4762751314114844],
        [0.6258405005086051, 0.4522104933520755, 0.8985060582261835, 0.6739773297290693],
    )


def test_intervals_of_a_performance_profile_agree_with_rliable() -> None:
    x_RG, _ = two_agents()
    intervals = stats.bootstrap_performance_profile(x_RG, THRESHOLDS)
    low = [1.0, 0.719298, 0.491228, 0.259649, 0.094737, 0.0]
    high = [1.0, 0.796491, 0.561404, 0.329825, 0.150877, 0.0]
    # A share moves in steps of 1/285, so a quantile may settle one step beside the oracle's.
    assert intervals is not None
    np.testing.assert_allclose(intervals.low, low, atol=1.01 / 285)
    np.testing.assert_allclose(intervals.high, high, atol=1.01 / 285)


def test_interval_of_probability_of_improvement_agrees_with_rliable() -> None:
    intervals = stats.bootstrap_probability_of_improvement(*two_agents())
    assert_near(intervals, [0.5573934837092731], [0.6451253132832079])


def test_interval_of_one_game_equals_the_exact_bootstrap_distribution() -> None:
    # The 27 equally likely resamples of 0, 0, 1 have means 0, 1/3, 2/3, 1 with probabilities
    # 8, 12, 6 and 1 in 27, so the 97.5 % quantile is 1 (0.963 lies below it), the 2.5 % one 0.
    intervals = stats.bootstrap(np.array([[0.0], [0.0], [1.0]]), one_mean)
    assert intervals is not None
    assert intervals.at(0) == (0.0, 1.0)


def test_games_of_unequal_runs_are_resampled_within_themselves() -> None:
    games = [np.full(3, 1.0), np.full(5, 20.0), np.full(4, 300.0)]
    intervals = stats.bootstrap(games, lambda x_BN: x_BN, num_resamples=50)
    assert intervals is not None
    np.testing.assert_array_equal(intervals.low, np.concatenate(games))
    np.testing.assert_array_equal(intervals.high, np.concatenate(games))


def test_every_run_is_drawn_equally_often() -> None:
    num_draws = 40_000
    chunks = stats._resample(
        np.arange(8.0), np.array([3, 5]), num_draws, seed=0, chunk_draws=1 << 17
    )
    x_BN = np.concatenate(list(chunks))
    for column, runs in ((0, range(3)), (5, range(3, 8))):
        shares = [float(np.mean(x_BN[:, column] == run)) for run in runs]
        # Five standard errors of a share of 1/3 or 1/5.
        np.testing.assert_allclose(shares, 1 / len(runs), atol=5 * np.sqrt(0.23 / num_draws))


@pytest.mark.parametrize("chunk_draws", [1, 2000, 1 << 30])
def test_chunks_change_nothing(chunk_draws: int) -> None:
    x_RG, _ = two_agents()
    default = stats.bootstrap(x_RG, four_aggregates, num_resamples=1500, seed=3)
    chunked = stats.bootstrap(
        x_RG, four_aggregates, num_resamples=1500, seed=3, chunk_draws=chunk_draws
    )
    assert default is not None
    assert chunked is not None
    np.testing.assert_array_equal(default.low, chunked.low)
    np.testing.assert_array_equal(default.high, chunked.high)


def test_equal_seeds_give_equal_intervals_and_others_do_not() -> None:
    x_RG, _ = two_agents()
    first, again, other = (
        stats.bootstrap(x_RG, four_aggregates, num_resamples=500, seed=seed) for seed in (1, 1, 2)
    )
    assert first is not None
    assert again is not None
    assert other is not None
    assert first.at(0) == again.at(0)
    assert first.at(0) != other.at(0)


def test_no_interval_below_three_runs_in_any_game() -> None:
    two_runs = [np.arange(3.0), np.arange(2.0)]
    three_runs = [np.arange(3.0), np.arange(3.0)]
    assert stats.bootstrap(two_runs, one_mean) is None
    assert stats.bootstrap_performance_profile(two_runs, THRESHOLDS) is None
    assert stats.bootstrap_probability_of_improvement(three_runs, two_runs) is None
    assert stats.bootstrap(three_runs, one_mean, num_resamples=10) is not None


def test_many_scores_get_fewer_resamples_and_say_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.zeros((100, 2))
    monkeypatch.setattr(stats, "MAX_DRAWS", 200 * 250)
    fewer = stats.bootstrap(scores, one_mean)
    monkeypatch.setattr(stats, "MAX_DRAWS", 200)
    fewest = stats.bootstrap(scores, one_mean)
    assert fewer is not None
    assert fewer.num_resamples == 250
    assert fewest is not None
    assert fewest.num_resamples == stats.MIN_RESAMPLES


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros(3), r"shape \(runs, games\), got \(3,\)"),
        (np.zeros((3, 0)), "at least one game"),
        (np.zeros((0, 3)), r"\(runs,\), got \(0,\)"),
        ([np.zeros(3), np.zeros((2, 2))], r"\(runs,\), got \(2, 2\)"),
        ([[0.0, np.nan]], "finite"),
    ],
)
def test_unusable_scores_are_refused(scores: stats.Scores, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stats.iqm(scores)


def test_agents_of_different_games_are_refused() -> None:
    with pytest.raises(ValueError, match="same games on both sides, got 4 and 57"):
        stats.probability_of_improvement(SMALL_X, two_agents()[0])


def test_zero_resamples_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one resample, got 0"):
        stats.bootstrap(SMALL_X, one_mean, num_resamples=0)


matrices = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    # Few distinct values, so that ties are common.
    elements=st.integers(-3, 3).map(float),
)


@given(matrices, st.randoms(use_true_random=False))
def test_order_of_runs_and_games_does_not_matter(scores_RG: FloatArray, random: object) -> None:
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    shuffled_RG = rng.permuted(scores_RG, axis=0)[:, rng.permutation(scores_RG.shape[1])]
    assert stats.iqm(shuffled_RG) == pytest.approx(stats.iqm(scores_RG))
    assert stats.optimality_gap(shuffled_RG) == pytest.approx(stats.optimality_gap(scores_RG))


@given(matrices, st.data())
def test_probabilities_of_improvement_both_ways_sum_to_one(
    x_RG: FloatArray, data: st.DataObject
) -> None:
    num_runs = data.draw(st.integers(1, 6))
    elements = st.integers(-3, 3).map(float)
    y_SG = data.draw(hnp.arrays(np.float64, (num_runs, x_RG.shape[1]), elements=elements))
    forth = stats.probability_of_improvement(x_RG, y_SG)
    assert forth + stats.probability_of_improvement(y_SG, x_RG) == pytest.approx(1)
    # Raising every score of x can only help.
    assert stats.probability_of_improvement(x_RG + 1, y_SG) >= forth - 1e-12


@given(matrices)
def test_performance_profile_equals_counting_and_falls(scores_RG: FloatArray) -> None:
    thresholds_T = np.arange(-4.0, 5.0)
    profile_T = stats.performance_profile(scores_RG, thresholds_T)
    np.testing.assert_allclose(profile_T, [(scores_RG > t).mean() for t in thresholds_T])
    assert (np.diff(profile_T) <= 0).all()


@given(matrices, st.floats(0, 5))
def test_better_scores_raise_the_iqm_and_lower_the_gap(scores_RG: FloatArray, by: float) -> None:
    better_RG = scores_RG.copy()
    better_RG[0] += by
    assert stats.iqm(better_RG) >= stats.iqm(scores_RG) - 1e-12
    assert stats.optimality_gap(better_RG) <= stats.optimality_gap(scores_RG) + 1e-12
