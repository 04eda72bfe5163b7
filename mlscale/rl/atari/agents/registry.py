"""Finding an agent: shipped ones, entry points, `module:factory`, files, training runs.

Packages add agents by name through the entry point group `mlscale.agents`; an entry point is an
`AgentEntry` or a factory. Those of mlscale's own other packages come in the same way.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError, one_line, unknown_name
from mlscale.rl.atari.agents.base import Agent, AgentEntry, AgentFactory, Task
from mlscale.rl.atari.agents.runs import agent_of_runs, is_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "mlscale.agents"


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
    """Return the names of the agents that can be played: shipped ones, mlscale's own, plug-ins."""
    points = [point for point in _entry_points().values() if point.name not in SHIPPED]
    ordered = sorted(points, key=lambda point: (not _is_own(point), point.name))
    return [*SHIPPED, *(point.name for point in ordered)]


def listed_agent(name: str) -> AgentEntry | None:
    """Return an agent of mlscale's own; None for a plug-in, which may be slow to import."""
    if name in SHIPPED:
        return SHIPPED[name]
    point = _entry_points().get(name)
    return find_agent(name) if point is not None and _is_own(point) else None


def _entry_points() -> dict[str, EntryPoint]:
    """Return the agents of installed packages by name; mlscale's own cannot be replaced."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    first_of_path_last = sorted(points, key=lambda point: not _is_own(point))[::-1]
    return {point.name: point for point in first_of_path_last}


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == "mlscale"


def find_agent(name: str, *, trust: bool = False, checkpoints: Sequence[Path] = ()) -> AgentEntry:
    """Return the agent called `name`.

    Args:
        name: A shipped agent or an entry point, `module:factory`, a file (`.pt2` from
            torch.export, `.zip` from Stable-Baselines3) or a training run.
        trust: Whether files whose loading runs pickle may be opened.
        checkpoints: Training runs, or checkpoints of them, to play instead of shipped weights;
            the name may then be empty.

    Raises:
        UserError: There is no such agent, or it cannot be loaded.
    """
    if checkpoints:
        return _from_runs(name, checkpoints)
    if name in SHIPPED:
        return SHIPPED[name]
    point = _entry_points().get(name)
    if point is not None:
        return _from_object(name, _import_guarded(name, point.load))
    path = Path(name)
    if path.suffix in LOADERS:
        return _from_file(path, trust=trust)
    if is_run(path):
        return agent_of_runs([path])
    if path.exists():
        raise UserError(
            f"{path} is not a kind of agent file",
            f"files that can be played: {', '.join(LOADERS)}, training runs; code: module:factory",
        )
    if ":" in name:
        return _from_object(name, _import_guarded(name, functools.partial(_attribute, name)))
    listing = "`mlscale atari agents` lists them; code of your own is named module:factory"
    raise unknown_name("agent", name, runnable_names(), listing=listing)


def _from_runs(name: str, checkpoints: Sequence[Path]) -> AgentEntry:
    entry = agent_of_runs(checkpoints)
    if name and name != entry.name:
        raise UserError(
            f"{checkpoints[0]} trained agent {entry.name!r}, not {name!r}",
            "leave --agent out, or name another run",
        )
    return entry


def _attribute(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # console scripts leave the user's own folder out
    return getattr(importlib.import_module(module), attribute)


def _import_guarded(name: str, load: Any) -> Any:
    try:
        return load()
    except UserError:
        raise
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


def check_covered(
    games: Sequence[str], covered: Sequence[str] | None, name: str, other_games: str = ""
) -> None:
    """Refuse games that an agent cannot play.

    Args:
        games: ROM ids; none for an agent without any game.
        covered: Those it can play, None for all.
        name: The agent's name.
        other_games: How other games can be had.

    Raises:
        UserError: A game is not covered, or none is.
    """
    if covered is None:
        return
    if not covered:
        raise UserError(f"agent {name!r} has no trained weights in this version", other_games)
    missing = [game for game in games if game not in covered]
    if missing:
        hint = f"it covers {', '.join(covered)}"
        raise UserError(
            f"agent {name!r} does not cover {', '.join(missing)}",
            f"{hint}; {other_games}" if other_games else hint,
        )


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
