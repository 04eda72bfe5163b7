"""Training as a whole: seeds, resuming, failure, and what it refuses."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import gymnasium  # noqa: TID253 - every test here needs it
import numpy as np
import pytest

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint
from mlscale.core.config import from_dict
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.metrics_log import read_records
from mlscale.core.runs import Run, open_run
from mlscale.rl.dqn.config import ExploreConfig, LearnConfig, MbeConfig, TrainConfig
from mlscale.rl.dqn.environments import make_environment
from mlscale.rl.dqn.lanes import Lanes
from mlscale.rl.dqn.parts import flat_parts
from mlscale.rl.dqn.presets import TRAIN_PRESETS
from mlscale.rl.dqn.success import success_of
from mlscale.rl.dqn.summary import summarise
from mlscale.rl.dqn.train import run as train
from mlscale.rl.dqn.trainer import Trainer

AGENTS = ("dqn", "dqn_mbe", "dqn_rnd")


def config(agent: str = "dqn", steps: int = 300, **changes: Any) -> TrainConfig:
    settings: dict[str, Any] = {
        "agent": agent,
        "steps": steps,
        "checkpoint_every_steps": 100,
        "learn": LearnConfig(hidden=(8,), batch=16, start_steps=16, replay_steps=150),
        "explore": ExploreConfig(only_steps=60, decay=0.99),
        "mbe": MbeConfig(hidden=(8,), batch=16, window=20),
    }
    return TrainConfig(**{**settings, **changes})


def go(configuration: TrainConfig, path: Path) -> Run:
    run = open_run("rl.train", configuration, out=path)
    result = train(configuration, run)
    run.finish(result)
    return run


def final(path: Path) -> tuple[list[dict], dict, dict]:
    folder = path / "checkpoints"
    tensors, state = load_checkpoint(folder, checkpoint_steps(folder)[-1])
    weights = {name: tensor.tolist() for name, tensor in tensors.items()}
    return read_records(path / "metrics.jsonl"), weights, state


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("lanes", "n_step", "head", "replay"),
    [
        (1, 1, "plain", "uniform"),
        (3, 2, "duelling", "uniform"),
        (1, 1, "duelling", "prioritised"),
        (3, 2, "plain", "prioritised"),
    ],
)
def test_half_and_the_rest_is_the_whole(
    agent: str, lanes: int, n_step: int, head: Any, replay: Any, tmp_path: Path
) -> None:
    part, whole = tmp_path / "part", tmp_path / "whole"
    learn = LearnConfig(
        hidden=(8,), batch=16, replay_steps=90, n_step=n_step, head=head, replay=replay
    )
    changes: dict[str, Any] = {"lanes": lanes, "learn": learn}
    go(config(agent, 120, **changes), part)
    _, tensors, state = final(part)
    assert state["experience"]["replay"]["added"] > len(tensors["replay/r_t"])  # it has wrapped
    go(config(agent, 240, **changes), part)
    go(config(agent, 240, **changes), whole)
    assert final(part) == final(whole)
    if replay == "prioritised":
        assert len(set(final(whole)[1]["priorities"])) > 16


def test_a_killed_run_goes_on_from_its_checkpoint_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    monkeypatch.setattr("mlscale.rl.dqn.loop.REPORT_EVERY_STEPS", 10)
    run = open_run("rl.train", config("dqn_mbe", 420), out=killed)
    run.reporter = Bomb(at=250)
    with pytest.raises(KeyboardInterrupt):
        train(config("dqn_mbe", 420), run)
    run._close_log()
    assert checkpoint_steps(killed / "checkpoints") == [100, 200]
    go(config("dqn_mbe", 420), killed)
    go(config("dqn_mbe", 420), whole)
    assert final(killed) == final(whole)


def test_a_smaller_budget_is_refused_and_the_run_left_as_it_was(tmp_path: Path) -> None:
    def contents() -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    go(config(steps=300), tmp_path)
    before = contents()
    run = open_run("rl.train", config(steps=250), out=tmp_path)
    with pytest.raises(UserError, match="has been trained for 300 steps already") as caught:
        train(config(steps=250), run)
    run.withdraw()
    assert contents() == before
    assert "--out" in str(caught.value.hint)


def test_a_budget_is_rounded_up_to_a_step_of_every_lane(tmp_path: Path) -> None:
    go(config(steps=100, lanes=3), tmp_path)
    assert checkpoint_steps(tmp_path / "checkpoints") == [102]
    before = final(tmp_path)
    go(config(steps=100, lanes=3), tmp_path)  # done already
    assert final(tmp_path) == before
    part, whole = tmp_path / "part", tmp_path / "whole"
    go(config(steps=100, lanes=3), part)
    go(config(steps=302, lanes=3), part)
    go(config(steps=302, lanes=3), whole)
    assert checkpoint_steps(whole / "checkpoints")[-1] == 303
    assert final(part) == final(whole)


@pytest.mark.parametrize(
    ("steps", "lanes", "says"),
    [(100, 3, {"steps": 102, "steps_asked": 100}), (102, 3, {"steps": 102})],
)
def test_a_result_says_how_long_was_trained_and_what_was_asked_for(
    steps: int, lanes: int, says: dict[str, int]
) -> None:
    configuration = config(steps=steps, lanes=lanes)
    run = Run("rl.train", configuration)
    protocol = train(configuration, run).protocol
    assert {name: value for name, value in protocol.items() if "steps" in name} == says
    assert (
        run.notes
        == ["trains for 102 steps, not 100: the 3 lanes take their last steps together"][
            : len(says) - 1
        ]
    )


class Bomb:
    """A reporter that interrupts the work."""

    def __init__(self, at: int) -> None:
        self.at = at

    def note(self, text: str) -> None: ...

    def progress(self, done: float, total: float | None, text: str) -> None:
        if done >= self.at:
            raise KeyboardInterrupt


def episodes(configuration: TrainConfig) -> list[dict]:
    run = Run("rl.train", configuration)
    train(configuration, run)
    return run.records


@pytest.mark.parametrize("agent", AGENTS)
def test_one_seed_gives_one_run_and_another_gives_another(agent: str) -> None:
    first, again = episodes(config(agent)), episodes(config(agent))
    other = episodes(config(agent, seed=1))
    assert first == again
    assert first != other


def test_two_lanes_learn_as_often_as_one_for_each_step() -> None:
    def updates(lanes: int) -> int:
        trainer = Trainer(config(lanes=lanes), "dqn", flat_parts(config(lanes=lanes), "dqn"))
        while trainer.step < 120:
            trainer.advance()
        trainer.close()
        return trainer._num_losses

    assert updates(1) == updates(2) == updates(4)


def test_nan_stops_with_the_last_good_checkpoint_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Lanes.step

    def poisoned(self: Lanes, a_L: np.ndarray) -> Any:
        result = step(self, a_L)
        if sum(map(len, self._actions)) >= 170:
            result.r_t_L[:] = math.nan
        return result

    monkeypatch.setattr(Lanes, "step", poisoned)
    run = open_run("rl.train", config(), out=tmp_path / "run")
    with pytest.raises(WorkFailed, match="the loss became nan; the last checkpoint is") as caught:
        train(config(), run)
    assert caught.value.partial is not None
    assert caught.value.partial.status == "failed"
    (kept,) = checkpoint_steps(tmp_path / "run" / "checkpoints")
    tensors, _ = load_checkpoint(tmp_path / "run" / "checkpoints", kept)
    assert kept == 100
    assert all(tensor.isfinite().all() for tensor in tensors.values())


@pytest.mark.parametrize(
    ("env_id", "message", "hint"),
    [
        ("MountianCar-v0", "unknown environment 'MountianCar-v0'", "did you mean 'MountainCar-v0'"),
        ("MountainCar-v7", "unknown environment 'MountainCar-v7'", "did you mean 'MountainCar-v0'"),
        ("LunarLander-v2", "unknown environment 'LunarLander-v2'", "did you mean 'LunarLander-v3'"),
        ("no such", "unknown environment 'no such'", "pprint_registry"),
        ("MountainCarContinuous-v0", "has no discrete actions", "learns discrete actions"),
        ("FrozenLake-v1", "has no flat observations", "learns discrete actions"),
        ("Images-v0", "has no flat observations", "learns discrete actions"),
        ("Missing-v0", "needs a package that is not installed", "mlscale[box2d]"),
    ],
)
def test_environments_that_cannot_be_learned_are_one_line(
    env_id: str, message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise gymnasium.error.DependencyNotInstalled("Box2D is not installed")

    monkeypatch.setitem(gymnasium.registry, "Images-v0", gymnasium.envs.registration.EnvSpec(
        id="Images-v0", entry_point=Images))  # fmt: skip
    monkeypatch.setitem(gymnasium.registry, "Missing-v0", gymnasium.envs.registration.EnvSpec(
        id="Missing-v0", entry_point=missing))  # fmt: skip
    with pytest.raises(UserError, match=message) as caught:
        make_environment(env_id)
    assert "\n" not in caught.value.message
    assert hint in str(caught.value.hint)


class Images(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(0, 255, (8, 8, 3), np.uint8)


def test_lanes_keep_the_last_state_of_an_episode_apart_from_the_next_first() -> None:
    lanes = Lanes("MountainCar-v0", 2, seed=0)
    start = lanes.s_LD.copy()
    assert not np.array_equal(start[0], start[1])
    for _ in range(200):
        step = lanes.step(np.ones(2, np.int64))
    assert step.truncated_L.all()
    assert not step.terminated_L.any()
    assert [ended[1:3] for ended in step.ended] == [(-200.0, 200)] * 2
    assert not np.array_equal(step.s_t_LD, lanes.s_LD)
    lanes.close()


def test_lanes_refuse_a_state_they_do_not_come_to_again() -> None:
    lanes = Lanes("MountainCar-v0", 1, seed=0)
    saved = lanes.saved()
    saved["states"][0][0] += 1
    with pytest.raises(WorkFailed, match="did not come to the checkpoint's state"):
        lanes.load(saved)
    lanes.close()


def test_success_is_the_goal_or_the_registered_threshold() -> None:
    car, pole = success_of("MountainCar-v0"), success_of("CartPole-v1")
    assert car(-199, terminated=True)
    assert not car(-200, terminated=False)
    assert pole(475, terminated=False)
    assert not pole(474, terminated=True)


def test_a_summary_by_hand() -> None:
    def record(step: int, value: float, success: bool | None) -> dict:
        return {"step": step, "return": value, "length": 1, "success": success}

    got = summarise([record(200, -200, False), record(350, -150, True), record(450, -100, True)])
    assert got == {
        "episodes": 3, "successes": 2, "first_success_step": 350, "mean_return": -150.0,
        "final_return": -150.0, "best_return": -100.0,
    }  # fmt: skip
    assert summarise([record(1, 1.0, None)])["successes"] is None
    assert summarise([])["final_return"] is None


@pytest.mark.parametrize("name", sorted(TRAIN_PRESETS))
def test_presets_are_legal_and_replayable(name: str) -> None:
    preset = TRAIN_PRESETS[name]()
    assert dataclasses.replace(preset) == preset


def test_a_replay_smaller_than_a_batch_is_refused() -> None:
    with pytest.raises(UserError, match=r"^replay_steps is 32, less than one batch of 64$"):
        LearnConfig(batch=64, replay_steps=32)
    settings = {"learn": {"batch": 64, "replay_steps": 32}}
    with pytest.raises(UserError, match=r"^learn\.replay_steps is 32, less than one batch"):
        from_dict(TrainConfig, settings, where="settings")
