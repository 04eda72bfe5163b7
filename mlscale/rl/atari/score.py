"""`mlscale atari score`: the metrics of a score table of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.rl.atari.outcome import outcome
from mlscale.rl.atari.score_files import read_scores
from mlscale.rl.atari.scoring import AgentRuns, find_reference, keep_games

if TYPE_CHECKING:
    from pathlib import Path

    from mlscale.core.results import Result
    from mlscale.core.runs import Run
    from mlscale.rl.atari.config import ScoreConfig


def run(config: ScoreConfig, run: Run) -> Result:
    """Score every agent of the table.

    Raises:
        UserError: The table or the record list is malformed.
    """
    reference = find_reference(config.records)
    agents = keep_games(read_agents(config.file, run), config.games)
    return outcome(run, agents, config, reference, title=f"Scores of {config.file.name}")


def read_agents(file: Path, run: Run) -> list[AgentRuns]:
    """Return the agents of a score table, saying which of its columns were not used."""
    table = read_scores(file)
    if table.ignored_columns:
        run.note(f"{table.source}: columns not used: {', '.join(table.ignored_columns)}")
    return [
        AgentRuns(agent=agent.agent, scores=agent.scores, frames=agent.frames, origin=table.source)
        for agent in table.agents
    ]
