"""Watching a training: the episodes of an evaluation, one picture a step, and what is refused."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium  # noqa: TID253 - every test here needs it
import numpy as np
import pytest

from mlscale.core import video
from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.core.runs import Run, open_run
from mlscale.core.video import Film
from mlscale.rl.dqn import watch
from mlscale.rl.dqn.config import EvalConfig, ExploreConfig, LearnConfig, TrainConfig
from mlscale.rl.dqn.evaluate import run as evaluate
from mlscale.rl.dqn.train import run as train
from mlscale.rl.dqn.watch_config import WatchConfig

FPS = 50  # CartPole-v1's own


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "trained"
    config = TrainConfig(
        agent="dqn",
        env="CartPole-v1",
        steps=40,
        learn=LearnConfig(hidden=(8,)),
        explore=ExploreConfig(only_steps=10),
    )
    run = open_run("rl.train", config, out=path)
    run.finish(train(config, run))
    return path


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The pictures of the film, which is not written: that takes most of the time."""
    pictures: list[np.ndarray] = []

    def keep(path: Path, source: Iterator[np.ndarray], kind: str, speed: float) -> Film:
        assert speed == FPS
        pictures.extend(source)
        path.write_bytes(b"")
        return Film(len(pictures), 0)

    monkeypatch.setattr(video, "write_film", keep)
    return pictures


def go(trained: Path, **settings: Any) -> tuple[Run, Result]:
    config = WatchConfig(run=trained, format="gif", **settings)
    run = Run("rl.watch", config)
    return run, watch.run(config, run)


def test_the_episodes_are_those_of_an_evaluation(trained: Path, shown: list[np.ndarray]) -> None:
    pytest.importorskip("pygame")
    run, result = go(trained, episodes=3, seed=7)
    evaluation = EvalConfig(run=trained, episodes=3, seed=7)
    evaluated = Run("rl.eval", evaluation)
    evaluate(evaluation, evaluated)
    columns = ("episode", "return", "length", "success")
    assert [{name: record[name] for name in columns} for record in run.records] == evaluated.records
    assert {record["end"] for record in run.records} == {"terminal state"}
    lengths = [record["length"] for record in run.records]
    assert result.metrics["mean_length"].value == np.mean(lengths)
    assert result.metrics["mean_return"].value == np.mean(lengths)  # CartPole pays 1 a step
    assert result.tables["film"]["pictures"] == len(shown)
    assert run.notes == []


def test_a_picture_a_step_and_a_second_at_the_end(trained: Path, shown: list[np.ndarray]) -> None:
    pytest.importorskip("pygame")
    run, _ = go(trained, episodes=2)
    first, second = (record["length"] for record in run.records)
    assert len(shown) == (1 + first + FPS) + (1 + second + FPS)
    moving = [
        number for number in range(1, len(shown)) if (shown[number] != shown[number - 1]).any()
    ]
    assert moving == [
        *range(1, first + 1),
        *range(1 + first + FPS, 1 + first + FPS + 1 + second),
    ]
    assert len({picture.shape for picture in shown}) == 1
    assert shown[0].shape[1] == 600


def test_the_film_ends_at_its_limit_and_says_so(trained: Path, shown: list[np.ndarray]) -> None:
    pytest.importorskip("pygame")
    run, _ = go(trained, episodes=2, max_steps=4)
    assert [(record["length"], record["end"]) for record in run.records] == [(4, "end of the film")]
    assert len(shown) == 1 + 4 + FPS
    assert run.notes == ["the film ends after 4 steps (--max-steps)"]


def test_without_pygame_the_extra_is_named(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(UserError) as caught:
        go(trained)
    assert caught.value.message == "pictures of CartPole-v1 need the extra 'video'"
    assert caught.value.hint == "pip install 'mlscale[video]'"


def test_an_environment_without_pictures_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blind(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 1, (2,))
        action_space = gymnasium.spaces.Discrete(2)

    spec = gymnasium.envs.registration.EnvSpec(id="Blind-v0", entry_point=Blind)
    monkeypatch.setitem(gymnasium.registry, "Blind-v0", spec)
    with pytest.raises(UserError) as caught:
        watch._make_drawn("Blind-v0")
    assert caught.value.message == "Blind-v0 draws no pictures of itself"
    assert caught.value.hint == "it has no mode 'rgb_array'"


def test_a_run_of_something_else_is_refused(tmp_path: Path) -> None:
    config = WatchConfig(run=tmp_path / "other", format="gif")
    open_run("rl.watch", config, out=tmp_path / "other").finish(Result(study="rl.watch"))
    with pytest.raises(UserError, match=r"is a run of rl.watch, not of rl.train"):
        go(tmp_path / "other")
