"""Aggregates of the shipped scores: published ones, and ones computed by other code."""

from __future__ import annotations

import csv
import functools
import importlib.resources
from typing import TYPE_CHECKING

import pytest

from mlscale.rl.atari import metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

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
