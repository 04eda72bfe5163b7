"""`mlscale atari compare`: published agents, score tables and earlier evaluations side by side."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError, unknown_name
from mlscale.core.runs import read_run
from mlscale.rl.atari.agents.registry import runnable_names
from mlscale.rl.atari.outcome import UNEQUAL_PROTOCOLS, outcome
from mlscale.rl.atari.published import (
    PublishedAgent,
    find_published,
    is_published,
    published_agents,
    published_scores,
)
from mlscale.rl.atari.score import read_agents
from mlscale.rl.atari.scoring import AgentRuns, find_reference, keep_games

if TYPE_CHECKING:
    from mlscale.core.results import Result
    from mlscale.core.runs import Run
    from mlscale.rl.atari.config import CompareConfig


def run(config: CompareConfig, run: Run) -> Result:
    """Score every named agent and set them side by side.

    Raises:
        UserError: A name is neither a published agent, nor a table, nor a run.
    """
    reference = find_reference(config.records)
    agents = [found for name in config.agents for found in find_runs(name, run)]
    _check_names(agents)
    agents = keep_games(agents, config.games)
    if any(agent.origin.startswith("published") for agent in agents):
        run.note(UNEQUAL_PROTOCOLS)
    origins = {agent.origin for agent in agents if agent.origin.startswith("played")}
    if len(origins) > 1:
        run.note(f"the evaluations were played differently: {'; '.join(sorted(origins))}")
    title = " against ".join(agent.agent for agent in agents)
    return outcome(run, agents, config, reference, title=title)


def find_runs(name: str, run: Run) -> list[AgentRuns]:
    """Return the scores that `name` stands for.

    Args:
        name: A published agent, a run directory of `atari eval`, or a score table;
            `LABEL=NAME` gives one of them another name.
        run: Told of columns that were not used.

    Raises:
        UserError: It is none of these.
    """
    label, _, rest = name.partition("=")
    if label and rest and not Path(name).exists():
        found = find_runs(rest, run)
        if len(found) > 1:
            raise UserError(f"{rest} holds {len(found)} agents; {label!r} can name one only")
        return [dataclasses.replace(found[0], agent=label)]
    path = Path(name)
    if path.is_file():
        return read_agents(path, run)
    if is_published(name) and not (path / "result.json").exists():  # a folder may be called so
        return [runs_of_published(find_published(name))]
    if path.is_dir():
        return [runs_of_evaluation(path)]
    if name in runnable_names():
        raise UserError(
            f"agent {name!r} has no published scores; it is played, not looked up",
            f"`mlscale atari eval --agent {name} --out DIR`, then compare DIR",
        )
    choices = [agent.id for agent in published_agents()]
    listing = "`mlscale atari agents` lists them; a score table or a run directory will do too"
    raise unknown_name("agent", name, choices, listing=listing)


def runs_of_published(agent: PublishedAgent) -> AgentRuns:
    """Return a published agent's scores: one number per game."""
    return AgentRuns(
        agent=agent.id,
        scores={game: np.array([score]) for game, score in published_scores(agent).items()},
        frames=agent.frames,
        origin=f"published: {agent.paper}",
        caveats=agent.caveats,
    )


def runs_of_evaluation(path: Path) -> AgentRuns:
    """Return the scores of a finished evaluation.

    Raises:
        UserError: The directory holds no finished evaluation.
    """
    stored = read_run(path)
    if stored.study != "atari.eval":
        raise UserError(
            f"{path} holds a run of {stored.study}, not an evaluation",
            "name the agents and score tables themselves",
        )
    if stored.status != "complete":
        raise UserError(
            f"{path} holds no finished evaluation: it is {stored.status}",
            f"`mlscale runs resume {path}` finishes it",
        )
    (agent,) = stored.result["tables"]["agents"]
    return AgentRuns(
        agent=agent["agent"],
        scores={
            row["game"]: np.array(row.get("scores", [row["score"]]), dtype=float)
            for row in agent["games"]  # a published agent that was named to `eval` has one score
        },
        frames=agent["frames"],
        origin=str(agent["origin"]),
    )


def _check_names(agents: list[AgentRuns]) -> None:
    names = [agent.agent for agent in agents]
    for name in names:
        if names.count(name) > 1:
            raise UserError(
                f"two of the agents are called {name!r}",
                "give one another name: LABEL=NAME, as in first=RUN_DIRECTORY",
            )
