"""`mlscale atari games` and `mlscale atari agents`: what there is to score and to play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.results import Result
from mlscale.rl.atari.agents.registry import listed_agent, runnable_names
from mlscale.rl.atari.games import parse_games
from mlscale.rl.atari.published import published_agents, published_scores
from mlscale.rl.atari.scoring import find_reference

if TYPE_CHECKING:
    from mlscale.core.runs import Run
    from mlscale.rl.atari.config import AgentsConfig, GamesConfig


def run_games(config: GamesConfig, run: Run) -> Result:
    """Return the games with their reference scores."""
    reference = find_reference(config.records)
    rows = [
        {
            "game": game.rom_id,
            "name": game.display_name,
            "ale_id": game.ale_id,
            "random": reference.random.get(game.rom_id),
            "human": reference.human.get(game.rom_id),
            "record": reference.record.get(game.rom_id),
        }
        for game in parse_games(config.games)
    ]
    return Result(
        study=run.study,
        protocol={"records": reference.name, "references": reference.source},
        tables={"games": rows},
    )


def run_agents(config: AgentsConfig, run: Run) -> Result:
    """Return the agents: those that can be played, and those that are published tables."""
    runnable = [_runnable(name) for name in runnable_names()]
    published = [
        {
            "agent": agent.id,
            "name": agent.display_name,
            "aliases": list(agent.aliases),
            "games": len(published_scores(agent)),
            "frames": agent.frames,
            "protocol": agent.protocol,
            "paper": agent.paper,
            "source": agent.source,
            "caveats": list(agent.caveats),
        }
        for agent in published_agents()
    ]
    return Result(study=run.study, tables={"runnable": runnable, "published": published})


def _runnable(name: str) -> dict[str, Any]:
    entry = listed_agent(name)
    if entry is None:
        return {"agent": name, "description": "plug-in", "games": None, "frames": None}
    return {
        "agent": name,
        "description": entry.description,
        "games": None if entry.games is None else list(entry.games),
        "frames": entry.train_frames,
    }
