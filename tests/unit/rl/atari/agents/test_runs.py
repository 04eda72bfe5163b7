"""Agents from run directories: found by study, through entry points."""

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest

from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.core.runs import open_run
from mlscale.rl.atari.agents import runs
from mlscale.rl.atari.agents.base import AgentEntry
from mlscale.rl.atari.agents.registry import find_agent
from mlscale.rl.atari.agents.runs import agent_of_runs, find_checkpoint, is_run
from mlscale.rl.atari.config import AgentsConfig

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(name: str, study: str = "my.train", steps: tuple[int, ...] = (5, 40)) -> Path:
        run = open_run(study, AgentsConfig(), out=tmp_path / name)
        run.finish(Result(study=study))
        for step in steps:
            (tmp_path / name / "checkpoints" / str(step)).mkdir(parents=True)
        return tmp_path / name

    return make


class Point:
    """An entry point whose loader says what it was given."""

    def load(self) -> Callable[..., AgentEntry]:
        return lambda paths: AgentEntry(
            name="mine", factory=lambda _: None, description=" ".join(path.name for path in paths)
        )


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {("mlscale.agent_runs", "my.train"): [Point()]}
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group, name="": known.get((group, name), [])
    )


def error_of(*paths: Path) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        agent_of_runs(paths)
    return caught.value.message, caught.value.hint


def test_a_path_is_a_run_for_its_newest_checkpoint_or_a_checkpoint(make_run: MakeRun) -> None:
    path = make_run("a")
    assert find_checkpoint(path) == (path, 40)
    assert find_checkpoint(path / "checkpoints" / "5") == (path, 5)
    assert is_run(path)
    assert is_run(path / "checkpoints" / "5")
    assert not is_run(path / "checkpoints")
    assert not is_run(path.parent)
    with pytest.raises(UserError, match="has no checkpoint yet"):
        find_checkpoint(make_run("b", steps=()))


def test_the_study_says_who_loads_its_runs(make_run: MakeRun) -> None:
    a, b = make_run("a"), make_run("b")
    assert agent_of_runs([a, b]).description == "a b"
    assert agent_of_runs([a / "checkpoints" / "5"]).description == "5"
    assert find_agent(str(a)).description == "a"
    assert find_agent("mine", checkpoints=[a]).name == "mine"
    with pytest.raises(UserError) as caught:
        find_agent("other", checkpoints=[a])
    assert caught.value.message == f"{a} trained agent 'mine', not 'other'"
    assert caught.value.hint == "leave --agent out, or name another run"


def test_runs_that_trained_nothing_to_play(make_run: MakeRun, tmp_path: Path) -> None:
    a, other = make_run("a"), make_run("o", study="their.train")
    assert error_of(other) == (
        f"{other} holds a run of their.train, which trains no agent for these games",
        "name a run directory of `mlscale atari train`",
    )
    assert error_of(a, other)[0] == "the runs are of different studies: my.train, their.train"
    assert error_of(tmp_path / "gone")[0] == f"{tmp_path / 'gone'}: no such directory"
    assert runs.RUN_ENTRY_POINTS == "mlscale.agent_runs"
