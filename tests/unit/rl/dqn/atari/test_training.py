"""Training on a game: seeds, resuming from actions alone, what an emulator step gives."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.runs import Run, open_run
from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.dqn.atari import emulators
from mlscale.rl.dqn.atari.config import AtariTrainConfig
from mlscale.rl.dqn.atari.emulators import Emulators
from mlscale.rl.dqn.atari.experience import FrameExperience
from mlscale.rl.dqn.atari.frames import FrameReplay
from mlscale.rl.dqn.atari.presets import tiny
from mlscale.rl.dqn.atari.train import run as train

SABER = PROTOCOLS["saber"]


def config(agent: str = "dqn", **changes: Any) -> AtariTrainConfig:
    base = tiny()
    settings: dict[str, Any] = {
        "agent": agent,
        "game": "breakout",
        "frames": 1_600,
        "learn": dataclasses.replace(
            base.learn, start_steps=64, train_every_steps=64, batch=4, replay_steps=256
        ),
        "explore": dataclasses.replace(base.explore, only_steps=50, linear_steps=100),
        "mbe": dataclasses.replace(base.mbe, fit_from_steps=40, window=20),
        "checkpoint_every_frames": 800,
    }
    return dataclasses.replace(base, **(settings | changes))


def trained(path: Path, configuration: AtariTrainConfig) -> tuple[Any, Any, list[Any]]:
    run = open_run("atari.train", configuration, out=path)
    train(configuration, run)
    run._close_log()
    tensors, state = load_checkpoint(path / "checkpoints", configuration.steps)
    return tensors, state, run.records


def assert_same(one: tuple[Any, Any, list[Any]], other: tuple[Any, Any, list[Any]]) -> None:
    assert one[2] == other[2]
    assert one[1] == other[1]
    assert one[0].keys() == other[0].keys()
    for name, tensor in one[0].items():
        assert np.array_equal(tensor.numpy(), other[0][name].numpy()), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "memory"),
    [
        ("dqn", {}),
        ("dqn_mbe", {}),
        ("dqn_rnd", {}),
        ("dqn_rnd", {"head": "duelling", "replay": "prioritised", "n_step": 3}),
    ],
)
def test_a_resumed_training_equals_an_unbroken_one(
    agent: str, memory: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulators, "STRETCH_STEPS", 40)
    whole = config(agent)
    learn = dataclasses.replace(whole.learn, replay_steps=96, **memory)
    whole = dataclasses.replace(whole, learn=learn)
    unbroken = trained(tmp_path / "unbroken", whole)
    halves = dataclasses.replace(whole, frames=800)
    tensors, _, _ = trained(tmp_path / "halves", halves)
    assert checkpoint_steps(tmp_path / "halves" / "checkpoints") == [200]
    ring = FrameReplay(learn.replay_steps, whole.lanes, n_step=learn.n_step)
    assert len(tensors["actions"]) > ring.num_rows  # it has wrapped
    assert_same(trained(tmp_path / "halves", whole), unbroken)


@pytest.mark.slow
def test_seeds_decide_everything(tmp_path: Path) -> None:
    first, again, other = (
        trained(tmp_path / str(number), config("dqn_mbe", frames=800, seed=seed))
        for number, seed in enumerate((3, 3, 4))
    )
    assert_same(first, again)
    assert not np.array_equal(first[0]["actions"].numpy(), other[0]["actions"].numpy())


def play(experience: FrameExperience, num_rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(num_rows):
        experience.step(rng.integers(0, 18, 2))


def make_experience(capacity: int) -> FrameExperience:
    replay = FrameReplay(capacity, 2, n_step=3)
    return FrameExperience(Emulators("breakout", SABER, 2, 0), replay, lambda _d, _t: None)


@pytest.mark.slow
def test_a_memory_that_has_wrapped_is_filled_again_from_its_actions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(emulators, "STRETCH_STEPS", 100)
    original, rebuilt = make_experience(400), make_experience(400)
    play(original, 900, seed=1)
    tensors, state = original.saved()
    assert state["first_row"] > 0
    assert len(tensors["actions"]) < 900
    starts = [start for _, start in state["stretches"]]
    assert starts[0] != starts[1]  # one lane waits for the other
    rebuilt.load(tensors, state)
    for experience in (original, rebuilt):
        play(experience, 5, seed=2)
    assert np.array_equal(original.states, rebuilt.states)
    one, other = (
        experience.memory.sample(256, np.random.default_rng(3))
        for experience in (original, rebuilt)
    )
    for mine, theirs in zip(one, other, strict=True):
        assert np.array_equal(np.asarray(mine), np.asarray(theirs))
    saved, saved_again = original.saved(), rebuilt.saved()
    assert saved[1] == saved_again[1]
    assert np.array_equal(saved[0]["actions"].numpy(), saved_again[0]["actions"].numpy())


@pytest.mark.slow
def test_other_actions_are_noticed() -> None:
    original, rebuilt = make_experience(400), make_experience(400)
    play(original, 30, seed=1)
    tensors, state = original.saved()
    with pytest.raises(WorkFailed, match="did not come to the checkpoint's states"):
        rebuilt.load({"actions": tensors["actions"][:-1]}, state)


def test_rewards_are_signs_and_returns_are_points() -> None:
    lanes = Emulators("qbert", SABER, 1, 0)
    rng = np.random.default_rng(0)
    rewards, returns = [], []
    while not any(returns):
        step = lanes.step(rng.integers(0, 18, 1))
        rewards.append(float(step.r_t_L[0]))
        returns += [ended.episode_return for ended in step.ended]
    assert set(rewards) == {0.0, 1.0}
    assert returns[-1] == 25 * round(returns[-1] / 25)
    assert returns[-1] > sum(rewards)
    lanes.close()


def test_an_episode_without_points_is_cut_off_and_not_terminal() -> None:
    protocol = dataclasses.replace(SABER, stuck_frames=80)
    lanes = Emulators("breakout", protocol, 1, 0)
    for number in range(20):
        step = lanes.step(np.zeros(1, np.int64))
        assert bool(step.truncated_L[0]) == (number == 19)
        assert not step.terminated_L[0]
    assert step.ended[0].length == 20
    assert not np.array_equal(step.s_t_LD, lanes.states_LFHW)
    assert not lanes.states_LFHW[0, :3].any()  # a first observation has one frame
    lanes.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frames", "says"),
    [
        (12, {"frames": 16, "frames_asked": 12}),  # three steps, in twos
        (10, {"frames": 8, "frames_asked": 10}),  # half a step is none
        (16, {"frames": 16}),
    ],
)
def test_a_result_says_how_long_was_trained_and_what_was_asked_for(
    frames: int, says: dict[str, int]
) -> None:
    configuration = config(frames=frames, lanes=2)
    protocol = train(configuration, Run("atari.train", configuration)).protocol
    assert {name: value for name, value in protocol.items() if "frames" in name} == says


def test_two_games_or_none_are_refused() -> None:
    for game, words in (("atari5", "one game is trained"), ("pongg", "pong")):
        configuration = config(game=game)
        with pytest.raises(UserError, match=words):
            train(configuration, Run("atari.train", configuration))
