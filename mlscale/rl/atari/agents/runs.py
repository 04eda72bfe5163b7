"""Agents from the run directories of those who train them.

A package says how its trained agents are played through the entry point group
`mlscale.agent_runs`: named after the study whose runs it plays, a function from the run
directories, one a game, to an `AgentEntry`.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from mlscale.core.checkpoints import checkpoint_steps
from mlscale.core.errors import UserError
from mlscale.core.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mlscale.rl.atari.agents.base import AgentEntry

    RunsLoader = Callable[[Sequence[Path]], AgentEntry]

RUN_ENTRY_POINTS = "mlscale.agent_runs"
CHECKPOINTS = "checkpoints"


def is_run(path: Path) -> bool:
    """Say whether a path is a run directory, or a checkpoint of one."""
    return (_run_of(path) / "result.json").is_file()


def find_checkpoint(path: Path) -> tuple[Path, int]:
    """Return the run and the step that a path stands for.

    Args:
        path: A run directory, for its newest checkpoint, or one of its `checkpoints/STEP`.

    Raises:
        UserError: The run has no checkpoint.
    """
    run = _run_of(path)
    if run != path:
        return run, int(path.name)
    steps = checkpoint_steps(run / CHECKPOINTS)
    if not steps:
        raise UserError(f"{path} has no checkpoint yet", "name a run that was trained further")
    return run, steps[-1]


def _run_of(path: Path) -> Path:
    is_checkpoint = path.parent.name == CHECKPOINTS and path.name.isdigit()
    return path.parent.parent if is_checkpoint else path


def agent_of_runs(paths: Sequence[Path]) -> AgentEntry:
    """Return the agent that some training runs trained, one game each.

    Args:
        paths: Run directories of one study, or checkpoints of them; at least one.

    Raises:
        UserError: One is no run, or of a study that trains no agent.
    """
    studies = {read_run(_run_of(path)).study: path for path in paths}
    if len(studies) > 1:
        raise UserError(f"the runs are of different studies: {', '.join(sorted(studies))}")
    ((study, path),) = studies.items()
    points = importlib.metadata.entry_points(group=RUN_ENTRY_POINTS, name=study)
    if not points:
        raise UserError(
            f"{path} holds a run of {study}, which trains no agent for these games",
            "name a run directory of `mlscale atari train`",
        )
    loader: RunsLoader = next(iter(points)).load()
    return loader(paths)
