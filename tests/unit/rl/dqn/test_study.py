"""Curves, comparison, exploration alone and evaluation."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.core.runs import Run, open_run
from mlscale.rl.dqn import evaluate, explore, study
from mlscale.rl.dqn.comparison import compare
from mlscale.rl.dqn.config import (
    EvalConfig,
    ExplorationConfig,
    ExploreConfig,
    LearnConfig,
    MbeConfig,
    StudyConfig,
    TrainConfig,
)
from mlscale.rl.dqn.curves import learning_curve, make_grid
from mlscale.rl.dqn.explore import Cells
from mlscale.rl.dqn.train import run as train

LEARN = LearnConfig(hidden=(8,), batch=16, start_steps=16)
EXPLORE = ExploreConfig(only_steps=100)


def test_a_learning_curve_by_hand() -> None:
    records = [{"step": 10 * n, "return": float(n)} for n in range(1, 31)]
    got = learning_curve(records, np.array([5.0, 10.0, 25.0, 300.0]))
    assert got.tolist() == [1.0, 1.0, 1.5, np.mean(range(11, 31))]
    assert make_grid(600)[[0, -1]].tolist() == [10, 600]
    with pytest.raises(ValueError, match="at least one"):
        learning_curve([], make_grid(10))


def records_of(agent: str, seed: int, firsts: int | None) -> list[dict]:
    episodes: list[dict] = []
    for number in range(5):
        success = firsts is not None and number >= firsts
        value = -150.0 if success else -200.0
        numbers = {"episode": number, "step": 200 * (number + 1), "return": value, "length": 200}
        episodes.append({"agent": agent, "seed": seed, **numbers, "success": success})
    return [*episodes, {"agent": agent, "seed": seed, "trained_steps": 1000}]


def comparison(seeds: int = 3) -> dict:
    config = StudyConfig(agents=("dqn", "dqn_mbe"), seeds=seeds, steps=1000, resamples=500)
    run = Run("rl.study", config)
    for seed in range(seeds):
        run.records += records_of("dqn", seed, None if seed == 0 else 4)
        run.records += records_of("dqn_mbe", seed, 1)
    return dataclasses.asdict(compare(config, run, status="complete"))


def test_a_comparison_by_hand() -> None:
    result = comparison()
    dqn, mbe = result["tables"]["agents"]
    assert dqn["first_success_step"]["values"] == [1000, 1000, 1000]
    assert (dqn["never_succeeded"], mbe["never_succeeded"]) == (1, 0)
    assert mbe["first_success_step"]["mean"] == 400
    assert mbe["successes"]["values"] == [4, 4, 4]
    assert mbe["final_return"]["mean"] == -160
    assert dqn["final_return"]["values"] == [-200, -190, -190]
    assert result["metrics"]["dqn_mbe/final_return"]["ci95"] == (-160, -160)
    (first,) = [
        row for row in result["tables"]["differences"] if row["measure"] == "first_success_step"
    ]
    assert (first["difference"], first["ci95"]) == (600, (600, 600))


def test_the_report_sets_thousands_apart(tmp_path: Path) -> None:
    config = StudyConfig(agents=("dqn",), seeds=1, steps=1000)
    run = Run("rl.study", config, tmp_path)
    run.records += records_of("dqn", 0, 1)
    compare(config, run, status="complete")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<dt>steps</dt><dd>1,000</dd>" in page


def test_two_seeds_have_no_interval() -> None:
    assert comparison(seeds=2)["metrics"]["dqn/auc"]["ci95"] is None


def test_a_training_that_is_not_complete_is_left_out() -> None:
    config = StudyConfig(agents=("dqn",), seeds=2, steps=1000)
    run = Run("rl.study", config)
    run.records += [*records_of("dqn", 0, 1), *records_of("dqn", 1, 1)[:-1]]
    result = compare(config, run, status="failed")
    assert result.tables["agents"][0]["seeds"] == [0]


def test_a_job_cut_off_adds_only_the_episodes_that_are_missing() -> None:
    config = StudyConfig(steps=850, seeds=1, learn=LEARN, explore=EXPLORE, agents=("dqn",))
    (job,) = study.make_jobs(config)

    def records(finished: list) -> list:
        return [e for e in study.train_job(job.payload, finished) if isinstance(e, dict)]

    whole = records([])
    assert [record.get("episode") for record in whole] == [0, 1, 2, 3, None]
    assert records(whole[:2]) == whole[2:]


@pytest.mark.slow
def test_a_study_runs_its_jobs_and_does_not_run_them_again(tmp_path: Path) -> None:
    config = StudyConfig(
        steps=400, seeds=1, learn=LEARN, explore=EXPLORE, agents=("dqn", "dqn_rnd"), workers=1
    )
    first = study.run(config, open_run("rl.study", config, out=tmp_path / "run"))
    assert (tmp_path / "run" / "report.html").exists()
    assert [row["agent"] for row in first.tables["agents"]] == ["dqn", "dqn_rnd"]
    run = open_run("rl.study", config, out=tmp_path / "again")
    run.records = [*records_of("dqn", 0, 1), *records_of("dqn_rnd", 0, 1)]
    study.run(config, run)
    assert "2 trainings are finished already" in run.notes


def test_a_budget_that_ends_no_episode_is_said() -> None:
    config = StudyConfig(agents=("dqn",), seeds=1, steps=100)
    run = Run("rl.study", config)
    run.records.append({"agent": "dqn", "seed": 0, "trained_steps": 100})
    assert compare(config, run, status="complete").metrics == {}
    assert run.notes == ["dqn/0: no episode ended within 100 steps, so it is left out"]


def test_cells_are_counted_once_within_the_bounds() -> None:
    cells = Cells(np.array([0.0, 0.0]), np.array([40.0, 40.0]))
    for s in ([0.5, 0.5], [0.6, 0.7], [1.5, 0.5], [40.0, 40.0]):
        cells.add(np.array(s, np.float32))
    assert cells.count == 3
    assert Cells(np.array([-np.inf, 0.0]), np.array([np.inf, 1.0])).count is None


def test_the_oracle_reaches_the_goal_where_random_actions_do_not() -> None:
    config = ExplorationConfig(policies=("random", "oracle"), episodes=6, seeds=1)
    random, oracle = explore.run(config, Run("rl.explore", config)).tables["policies"]
    assert random["goals"] == [0]
    assert oracle["goals"][0] >= 4


@pytest.mark.slow
def test_a_learned_model_reaches_the_goal_too() -> None:
    config = ExplorationConfig(policies=("mbe",), episodes=15, seeds=3)
    (mbe,) = explore.run(config, Run("rl.explore", config)).tables["policies"]
    assert min(mbe["goals"]) >= 7


def test_exploration_is_a_function_of_its_seed() -> None:
    config = ExplorationConfig(policies=("mbe",), episodes=1, seeds=2, mbe=MbeConfig(batch=16))
    one, two = (explore.run(config, Run("rl.explore", config)).tables for _ in range(2))
    assert one == two


@pytest.fixture(params=["plain", "duelling"])
def trained(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    learn = dataclasses.replace(LEARN, head=request.param)
    config = TrainConfig(agent="dqn", steps=250, learn=learn, explore=EXPLORE)
    run = open_run("rl.train", config, out=tmp_path / "trained")
    run.finish(train(config, run))
    return tmp_path / "trained"


def test_evaluation_plays_the_episodes_and_repeats_itself(trained: Path) -> None:
    def play(**changes: float) -> tuple:
        config = EvalConfig(run=trained, episodes=3, **changes)
        run = Run("rl.eval", config)
        return evaluate.run(config, run).metrics, run.records

    metrics, records = play(epsilon=0.5)
    assert [record["episode"] for record in records] == [0, 1, 2]
    assert metrics["mean_return"].value == np.mean([record["return"] for record in records])
    assert (metrics, records) == play(epsilon=0.5)


def test_evaluation_refuses_what_is_no_training(trained: Path, tmp_path: Path) -> None:
    config = ExplorationConfig()
    other = open_run("rl.explore", config, out=tmp_path / "other")
    other.finish(evaluate.Result(study="rl.explore"))
    with pytest.raises(UserError, match=r"is a run of rl\.explore, not of rl\.train"):
        evaluate.run(EvalConfig(run=tmp_path / "other"), Run("rl.eval", config))
    for file in (trained / "checkpoints").rglob("*"):
        if file.is_file():
            file.unlink()
    for folder in (trained / "checkpoints").iterdir():
        folder.rmdir()
    with pytest.raises(UserError, match="has no checkpoint yet"):
        evaluate.run(EvalConfig(run=trained), Run("rl.eval", config))
