"""The published agents: one score per game, read from papers and their transcriptions.

What each number is and how far to trust it is told in `data/PROVENANCE.md`. The scores were
measured under unequal protocols and have no spread, so they carry no interval. Standard library
only.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from dataclasses import dataclass

from mlscale.core.errors import unknown_name
from mlscale.rl.atari.games import fold_name, shipped_rows


@dataclass(frozen=True, slots=True)
class PublishedAgent:
    """A published score table and what is known about it.

    Attributes:
        id: The name on the command line.
        aliases: Other names it answers to.
        display_name: The name in print.
        column: Its column in `data/scores.csv`.
        paper: Where the scores were published.
        frames: Training frames per game, or None where no source read states them.
        protocol: How the scores were measured, in words.
        source: Where the numbers were read.
        caveats: What a reader of the scores must know.
    """

    id: str
    aliases: tuple[str, ...]
    display_name: str
    column: str
    paper: str
    frames: int | None
    protocol: str
    source: str
    caveats: tuple[str, ...]


@functools.cache
def published_agents() -> tuple[PublishedAgent, ...]:
    """Return every published agent, in the order of the columns of `data/scores.csv`."""
    text = (importlib.resources.files(__package__) / "data" / "agents.json").read_text("utf-8")
    return tuple(
        PublishedAgent(
            aliases=tuple(entry.pop("aliases")), caveats=tuple(entry.pop("caveats")), **entry
        )
        for entry in json.loads(text)
    )


@functools.cache
def _agents_by_folded_name() -> dict[str, PublishedAgent]:
    return {
        fold_name(name): agent
        for agent in published_agents()
        for name in (agent.id, agent.column, agent.display_name, *agent.aliases)
    }


def is_published(name: str) -> bool:
    """Say whether `name` is a spelling of a published agent."""
    return fold_name(name) in _agents_by_folded_name()


def find_published(name: str) -> PublishedAgent:
    """Return the published agent that `name` spells: its id, alias, column or printed name.

    Raises:
        UserError: No published agent is called that.
    """
    agent = _agents_by_folded_name().get(fold_name(name))
    if agent is None:
        ids = [agent.id for agent in published_agents()]
        raise unknown_name(
            "published agent", name, ids, listing=f"published agents: {', '.join(ids)}"
        )
    return agent


@functools.cache
def _scores(column: str) -> dict[str, float]:
    # Adding zero turns the table's one "-0" into 0.
    return {row["game"]: float(row[column]) + 0.0 for row in shipped_rows() if row[column]}


def published_scores(agent: PublishedAgent) -> dict[str, float]:
    """Return the agent's scores in game points by ROM id, without the games it has none for."""
    return dict(_scores(agent.column))
