"""From raw scores to the result's tables, by hand."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.core.results import Metric, clean
from mlscale.rl.atari.config import ScoreConfig
from mlscale.rl.atari.records import Reference, shipped_reference
from mlscale.rl.atari.scoring import (
    AgentRuns,
    conventions,
    find_reference,
    headline_metrics,
    keep_games,
    notes_on,
    score_agents,
)

CONFIG = ScoreConfig(file=Path("s.csv"), resamples=200)
# Pong has no record here; random play is worth 0, the human 10, the record 100.
REFERENCE = Reference(
    name="mine",
    random={"alien": 0.0, "breakout": 0.0, "pong": 0.0},
    human={"alien": 10.0, "breakout": 10.0, "pong": 10.0},
    record={"alien": 100.0, "breakout": 100.0},
    source="made up",
)


def runs(agent: str = "a", frames: int | None = None, **scores: list[float]) -> AgentRuns:
    arrays = {game: np.array(values, float) for game, values in scores.items()}
    return AgentRuns(agent=agent, scores=arrays, frames=frames, origin="test")


def tables(*agents: AgentRuns, config: ScoreConfig = CONFIG) -> dict:
    return score_agents(agents, config, REFERENCE)


def test_one_agent_by_hand() -> None:
    (agent,) = tables(runs(alien=[20], breakout=[300], pong=[5], frames=200_000_000))["agents"]
    values = {name: aggregate["value"] for name, aggregate in agent["aggregates"].items()}
    assert values == pytest.approx(
        {
            "hns_mean": (2 + 30 + 0.5) / 3,
            "hns_median": 2,
            "hns_iqm": (2 + 30 + 0.5) / 3,  # a quarter of three is no whole score to cut
            "hns_gap": 0.5 / 3,
            "chns_mean": 2.5 / 3,
            "chns_median": 1,
            "chns_iqm": 2.5 / 3,
            "chns_gap": 0.5 / 3,
            "hwrns_mean": 1.6,
            "hwrns_median": 1.6,
            "hwrns_iqm": 1.6,
            "hwrns_gap": 0.4,
            "saber_mean": 1.1,
            "saber_median": 1.1,
            "saber_iqm": 1.1,
            "saber_gap": 0.4,
            "hwrns_clipped_mean": 0.6,
            "records_broken": 1,
        }
    )
    assert agent["record_games"] == ["alien", "breakout"]
    assert agent["hns_games"] == ["alien", "breakout", "pong"]
    assert agent["without_record"] == ["pong"]
    assert agent["learning_efficiency"] == pytest.approx(
        {
            "hns_mean": 32.5 / 3 / 2e8,
            "hns_median": 1e-8,
            "hwrns_mean": 0.8e-8,
            "hwrns_median": 0.8e-8,
            "saber_mean": 0.55e-8,
        }
    )
    assert agent["game_days"] == pytest.approx(38.58, abs=0.01)
    alien, _, pong = agent["games"]
    assert alien == {
        "game": "alien", "name": "Alien", "score": 20, "seeds": 1, "random": 0, "human": 10,
        "record": 100, "hns": 2, "chns": 1, "hwrns": 0.2, "saber": 0.2, "record_broken": False,
        "score_ci95": None, "hns_ci95": None, "hwrns_ci95": None,
    }  # fmt: skip
    assert [pong[key] for key in ("record", "hwrns", "saber", "record_broken")] == [None] * 4


def test_a_games_own_interval_is_that_of_its_score_normalised() -> None:
    (agent,) = tables(runs(alien=[20, 50, 80], pong=[5, 5, 5], breakout=[1, 2]))["agents"]
    alien, pong, breakout = agent["games"]
    low, high = alien["score_ci95"]
    assert 20 <= low < 50 < high <= 80
    assert alien["hns_ci95"] == pytest.approx([low / 10, high / 10])
    assert alien["hwrns_ci95"] == pytest.approx([low / 100, high / 100])
    assert list(pong["score_ci95"]) == [5, 5]
    assert pong["hwrns_ci95"] is None  # no record
    assert breakout["score_ci95"] is None  # two seeds


def test_without_training_frames_there_is_no_efficiency() -> None:
    for frames in (None, 0):
        (agent,) = tables(runs(alien=[20], frames=frames))["agents"]
        assert agent["learning_efficiency"] is None
        assert agent["game_days"] is None


def test_clip_and_ties_are_the_configurations() -> None:
    scores = runs(alien=[-50], breakout=[100])

    def value(name: str, **changes: str) -> float:
        config = dataclasses.replace(CONFIG, **changes)
        (agent,) = tables(scores, config=config)["agents"]
        return agent["aggregates"][name]["value"]

    assert value("saber_mean") == pytest.approx(0.25)
    assert value("saber_mean", saber_clip="both") == pytest.approx(0.5)
    assert value("records_broken") == 1
    assert value("records_broken", ties="strict") == 0


def test_an_agent_without_scores() -> None:
    with pytest.raises(UserError, match=r"^agent 'a' has no scores$"):
        tables(runs())


def test_profiles_by_hand() -> None:
    # HWRNS of the runs: 0.2, 0.6, 1.0; pong has no record and does not count.
    document = tables(runs(alien=[20, 60, 100], pong=[7, 7, 7]))["profiles"]
    (curve,) = document["curves"]
    shares = dict(zip(document["thresholds"], curve["share"], strict=True))
    assert document["metric"] == "hwrns"
    assert shares[min(shares)] == 1
    assert {round(share * 3) for t, share in shares.items() if 0.2 < t < 0.6} == {2}
    assert {round(share * 3) for t, share in shares.items() if 0.6001 < t < 0.99} == {1}
    assert {share for t, share in shares.items() if t >= 1} == {0}
    assert np.all(np.array(curve["low"]) <= curve["share"])
    assert np.all(np.array(curve["high"]) >= curve["share"])


def test_an_agent_without_records_has_no_profile_and_one_seed_no_interval() -> None:
    document = tables(runs("a", pong=[1]), runs("b", alien=[1]))["profiles"]
    (curve,) = document["curves"]
    assert (curve["agent"], curve["low"], curve["high"]) == ("b", None, None)


def test_improvement_by_hand() -> None:
    # Alien: 4 beats 1 and 2, 3 beats 1 and 2, 1 ties with 1: (2 + 2 + 0.5) / 6. Pong: never.
    x = runs("x", alien=[4, 3, 1], pong=[0, 0, 0], breakout=[9, 9, 9])
    y = runs("y", alien=[1, 2], pong=[1, 1])
    first, second = tables(x, y)["improvement"]
    assert (first["x"], first["y"], first["num_games"]) == ("x", "y", 2)
    assert first["probability"] == pytest.approx((4.5 / 6 + 0) / 2)
    assert (second["x"], second["y"], second["num_games"]) == ("y", "x", 2)
    assert second["probability"] == pytest.approx(1 - first["probability"])
    assert first["ci95"] is second["ci95"] is None  # y has two seeds


def test_improvement_and_its_mirror_image() -> None:
    generator = np.random.default_rng(0)
    x, y, z = (
        runs(name, alien=list(generator.normal(shift, 1, 9)), pong=list(generator.normal(0, 1, 9)))
        for name, shift in (("x", 0.0), ("y", 0.5), ("z", 1.0))
    )
    rows = tables(x, y, z)["improvement"]
    pairs = [(row["x"], row["y"]) for row in rows]
    assert pairs == [("x", "y"), ("x", "z"), ("y", "x"), ("y", "z"), ("z", "x"), ("z", "y")]
    by_pair = dict(zip(pairs, rows, strict=True))
    for (a, b), row in by_pair.items():
        low, high = row["ci95"]
        assert low < row["probability"] < high
        mirror = by_pair[b, a]
        assert mirror["probability"] == pytest.approx(1 - row["probability"])
        assert mirror["ci95"] == pytest.approx((1 - high, 1 - low))


def test_agents_without_a_common_game() -> None:
    rows = tables(runs("x", alien=[1]), runs("y", pong=[1]))["improvement"]
    assert rows == [
        {"x": "x", "y": "y", "num_games": 0, "probability": None, "ci95": None},
        {"x": "y", "y": "x", "num_games": 0, "probability": None, "ci95": None},
    ]


def test_tables_are_plain_data() -> None:
    document = tables(runs("x", alien=[1, 2, 3], pong=[1, 1, 1]), runs("y", alien=[2, 3, 4]))
    read = json.loads(json.dumps(document, allow_nan=False))
    assert read == clean(document)


def test_seeds_of_the_bootstrap_change_the_intervals_only() -> None:
    scores = runs(alien=[1, 5, 9, 30], breakout=[7, 8, 90, 91])

    def aggregates(seed: int) -> dict:
        config = dataclasses.replace(CONFIG, seed=seed)
        return tables(scores, config=config)["agents"][0]["aggregates"]

    assert aggregates(1) == aggregates(1)
    assert aggregates(1) != aggregates(2)
    for name, aggregate in aggregates(1).items():
        assert aggregate["value"] == aggregates(2)[name]["value"]


def test_metrics_of_one_agent_and_of_several() -> None:
    one = headline_metrics(tables(runs(alien=[20, 20, 20], pong=[5, 5, 5])))
    assert one["hwrns_mean"] == Metric(0.2, "record-normalised", 1, (0.2, 0.2))
    assert one["hns_mean"] == Metric(1.25, "human-normalised", 2, (1.25, 1.25))
    assert one["chns_mean"] == Metric(0.75, "human-normalised, clipped to 0..1", 2, (0.75, 0.75))
    assert one["saber_mean"].unit == "record-normalised, clipped at 2"
    assert one["records_broken"] == Metric(0.0, "games", 1, (0.0, 0.0))
    two = headline_metrics(tables(runs("x", alien=[20]), runs("y", alien=[40])))
    assert two["x/hwrns_mean"] == Metric(0.2, "record-normalised", 1, None)
    assert two["y/hwrns_mean"].value == 0.4
    assert len(two) == 2 * len(one)


def test_notes_say_what_is_missing_once() -> None:
    a = runs("a", alien=[1, 2, 3], pong=[1, 1, 1])
    b = dataclasses.replace(runs("b", alien=[1], pong=[1]), caveats=("measured by hand",))
    *notes, caveats = notes_on(tables(a, b), REFERENCE)
    assert notes == [
        "no record in mine for Pong: left out of record metrics",
        "no intervals for b: they need at least 3 seeds of every game",
    ]
    assert caveats.startswith("caveats on b: ")
    assert notes_on(tables(runs(alien=[1, 2, 3])), REFERENCE) == []


def test_unequal_sets_of_games_are_said() -> None:
    text = (
        "the agents have scores of different games, so their means are of unequal sets; "
        "--games common keeps those that all have"
    )
    assert text in notes_on(
        tables(runs("a", alien=[1]), runs("b", alien=[1], breakout=[1])), REFERENCE
    )
    assert text not in notes_on(tables(runs("a", alien=[1]), runs("b", alien=[1])), REFERENCE)


def test_the_unusual_random_score_of_video_pinball_is_said_of_fresh_scores_only() -> None:
    for origin, said in (("played here", True), ("published: x", False), ("s.csv", False)):
        agent = dataclasses.replace(runs(video_pinball=[1, 2, 3]), origin=origin)
        reference = shipped_reference()
        notes = notes_on(score_agents([agent], CONFIG, reference), reference)
        assert any(note.startswith("Video Pinball's random score is 0") for note in notes) == said


def test_fewer_resamples_than_asked_for_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlscale.core.stats.MAX_DRAWS", 450)
    assert notes_on(tables(runs(alien=[1, 2, 3])), REFERENCE) == [
        "fewer bootstrap resamples than asked for, over so many runs: a (150)"
    ]


def test_every_number_names_its_conventions() -> None:
    config = dataclasses.replace(CONFIG, saber_clip="both", ties="strict")
    assert conventions(config, REFERENCE) == {
        "records": "mine", "references": "made up", "saber_clip": "both", "ties": "strict",
    }  # fmt: skip


def test_a_shipped_list_and_one_of_the_users_own(tmp_path: Path) -> None:
    assert find_reference("saber-2019") == shipped_reference()
    (tmp_path / "mine.csv").write_text("game,record\npong,5\n")
    own = find_reference(str(tmp_path / "mine.csv"))
    assert own.record == {"pong": 5.0}
    assert own.random == shipped_reference().random


def test_a_file_without_an_ending_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("game,record\npong,5\n")
    assert find_reference("mine").record == {"pong": 5.0}


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "saber2019",
            "unknown record list 'saber2019'",
            "did you mean 'saber-2019'? record lists: saber-2019, or a FILE with game,record",
        ),
        ("xyzzy", "unknown record list 'xyzzy'", "record lists: saber-2019, or a FILE with"),
        ("nosuch.csv", "nosuch.csv: no such file", None),
        (".", ".: is a folder", "name the table inside it"),
    ],
)
def test_a_list_that_is_not_there(name: str, message: str, hint: str | None) -> None:
    with pytest.raises(UserError) as caught:
        find_reference(name)
    assert caught.value.message == message
    assert caught.value.hint == hint or str(caught.value.hint).startswith(str(hint))


def test_games_can_be_chosen_or_those_in_common() -> None:
    a, b = runs("a", alien=[1], pong=[2]), runs("b", pong=[3], breakout=[4])
    assert [set(agent.scores) for agent in keep_games([a, b], "common")] == [{"pong"}, {"pong"}]
    assert [set(agent.scores) for agent in keep_games([a], "Alien,breakout")] == [{"alien"}]
    assert keep_games([a, b], "") == [a, b]
    with pytest.raises(UserError, match="'b' has scores of none of the games asked for"):
        keep_games([a, b], "alien")
    with pytest.raises(UserError, match="unknown game 'pongg'"):
        keep_games([a], "pongg")
