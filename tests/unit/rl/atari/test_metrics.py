"""Formulas and intervals by hand; `test_metrics_published.py` has the published aggregates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core import stats
from mlscale.core.errors import UserError
from mlscale.rl.atari import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Two games by hand: random 0 and 10, human 10 and 20, record 100 and 30.
RANDOM = {"pong": 0.0, "boxing": 10.0}
HUMAN = {"pong": 10.0, "boxing": 20.0}
RECORD = {"pong": 100.0, "boxing": 30.0}


def score_by_hand(
    scores: Mapping[str, list[float]], clip: metrics.Clip = "upper"
) -> metrics.AgentMetrics:
    return metrics.score_agent(scores, random=RANDOM, human=HUMAN, record=RECORD, clip=clip)


def test_every_value_by_hand() -> None:
    result = score_by_hand({"pong": [20.0, 30.0], "boxing": [0.0, 4.0]}, clip="both")
    pong, boxing = result.games
    assert pong == metrics.GameMetrics("pong", 2, 25.0, 2.5, 1.0, 0.25, 0.25, record_broken=False)
    assert boxing == metrics.GameMetrics(
        "boxing", 2, 2.0, -0.8, 0.0, -0.4, 0.0, record_broken=False
    )
    # Runs: HNS 2, 3, -1, -0.6 and HWRNS 0.2, 0.3, -0.5, -0.3.
    expected = {
        "hns_mean": 0.85,
        "hns_median": 0.85,
        "hns_iqm": (2 - 0.6) / 2,
        "hns_gap": 1 - (1 + 1 - 1 - 0.6) / 4,
        "chns_mean": 0.5,
        "chns_median": 0.5,
        "chns_iqm": 0.5,
        "chns_gap": 0.5,
        "hwrns_mean": -0.075,
        "hwrns_median": -0.075,
        "hwrns_iqm": -0.05,
        "hwrns_gap": 1.075,
        "saber_mean": 0.125,
        "saber_median": 0.125,
        "saber_iqm": 0.1,
        "saber_gap": 0.875,
        "hwrns_clipped_mean": -0.075,
        "records_broken": 0.0,
    }
    assert {name: a.value for name, a in result.aggregates.items()} == pytest.approx(expected)


def test_means_average_the_runs_before_clipping() -> None:
    # HWRNS 0 and 4: their mean of 2 is at SABER's cap, while the capped runs would average 1.
    result = score_by_hand({"pong": [0.0, 400.0]})
    assert result.aggregates["saber_mean"].value == 2
    assert result.aggregates["saber_iqm"].value == 1
    assert result.aggregates["hwrns_clipped_mean"].value == 1
    assert result.aggregates["hwrns_gap"].value == 0.5


@pytest.mark.parametrize(
    ("score", "clip", "expected"),
    [(-0.5, "upper", -0.5), (-0.5, "both", 0.0), (1.5, "both", 1.5), (2.5, "upper", 2.0)],
)
def test_saber_clips(score: float, clip: metrics.Clip, expected: float) -> None:
    assert metrics.saber(np.array([score]), clip)[0] == expected


@pytest.mark.parametrize(
    ("score", "counted", "strict"),
    [(9.5, False, False), (9.6, True, False), (9.7, True, True)],
)
def test_records_and_ties(score: float, counted: bool, strict: bool) -> None:
    args = (np.array([score]), np.array([-10.0]), np.array([9.6]))
    assert metrics.records_broken(*args, "count")[0] == counted
    assert metrics.records_broken(*args, "strict")[0] == strict


@pytest.mark.parametrize(("score", "broken"), [(29.0, True), (30.0, True), (31.0, False)])
def test_a_record_below_random_play_is_broken_from_below(score: float, broken: bool) -> None:
    assert metrics.records_broken(np.array([score]), np.array([90.0]), np.array([30.0])) == broken


def test_a_mean_of_runs_that_all_equal_the_record_is_a_tie() -> None:
    # The three runs add up to 0.30000000000000004.
    args = ({"pong": [0.1, 0.1, 0.1]},)
    references = {"random": {"pong": 0.0}, "human": {}, "record": {"pong": 0.1}}
    counted = metrics.score_agent(*args, **references)
    strict = metrics.score_agent(*args, **references, ties="strict")
    assert counted.aggregates["records_broken"].value == 1
    assert strict.aggregates["records_broken"].value == 0
    assert strict.games[0].record_broken is False


def test_one_point_beyond_the_largest_record_is_no_tie() -> None:
    record = 89_218_328.0  # Video Pinball
    args = (np.array([record + 1 / 100]), np.array([0.0]), np.array([record]))
    assert metrics.records_broken(*args, "strict")[0]


def test_learning_efficiency_is_a_ratio_per_frame() -> None:
    assert metrics.learning_efficiency(96.0, 200_000_000) == pytest.approx(4.8e-7)
    with pytest.raises(UserError, match="training frames must be positive, got 0"):
        metrics.learning_efficiency(1.0, 0)


def test_game_time_counts_sixty_frames_a_second() -> None:
    assert metrics.game_days(108_000) == pytest.approx(0.5 / 24)  # the usual cap of 30 minutes
    assert metrics.game_days(200e6) == pytest.approx(38.58, abs=0.005)


def test_intervals_are_those_of_the_normalised_scores() -> None:
    pong, boxing = [20.0, 30.0, 80.0, 10.0], [0.0, 4.0, 25.0]
    result = score_by_hand({"pong": pong, "boxing": boxing})
    hwrns = [np.array(pong) / 100, (np.array(boxing) - 10) / 20]

    def two(x_BN: NDArray[np.float64]) -> NDArray[np.float64]:
        mean_B = (x_BN[:, :4].mean(axis=-1) + x_BN[:, 4:].mean(axis=-1)) / 2
        return np.stack([stats.iqm_rows(x_BN), mean_B], axis=-1)

    intervals = stats.bootstrap(hwrns, two)
    assert intervals is not None
    assert result.num_resamples == stats.NUM_RESAMPLES
    assert result.aggregates["hwrns_iqm"].ci95 == pytest.approx(intervals.at(0))
    assert result.aggregates["hwrns_mean"].ci95 == pytest.approx(intervals.at(1))


def test_no_intervals_when_one_counted_game_has_two_runs() -> None:
    three, two = [1.0, 2.0, 3.0], [1.0, 2.0]
    assert score_by_hand({"pong": three, "boxing": two}).aggregates["hns_mean"].ci95 is None
    assert score_by_hand({"pong": three, "boxing": three}).aggregates["hns_mean"].ci95 is not None
    # A game that counts for nothing does not matter either.
    assert score_by_hand({"pong": three, "other": two}).aggregates["hns_mean"].ci95 is not None


def test_missing_references_leave_a_game_out_of_what_needs_them() -> None:
    result = metrics.score_agent(
        {"pong": [50.0], "boxing": [15.0], "skiing": [1.0]},
        random=RANDOM,
        human={"pong": math.nan, "boxing": 20.0},
        record={"pong": 100.0, "skiing": 5.0},
    )
    assert result.hns_games == ("boxing",)
    assert result.record_games == ("pong",)
    assert result.without_human == ("pong", "skiing")
    assert result.without_record == ("boxing", "skiing")
    assert result.aggregates["hns_mean"].value == 0.5
    assert result.aggregates["hwrns_iqm"].value == 0.5


def test_an_aggregate_without_games_is_absent() -> None:
    result = metrics.score_agent({"pong": [5.0]}, random=RANDOM, human=HUMAN, record={})
    assert set(result.aggregates) == {
        f"{family}_{kind}"
        for family in ("hns", "chns")
        for kind in ("mean", "median", "iqm", "gap")
    }


@pytest.mark.parametrize(
    ("scores", "record", "message"),
    [
        ({"pong": []}, RECORD, "pong: expected a list of one or more finite scores"),
        ({"pong": [1.0, math.nan]}, RECORD, "pong: expected a list of one or more finite scores"),
        ({"pong": [1.0]}, {"pong": 0.0}, "pong: the world record equals the random score"),
        ({"skiing": [1.0]}, RECORD, "no game has a random score and a human average or"),
        ({}, RECORD, "no game has a random score and a human average or"),
    ],
)
def test_unusable_input_is_refused(
    scores: dict[str, list[float]], record: dict[str, float], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        metrics.score_agent(scores, random=RANDOM, human=HUMAN, record=record)


points = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(points, points, points, st.floats(0.5, 100), points)
def test_normalised_scores_do_not_depend_on_the_unit(
    score: float, low: float, high: float, scale: float, shift: float
) -> None:
    triple = np.array([score, low, high])
    if abs(high - low) > 1:
        plain = metrics.normalise(*triple[:, None])
        moved = metrics.normalise(*(scale * triple + shift)[:, None])
        np.testing.assert_allclose(moved, plain, rtol=1e-6, atol=1e-6)


@given(st.floats(-5, 5), st.floats(0, 5), st.sampled_from(["upper", "both"]))
def test_a_better_score_never_lowers_saber(score: float, by: float, clip: metrics.Clip) -> None:
    worse, better = metrics.saber(np.array([score, score + by]), clip)
    assert worse <= better <= 2


def test_a_game_that_counts_for_nothing_takes_no_intervals_away() -> None:
    runs = {"pong": [20.0, 30.0, 40.0], "surround": [1.0]}
    human = {**HUMAN, "surround": 6.5}
    random = {**RANDOM, "surround": -10.0}
    result = metrics.score_agent(runs, random=random, human=human, record=RECORD)
    assert result.aggregates["hns_mean"].ci95 is None  # Surround has one run, and counts here
    low, high = result.aggregates["hwrns_mean"].ci95 or (math.nan, math.nan)
    assert 0.2 <= low < 0.3 < high <= 0.4
    pong, surround = result.games
    assert pong.score_ci95 is not None
    assert pong.hwrns_ci95 == tuple(end / 100 for end in pong.score_ci95)
    assert pong.hns_ci95 == tuple(end / 10 for end in pong.score_ci95)
    assert surround.score_ci95 is None
