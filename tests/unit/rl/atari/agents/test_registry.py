"""Finding agents: shipped, entry points, code of one's own, files."""

import importlib.metadata
import io
import sys
from pathlib import Path

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents import registry
from mlscale.rl.atari.agents.base import AgentEntry, EpisodicAgent, Task
from mlscale.rl.atari.agents.noop_agent import NoopAgent
from mlscale.rl.atari.agents.random_agent import RandomAgent
from mlscale.rl.atari.agents.registry import (
    check_covered,
    find_agent,
    make_agent,
    runnable_names,
)

TASK = Task(game="pong", action_ids=tuple(range(18)))
FACTORIES_HINT = "a factory takes a Task and returns an agent with reset() and act()"
LISTING = "`mlscale atari agents` lists them; code of your own is named module:factory"
IMPORT_HINT = "name it module:factory, importable from here"

AGENT_CODE = """
import numpy as np
from mlscale.rl.atari.agents.base import AgentEntry

class Agent:
    def __init__(self, task): self.task = task
    def reset(self, num_lanes): self.num_lanes = num_lanes
    def act(self, observations): return np.full(self.num_lanes, 3)

def make_nothing(task): return None
def make_half(task): return type("Half", (), {"reset": lambda self, num_lanes: None})()
number = 7
entry = AgentEntry(name="mine", factory=Agent, games=("pong",), train_frames=1000)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder that is not importable yet, as for a console script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    return tmp_path


@pytest.fixture
def module(folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The name of a module in the current folder, of this test alone."""
    name = f"agents_of_{abs(hash(request.node.name))}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    (folder / f"{name}.py").write_text(AGENT_CODE)
    return name


def error_of(name: str, **arguments: bool) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        find_agent(name, **arguments)
    return caught.value.message, caught.value.hint


def test_shipped_agents_are_what_they_are_called() -> None:
    assert isinstance(make_agent(find_agent("random").factory, TASK), RandomAgent)
    assert isinstance(make_agent(find_agent("noop").factory, TASK), NoopAgent)
    for name in ("random", "noop"):
        entry = find_agent(name)
        assert (entry.name, entry.games, entry.train_frames, entry.uses_torch) == (
            name, None, 0, False,
        )  # fmt: skip


def install(folder: Path, points: str) -> None:
    """Put a distribution with these entry points into a folder, as pip leaves it there."""
    metadata = folder / "fake_agents-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-agents\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[mlscale.agents]\n{points}\n")


@pytest.fixture
def installed(module: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    install(
        folder,
        f"zeta = {module}:Agent\nalpha = {module}:entry\ngone = {module}:nosuch\n"
        f"seven = {module}:number\nrandom = {module}:Agent\ndqn = {module}:Agent",
    )
    monkeypatch.syspath_prepend(str(folder))
    return module


def test_an_entry_point_may_be_a_factory_or_an_entry(installed: str) -> None:
    factory, entry = find_agent("zeta"), find_agent("alpha")
    assert factory.name == "zeta"
    assert make_agent(factory.factory, TASK).task is TASK  # type: ignore[attr-defined]
    assert isinstance(entry, AgentEntry)
    assert (entry.name, entry.games, entry.train_frames) == ("mine", ("pong",), 1000)


def test_entry_points_are_listed_after_shipped_agents_which_they_cannot_replace(
    installed: str,
) -> None:
    plugins = ["alpha", "gone", "seven", "zeta"]
    assert runnable_names() == ["random", "noop", "dqn", "dqn_mbe", *plugins]
    assert find_agent("random") is registry.SHIPPED["random"]
    assert find_agent("dqn").description.startswith("DQN, ")


def test_listing_imports_no_plug_in(installed: str) -> None:
    assert [registry.listed_agent(name) for name in ("alpha", "gone", "nosuch")] == [None] * 3
    assert installed not in sys.modules
    for name in ("random", "noop", "dqn", "dqn_mbe"):
        entry = registry.listed_agent(name)
        assert entry is not None
        assert entry.name == name


def test_a_broken_entry_point_is_named(installed: str) -> None:
    message, _ = error_of("gone")
    assert message.startswith("agent 'gone' cannot be imported: AttributeError: ")
    assert "'nosuch'" in message
    assert error_of("seven") == ("agent 'seven' is a int, not a factory", FACTORIES_HINT)


def test_near_misses_of_entry_points_are_suggested(installed: str) -> None:
    assert error_of("alhpa") == ("unknown agent 'alhpa'", f"did you mean 'alpha'? {LISTING}")


def test_code_in_the_current_folder_is_found(module: str, folder: Path) -> None:
    assert str(folder) not in sys.path
    entry = find_agent(f"{module}:Agent")
    assert (entry.name, entry.games, entry.train_frames) == (f"{module}:Agent", None, None)
    agent = make_agent(entry.factory, TASK)
    agent.reset(2)
    assert agent.act(np.zeros((2, 4, 84, 84), np.uint8)).tolist() == [3, 3]
    assert not isinstance(agent, EpisodicAgent)


def test_code_may_name_an_entry(module: str) -> None:
    assert find_agent(f"{module}:entry").games == ("pong",)


def test_code_that_imports_torch_is_told_to_workers(
    module: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not find_agent(f"{module}:Agent").uses_torch
    monkeypatch.setitem(sys.modules, "torch", importlib)
    assert find_agent(f"{module}:Agent").uses_torch


@pytest.mark.parametrize(
    ("suffix", "reason"),
    [
        (":nosuch", "AttributeError: module 'MODULE' has no attribute 'nosuch'"),
        (":", "AttributeError: module 'MODULE' has no attribute ''"),
        ("_gone:Agent", "ModuleNotFoundError: No module named 'MODULE_gone'"),
    ],
)
def test_what_cannot_be_imported(module: str, suffix: str, reason: str) -> None:
    name = module + suffix
    message = f"agent {name!r} cannot be imported: {reason.replace('MODULE', module)}"
    assert error_of(name) == (message, IMPORT_HINT)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise ValueError('first\\nsecond')", "ValueError: first"),
        ("import sys; sys.exit(2)", "SystemExit: 2"),
        ("def f(:", "SyntaxError: invalid syntax (MODULE.py, line 1)"),
    ],
)
def test_code_that_fails_when_it_is_imported(
    module: str, folder: Path, code: str, reason: str
) -> None:
    (folder / f"{module}.py").write_text(code)
    message, hint = error_of(f"{module}:Agent")
    assert message == (
        f"agent '{module}:Agent' cannot be imported: {reason.replace('MODULE', module)}"
    )
    assert hint == IMPORT_HINT


def test_ctrl_c_while_importing_is_no_user_error(module: str, folder: Path) -> None:
    (folder / f"{module}.py").write_text("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        find_agent(f"{module}:Agent")


def test_what_is_not_callable(module: str) -> None:
    assert error_of(f"{module}:number") == (
        f"agent '{module}:number' is a int, not a factory", FACTORIES_HINT,
    )  # fmt: skip


@pytest.mark.parametrize(("factory", "kind"), [("make_nothing", "NoneType"), ("make_half", "Half")])
def test_a_factory_that_returns_no_agent(module: str, factory: str, kind: str) -> None:
    entry = find_agent(f"{module}:{factory}")
    with pytest.raises(UserError) as caught:
        make_agent(entry.factory, TASK)
    assert caught.value.message == f"the factory returned a {kind} without reset() and act()"
    assert caught.value.hint == "an agent has reset(num_lanes) and act(observations) -> actions"


@pytest.mark.parametrize("name", ["policy.pt2", "policy.zip"])
def test_files_are_not_opened_without_trust(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / name).write_bytes(b"what would run")
    really_open = io.open

    def refuse(file: object, *arguments: object, **named: object) -> object:
        assert Path(str(file)).name != name
        return really_open(file, *arguments, **named)  # type: ignore[call-overload]

    monkeypatch.setattr("io.open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(UserError) as caught:
        find_agent(name)
    assert caught.value.message == (
        f"loading {name} may run code that is inside it (it holds pickles)"
    )
    assert caught.value.hint == "if you trust where it comes from, add --trust"


@pytest.mark.parametrize("suffix", [".pt2", ".zip"])
def test_a_trusted_file_is_loaded_by_its_suffix_and_only_when_it_is_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    loaded = []

    def load(path: Path, task: Task) -> NoopAgent:
        loaded.append((str(path), task))
        return NoopAgent(task)

    monkeypatch.setattr(registry, "LOADERS", {**registry.LOADERS, suffix: load})
    (folder / f"deep.q{suffix}").touch()
    entry = find_agent(f"deep.q{suffix}", trust=True)
    assert (entry.name, entry.uses_torch, entry.train_frames) == ("deep.q", True, None)
    assert loaded == []
    make_agent(entry.factory, TASK)
    assert loaded == [(f"deep.q{suffix}", TASK)]


@pytest.mark.parametrize("trust", [False, True])
@pytest.mark.parametrize("name", ["nosuch.pt2", "nosuch.zip", "sub/nosuch.pt2"])
def test_a_file_that_is_not_there(name: str, trust: bool) -> None:
    assert error_of(name, trust=trust) == (f"{name}: no such file", None)


def test_a_folder_is_no_agent_file(folder: Path) -> None:
    (folder / "run.pt2").mkdir()
    assert error_of("run.pt2", trust=True) == ("run.pt2: no such file", None)


@pytest.mark.parametrize("name", ["model.pth", "policy"])
def test_other_files_are_no_agents(folder: Path, name: str) -> None:
    (folder / name).touch()
    assert error_of(name, trust=True) == (
        f"{name} is not a kind of agent file",
        "files that can be played: .pt2, .zip, training runs; code: module:factory",
    )


@pytest.mark.parametrize(
    ("name", "close"),
    [("randm", "random"), ("Random", "random"), ("noops", "noop"), ("dqn_mbee", "dqn_mbe")],
)
def test_near_misses_are_suggested(name: str, close: str) -> None:
    assert error_of(name) == (f"unknown agent {name!r}", f"did you mean {close!r}? {LISTING}")


def test_a_name_like_no_other() -> None:
    assert error_of("xyzzy") == ("unknown agent 'xyzzy'", LISTING)


def test_games_that_are_not_covered() -> None:
    def refused(*arguments: object) -> tuple[str, str | None]:
        with pytest.raises(UserError) as caught:
            check_covered(*arguments)  # type: ignore[arg-type]
        return caught.value.message, caught.value.hint

    check_covered(["pong"], None, "a", "train it")
    check_covered(["pong"], ["alien", "pong"], "a", "train it")
    assert refused(["pong", "qbert"], ["alien", "pong"], "a", "train it") == (
        "agent 'a' does not cover qbert", "it covers alien, pong; train it",
    )  # fmt: skip
    assert refused(["qbert"], ["pong"], "a") == ("agent 'a' does not cover qbert", "it covers pong")
    for games in ([], ["pong"]):
        assert refused(games, [], "a", "train it") == (
            "agent 'a' has no trained weights in this version", "train it",
        )  # fmt: skip
