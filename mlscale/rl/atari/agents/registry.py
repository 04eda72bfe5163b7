"""Finding an agent: shipped ones, entry points, `module:factory`, files.

Other packages add agents by name through the entry point group `mlscale.agents`; an entry
point is an `AgentEntry` or a factory.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any

from mlscale.core.errors import UserError, one_line, unknown_name
from mlscale.rl.atari.agents.base import Agent, AgentEntry, AgentFactory, Task

ENTRY_POINTS = "mlscale.agents"
UNTRAINED = ("dqn", "dqn_mbe")


def _make_random(task: Task) -> Agent:
    from mlscale.rl.atari.agents.random_agent import RandomAgent

    return RandomAgent(task)


def _make_noop(task: Task) -> Agent:
    from mlscale.rl.atari.agents.noop_agent import NoopAgent

    return NoopAgent(task)


SHIPPED = {
    entry.name: entry
    for entry in (
        AgentEntry(
            name="random",
            factory=_make_random,
            description="every action equally likely",
            train_frames=0,
        ),
        AgentEntry(
            name="noop",
            factory=_make_noop,
            description="never touches the joystick",
            train_frames=0,
        ),
    )
}


def runnable_names() -> list[str]:
    """Return the names of the agents that can be played, shipped ones first."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return [*SHIPPED, *sorted(point.name for point in points if point.name not in SHIPPED)]


def find_agent(name: str, *, trust: bool = False) -> AgentEntry:
    """Return the agent called `name`.

    Args:
        name: A shipped agent or an entry point, `module:factory`, or a file (`.pt2` from
            torch.export, `.zip` from Stable-Baselines3).
        trust: Whether files whose loading runs pickle may be opened.

    Raises:
        UserError: There is no such agent, or it cannot be loaded.
    """
    if name in SHIPPED:
        return SHIPPED[name]
    points = importlib.metadata.entry_points(group=ENTRY_POINTS, name=name)
    if points:
        return _from_object(name, _import_guarded(name, next(iter(points)).load))
    if name in UNTRAINED:
        raise UserError(
            f"agent {name!r} has no trained weights in this version",
            f"`mlscale atari train --agent {name} --game pong` trains it where it is available; "
            f"to play now: {', '.join(runnable_names())}",
        )
    path = Path(name)
    if path.suffix in LOADERS:
        return _from_file(path, trust=trust)
    if path.exists():
        raise UserError(
            f"{path} is not a kind of agent file",
            f"files that can be played: {', '.join(LOADERS)}; code: module:factory",
        )
    if ":" in name:
        return _from_object(name, _import_guarded(name, functools.partial(_attribute, name)))
    listing = "`mlscale atari agents` lists them; code of your own is named module:factory"
    raise unknown_name("agent", name, [*runnable_names(), *UNTRAINED], listing=listing)


def _attribute(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # console scripts leave the user's own folder out
    return getattr(importlib.import_module(module), attribute)


def _import_guarded(name: str, load: Any) -> Any:
    try:
        return load()
    except (Exception, SystemExit) as error:  # a script may exit when it is imported
        raise UserError(
            f"agent {name!r} cannot be imported: {one_line(error)}",
            "name it module:factory, importable from here",
        ) from error


def _from_object(name: str, found: Any) -> AgentEntry:
    if isinstance(found, AgentEntry):
        return found
    if not callable(found):
        raise UserError(
            f"agent {name!r} is a {type(found).__name__}, not a factory",
            "a factory takes a Task and returns an agent with reset() and act()",
        )
    return AgentEntry(
        name=name,
        factory=found,
        description="from code of your own",
        uses_torch="torch" in sys.modules,
    )


def _from_file(path: Path, *, trust: bool) -> AgentEntry:
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    if not trust:
        raise UserError(
            f"loading {path} may run code that is inside it (it holds pickles)",
            "if you trust where it comes from, add --trust",
        )
    factory = functools.partial(LOADERS[path.suffix], path)
    return AgentEntry(
        name=path.stem, factory=factory, description=f"from {path.name}", uses_torch=True
    )


def _load_exported(path: Path, task: Task) -> Agent:
    from mlscale.rl.atari.agents.exported import load_exported

    return load_exported(path, task)


def _load_sb3(path: Path, task: Task) -> Agent:
    from mlscale.rl.atari.agents.sb3 import load_sb3

    return load_sb3(path, task)


LOADERS = {".pt2": _load_exported, ".zip": _load_sb3}


def make_agent(factory: AgentFactory, task: Task) -> Agent:
    """Return the agent a factory makes for `task`.

    Raises:
        UserError: What it returns is no agent.
    """
    agent = factory(task)
    if not isinstance(agent, Agent):
        raise UserError(
            f"the factory returned a {type(agent).__name__} without reset() and act()",
            "an agent has reset(num_lanes) and act(observations) -> actions",
        )
    return agent
