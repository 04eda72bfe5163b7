"""A replay that the machine cannot hold: refused in one line, or told of beforehand."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.rl.dqn import room
from mlscale.rl.dqn.atari.frames import FrameReplay
from mlscale.rl.dqn.atari.presets import tiny
from mlscale.rl.dqn.atari.train import run as train_atari
from mlscale.rl.dqn.config import LearnConfig, TrainConfig
from mlscale.rl.dqn.priority import PrioritisedSampler
from mlscale.rl.dqn.replay import Replay
from mlscale.rl.dqn.room import note_scarce_memory
from mlscale.rl.dqn.train import run as train

TOO_MANY = 10**18  # beyond the address space of any machine, whatever it promises
UNCOUNTABLE = 10**20  # beyond what NumPy can say


def hint(bytes_each: int) -> str:
    return f"lower learn.replay_steps in a --config file: each takes {bytes_each:,} bytes"


@pytest.mark.parametrize("number", [TOO_MANY, UNCOUNTABLE])
@pytest.mark.parametrize(
    ("make", "bytes_each"),
    [
        (lambda number: Replay(number, 2, 3), 38),  # two states of 12 bytes, 14 of the step
        (lambda number: FrameReplay(number, 2), 7_071),  # a frame, its age, 14 of the step
    ],
)
def test_a_replay_that_cannot_be_had_is_one_line(number: int, make: Any, bytes_each: int) -> None:
    with pytest.raises(UserError) as caught:
        make(number)
    assert caught.value.message == (
        f"no memory for the replay of {number:,} transitions: {number * bytes_each / 1e9:,.1f} GB"
    )
    assert caught.value.hint == hint(bytes_each)


def test_the_bytes_named_are_those_taken() -> None:
    replay, frames = Replay(100, 2, 3), FrameReplay(100, 2)
    assert replay.nbytes == 100 * 38
    assert frames.nbytes == (100 + 4 * 2) * 7_071 + 84 * 84  # four rows to spare, a blank frame


def test_priorities_that_cannot_be_had_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Replay(128, 1, 1)

    def refuse(num_places: int) -> None:
        raise MemoryError

    monkeypatch.setattr("mlscale.rl.dqn.priority.SumTree", refuse)
    with pytest.raises(UserError, match=r"^no memory for the priorities of 128 transitions: 0\.0"):
        PrioritisedSampler(memory, 0.5, 0.4, 100)


def test_both_trainings_refuse_it() -> None:
    flat = TrainConfig(learn=LearnConfig(replay_steps=TOO_MANY))
    base = tiny()
    frames = dataclasses.replace(
        base, learn=dataclasses.replace(base.learn, replay_steps=TOO_MANY), game="breakout"
    )
    says = re.escape(f"no memory for the replay of {TOO_MANY:,} transitions: ")
    with pytest.raises(UserError, match=says):
        train(flat, Run("rl.train", flat))
    with pytest.raises(UserError, match=says):
        train_atari(frames, Run("atari.train", frames))


@pytest.mark.parametrize(
    ("steps", "machine", "told"),
    [
        (1_000, 38 * 100, False),  # it holds no more than a hundred
        (1_000, 38 * 100 - 1, True),
        (50, 38 * 50, False),  # half of it is filled
        (50, 38 * 50 - 1, True),
        (1_000, None, False),
    ],
)
def test_a_replay_that_outgrows_the_machine_is_told_of(
    monkeypatch: pytest.MonkeyPatch, steps: int, machine: int | None, told: bool
) -> None:
    monkeypatch.setattr(room, "machine_bytes", lambda: machine)
    run = Run("rl.train", TrainConfig())
    note_scarce_memory(Replay(100, 2, 3), steps, run)
    assert bool(run.notes) == told
    assert not told or run.notes[0].startswith("the replay grows to 0.0 GB and this machine's")


def test_this_machine_has_some_memory() -> None:
    number = room.machine_bytes()
    assert number is None or number > np.zeros(1_000).nbytes


def test_a_training_tells_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "machine_bytes", lambda: 1)
    config = TrainConfig(steps=2, agent="dqn", learn=LearnConfig(hidden=(2,)))
    run = Run("rl.train", config)
    train(config, run)
    assert "lower learn.replay_steps in a --config file" in run.notes[0]
