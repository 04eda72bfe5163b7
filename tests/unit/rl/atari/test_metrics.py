"""Oracles: published aggregates, and aggregates computed from the shipped scores by other code."""

from __future__ import annotations

import csv
import functools
import importlib.resources
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

# Percent, SABER clipped into [0, 2], from the shipped scores as they stand. Columns: games for
# HNS, mean HNS, median HNS, mean CHNS, games for HWRNS, mean HWRNS, median HWRNS, mean SABER,
# median SABER, records broken.
TABLE = """
dqn_200m            57  227.74   79.08  65.56 56  15.56  1.34 15.56  1.34  0
rainbow_200m        57  874.03  230.99  84.06 56  27.07  4.65 27.07  4.65  3
impala_deep_200m    57  957.28  191.82  78.35 56  33.51  3.79 28.35  3.79  3
laser_no_sweep_200m 57 1741.43  454.91  81.34 56  44.48  7.83 37.38  7.83  7
laser_shared_200m   57 2046.04  412.40  86.56 56  63.19  8.82 43.36  8.82 10
r2d2_10b            57 4024.93 1922.73  92.59 56 116.44 32.31 65.06 32.31 13
r2d2_bandit         57 5461.66 2357.92  96.93 56 155.72 48.16 77.70 48.16 19
ngu_35b             57 3171.77 1208.11  94.03 56  77.31 21.19 52.08 21.19  8
agent57_100b        57 4766.25 1933.49 100.00 56 126.34 41.66 75.80 41.66 18
muzero_20b          57 4998.51 2041.12  89.92 56 152.95 47.64 73.04 47.64 18
muzero_res2_200m    57 2855.50 1013.99  91.55 56  78.45 25.64 53.76 25.64 11
dreamerv2_200m      55 1123.71  214.65  82.27 55  43.82  4.75 31.62  4.75  3
simple_100k         36   25.85    5.24  22.97 36   4.79  0.13  4.81  0.13  0
go_explore          55 4992.81 1451.55 100.00 55 116.85 50.50 71.75 50.50 15
gdi_h3_200m         56 9791.95 1326.49  94.17 55 158.61 50.63 72.59 50.63 22
gdi_i3_200m         49 8638.68  976.51  92.96 48 127.08 22.42 60.19 22.42 12
"""


@functools.cache
def columns() -> dict[str, dict[str, float]]:
    """Return the shipped scores: column -> game -> points."""
    file = importlib.resources.files("mlscale.rl.atari") / "data" / "scores.csv"
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    return {
        name: {row["game"]: float(row[name]) for row in rows if row[name]}
        for name in rows[0]
        if name not in ("game", "ale_id")
    }


def score_column(
    column: str,
    *,
    record: Mapping[str, float] | None = None,
    clip: metrics.Clip = "upper",
    ties: metrics.Ties = "count",
) -> metrics.AgentMetrics:
    table = columns()
    return metrics.score_agent(
        {game: [score] for game, score in table[column].items()},
        random=table["random"],
        human=table["human_average"],
        record=table["human_world_record"] if record is None else record,
        clip=clip,
        ties=ties,
    )


def percent(result: metrics.AgentMetrics, name: str) -> float:
    return 100 * result.aggregates[name].value


@pytest.mark.parametrize("row", TABLE.strip().splitlines(), ids=lambda row: row.split()[0])
def test_shipped_scores_give_the_known_aggregates(row: str) -> None:
    agent, *expected = row.split()
    result = score_column(agent, clip="both")
    computed = [
        f"{len(result.hns_games)}",
        f"{percent(result, 'hns_mean'):.2f}",
        f"{percent(result, 'hns_median'):.2f}",
        f"{percent(result, 'chns_mean'):.2f}",
        f"{len(result.record_games)}",
        f"{percent(result, 'hwrns_mean'):.2f}",
        f"{percent(result, 'hwrns_median'):.2f}",
        f"{percent(result, 'saber_mean'):.2f}",
        f"{percent(result, 'saber_median'):.2f}",
        f"{result.aggregates['records_broken'].value:.0f}",
    ]
    assert computed == expected


def test_saber_without_the_lower_clip() -> None:
    # No score of SimPLe reaches twice a record, and two lie below random play.
    assert f"{percent(score_column('simple_100k'), 'saber_mean'):.2f}" == "4.79"


@pytest.mark.parametrize(
    ("agent", "clip", "expected"),
    [
        ("muzero_20b", "upper", "71.94"),
        ("muzero_20b", "both", "73.59"),
        ("ngu_35b", "upper", "50.47"),
        ("laser_no_sweep_200m", "upper", "36.77"),
        ("agent57_100b", "upper", "76.26"),
        ("r2d2_10b", "upper", "64.11"),
        ("impala_deep_200m", "upper", "29.45"),
        ("go_explore", "upper", "71.80"),
        ("dreamerv2_200m", "upper", "31.65"),
    ],
)
def test_saber_with_another_record_list(agent: str, clip: metrics.Clip, expected: str) -> None:
    # Two records here are hypothetical: this checks arithmetic, not a fact about the games.
    record = columns()["human_world_record"] | {"surround": 9.6, "double_dunk": 21.0}
    assert f"{percent(score_column(agent, record=record, clip=clip), 'saber_mean'):.2f}" == expected


def test_gdi_h3_breaks_22_records_and_equals_four_of_them() -> None:
    # 22 as published (GDI, arXiv 2106.06232).
    counted = score_column("gdi_h3_200m")
    strict = score_column("gdi_h3_200m", ties="strict")
    assert counted.aggregates["records_broken"].value == 22
    assert strict.aggregates["records_broken"].value == 18
    tied = {
        before.game
        for before, after in zip(counted.games, strict.games, strict=True)
        if before.record_broken and not after.record_broken
    }
    assert tied == {"boxing", "breakout", "chopper_command", "pong"}


def test_dreamerv2_record_means_are_those_published() -> None:
    # DreamerV2, table 1: record mean 0.44, clipped record mean 0.28, gamer median 2.15.
    aggregates = score_column("dreamerv2_200m").aggregates
    assert f"{aggregates['hwrns_mean'].value:.3f}" == "0.438"
    assert f"{aggregates['hwrns_clipped_mean'].value:.3f}" == "0.279"
    assert f"{aggregates['hns_median'].value:.2f}" == "2.15"


def test_surround_has_no_record_and_is_said_to_be_skipped() -> None:
    result = score_column("agent57_100b")
    surround = next(game for game in result.games if game.game == "surround")
    assert result.without_record == ("surround",)
    assert result.without_human == ()
    assert "surround" not in result.record_games
    assert surround.hns is not None
    assert (surround.hwrns, surround.saber, surround.record_broken) == (None, None, None)


def test_a_published_column_has_no_intervals() -> None:
    result = score_column("agent57_100b")
    assert {aggregate.ci95 for aggregate in result.aggregates.values()} == {None}
    assert result.num_resamples == 0


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
    record = columns()["human_world_record"]["video_pinball"]
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
