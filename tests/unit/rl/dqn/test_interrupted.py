"""Ctrl-C in the middle of a training step: the step is finished, saved, and not played again."""

import signal
from pathlib import Path
from typing import Any

import pytest

from mlscale.core import interrupts
from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint
from mlscale.core.metrics_log import read_records
from mlscale.core.runs import Run, open_run
from mlscale.rl.dqn.config import ExploreConfig, LearnConfig, MbeConfig, TrainConfig
from mlscale.rl.dqn.train import run as train
from mlscale.rl.dqn.trainer import Trainer

STEPS, LANES = 420, 2


class Ear:
    """A reporter that remembers the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, done: float, total: float | None, text: str) -> None: ...


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The environment steps that were learned from, in order; Ctrl-C is pressed in mid-step."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    steps: list[int] = []
    learn_once = Trainer._learn_once

    def learn_and_press(trainer: Trainer) -> None:
        steps.append(trainer.step)
        if steps.count(237) == 1 and trainer.step == 237:
            signal.raise_signal(signal.SIGINT)
        learn_once(trainer)

    monkeypatch.setattr(Trainer, "_learn_once", learn_and_press)
    return steps


def config(**changes: Any) -> TrainConfig:
    settings: dict[str, Any] = {
        "agent": "dqn_mbe",
        "env": "CartPole-v1",
        "steps": STEPS,
        "lanes": LANES,
        "checkpoint_every_steps": 200,
        "learn": LearnConfig(hidden=(8,), batch=16, start_steps=16, replay_steps=150),
        "explore": ExploreConfig(only_steps=60, decay=0.99),
        "mbe": MbeConfig(hidden=(8,), batch=16, window=20),
    }
    return TrainConfig(**{**settings, **changes})


def begin(path: Path, configuration: TrainConfig) -> tuple[Run, Ear]:
    ear = Ear()
    return open_run("rl.train", configuration, out=path, reporter=ear), ear


def final(path: Path) -> tuple[list[dict], dict, dict]:
    folder = path / "checkpoints"
    tensors, state = load_checkpoint(folder, checkpoint_steps(folder)[-1])
    weights = {name: tensor.tolist() for name, tensor in tensors.items()}
    return read_records(path / "metrics.jsonl"), weights, state


def test_the_state_of_that_moment_is_saved_and_gone_on_from(
    tmp_path: Path, played: list[int]
) -> None:
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    run, ear = begin(stopped, config())
    with pytest.raises(KeyboardInterrupt):
        train(config(), run)
    run._close_log()
    assert checkpoint_steps(stopped / "checkpoints") == [200, 238]  # both lanes have moved
    assert ear.notes == ["interrupted at step 238: saving; Ctrl-C again stops without it"]
    assert run.notes == []
    done = read_records(stopped / "metrics.jsonl")

    run, ear = begin(stopped, config())
    run.finish(train(config(), run))
    assert ear.notes == ["goes on from the checkpoint of step 238"]
    assert played == list(range(1, STEPS + 1))
    assert run.records[: len(done)] == done

    run, _ = begin(whole, config())
    run.finish(train(config(), run))
    assert final(stopped) == final(whole)


def test_ctrl_c_again_goes_back_to_the_last_checkpoint(
    tmp_path: Path, played: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def press_again(trainer: Trainer) -> Any:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("nothing is saved")

    monkeypatch.setattr(interrupts, "ONE_PRESS_S", 0.0)
    run, _ = begin(tmp_path / "run", config(checkpoint_every_steps=STEPS))
    monkeypatch.setattr(Trainer, "saved", press_again)
    with pytest.raises(KeyboardInterrupt):
        train(config(checkpoint_every_steps=STEPS), run)
    run._close_log()
    assert played[-1] == 238
    assert checkpoint_steps(tmp_path / "run" / "checkpoints") == []


def test_ctrl_c_before_the_first_step_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run, _ = begin(tmp_path / "run", config())
    run.finish(train(config(), run))
    before = final(tmp_path / "run")
    run, _ = begin(tmp_path / "run", config(steps=STEPS + 2))
    load = Trainer.load

    def load_and_press(trainer: Trainer, *saved: Any) -> None:
        load(trainer, *saved)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "load", load_and_press)
    with pytest.raises(KeyboardInterrupt):
        train(config(steps=STEPS + 2), run)
    run._close_log()
    assert final(tmp_path / "run") == before
