"""Stable-Baselines3 zips, untrained ones, and what is none."""

import dataclasses
import json
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core.errors import UserError, WorkFailed
from mlscale.rl.atari.agents.actions import action_sets, offered_actions
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.sb3 import Sb3Agent, load_sb3
from mlscale.rl.atari.lanes import Episode, EpisodeStart
from mlscale.rl.atari.play import play_episodes
from mlscale.rl.atari.protocols import PROTOCOLS

PONG = (0, 1, 3, 4, 11, 12)
MINIMAL = Task(game="pong", action_ids=PONG)
FULL = Task(game="pong", action_ids=tuple(range(18)))


class Model:
    """Stands for a model whose policy chose `actions`."""

    def __init__(self, num_actions: int, actions: list[int]) -> None:
        self.action_space = type("Discrete", (), {"n": num_actions})()
        self.actions = np.array(actions)

    def predict(self, observations: Any, *, deterministic: bool) -> tuple[Any, None]:
        assert deterministic
        assert len(observations) == len(self.actions)
        return self.actions, None


@pytest.mark.parametrize(
    ("num_actions", "actions", "task", "expected"),
    [
        (6, [0, 5, 2], MINIMAL, [0, 5, 2]),
        (6, [0, 5, 2], FULL, [0, 12, 3]),
        (18, [0, 12, 3], MINIMAL, [0, 5, 2]),
        (18, [17, 2, 0], FULL, [17, 2, 0]),
    ],
)
def test_actions_are_mapped_by_hand(
    num_actions: int, actions: list[int], task: Task, expected: list[int]
) -> None:
    agent = Sb3Agent(Model(num_actions, actions), task)
    agent.reset(3)
    assert agent.act(np.zeros((3, 4, 84, 84), np.uint8)).tolist() == expected


def test_an_action_that_is_not_offered_is_the_policys_failure() -> None:
    agent = Sb3Agent(Model(18, [0, 2]), MINIMAL)  # up, which Pong does not have
    with pytest.raises(WorkFailed) as caught:
        agent.act(np.zeros((2, 4, 84, 84), np.uint8))
    assert caught.value.message == "the policy chose an action this protocol does not offer"
    assert caught.value.hint == "use a protocol with all 18 actions: --protocol saber"


def error_of(path: Path) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        load_sb3(path, MINIMAL)
    assert "\n" not in caught.value.message
    return caught.value.message.replace(str(path), "p.zip"), caught.value.hint


def test_the_extra_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    assert error_of(tmp_path / "p.zip") == (
        "Stable-Baselines3 policies need the extra 'sb3'", "pip install 'mlscale[sb3]'",
    )  # fmt: skip


@pytest.fixture
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are judged before any of the library is used; importing it takes seconds."""
    monkeypatch.setitem(sys.modules, "stable_baselines3", types.ModuleType("stable_baselines3"))


def write(path: Path, data: Any) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", data if isinstance(data, str) else json.dumps(data))
    return path


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("content", [b"", b"no zip"])
def test_a_file_that_is_no_zip(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.zip").write_bytes(content)
    assert error_of(tmp_path / "p.zip") == (
        "p.zip is not a Stable-Baselines3 model: File is not a zip file", None,
    )  # fmt: skip


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize("data", ["{", {}, {"policy_class": {}}, {"policy_class": "x"}, []])
def test_a_zip_that_is_no_model(tmp_path: Path, data: Any) -> None:
    message, _ = error_of(write(tmp_path / "p.zip", data))
    assert message.startswith("p.zip is not a Stable-Baselines3 model: ")


@pytest.mark.usefixtures("without_library")
def test_a_zip_of_something_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("photo", "x")
    message, _ = error_of(tmp_path / "p.zip")
    assert message.startswith("p.zip is not a Stable-Baselines3 model: ")


@pytest.mark.usefixtures("without_library")
@pytest.mark.parametrize(
    "module",
    ["stable_baselines3.sac.policies", "sb3_contrib.qrdqn.policies", "my.ppo.policies"],
)
def test_other_algorithms_are_named(tmp_path: Path, module: str) -> None:
    path = write(tmp_path / "p.zip", {"policy_class": {"__module__": module}, "clip_range": 0.1})
    assert error_of(path) == (
        f"p.zip was saved by {module}", "algorithms that can be played: DQN, PPO, A2C",
    )  # fmt: skip


def make_model(algorithm: str, shape: tuple[int, ...] = (4, 84, 84), actions: Any = None) -> Any:
    sb3 = pytest.importorskip("stable_baselines3")
    import gymnasium

    class Dummy(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        action_space = actions or gymnasium.spaces.Discrete(6)

    settings = {
        "DQN": {"buffer_size": 1},
        "PPO": {"n_steps": 2, "batch_size": 2},
        "A2C": {},
    }[algorithm]
    return getattr(sb3, algorithm)("CnnPolicy", Dummy(), device="cpu", seed=1, **settings)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("algorithm", ["DQN", "PPO", "A2C"])
def test_an_untrained_policy_plays_pong(tmp_path: Path, algorithm: str) -> None:
    model = make_model(algorithm)
    model.save(tmp_path / "p.zip")
    protocol = dataclasses.replace(PROTOCOLS["saber"], max_frames=80)
    task = Task(game="pong", action_ids=offered_actions("pong", protocol))
    agent = load_sb3(tmp_path / "p.zip", task)
    frames_NFHW = np.random.default_rng(0).integers(256, size=(3, 4, 84, 84), dtype=np.uint8)
    own, _ = model.predict(frames_NFHW, deterministic=True)
    assert agent.act(frames_NFHW).tolist() == [action_sets("pong").minimal[a] for a in own]
    starts = [EpisodeStart(episode=n, emulator_seed=n, agent_seed=n) for n in range(2)]
    played = play_episodes(
        "pong", protocol, starts, lambda _: agent, num_actions=task.num_actions, max_lanes=2
    )
    episodes = [event for event in played if isinstance(event, Episode)]
    assert [(episode.frames, episode.end) for episode in episodes] == [(80, "frame cap")] * 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_policy_that_sees_something_else(tmp_path: Path) -> None:
    make_model("DQN", shape=(1, 84, 84)).save(tmp_path / "p.zip")
    assert error_of(tmp_path / "p.zip") == (
        "p.zip sees observations of shape (1, 84, 84), not (4, 84, 84)",
        "train it on AtariWrapper with four stacked frames",
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_policy_of_continuous_actions(tmp_path: Path) -> None:
    from gymnasium.spaces import Box

    make_model("PPO", actions=Box(-1, 1, (2,))).save(tmp_path / "p.zip")
    message, _ = error_of(tmp_path / "p.zip")
    assert (
        message == "p.zip acts in Box(-1.0, 1.0, (2,), float32), not in a discrete set of actions"
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_model_without_its_weights(tmp_path: Path) -> None:
    make_model("DQN").save(tmp_path / "whole.zip")
    with (
        zipfile.ZipFile(tmp_path / "whole.zip") as whole,
        zipfile.ZipFile(tmp_path / "p.zip", "w") as cut,
    ):
        cut.writestr("data", whole.read("data"))
        cut.writestr("policy.pth", b"")
    message, _ = error_of(tmp_path / "p.zip")
    assert message.startswith("p.zip cannot be loaded: ")
