"""The jobs of an evaluation: one per game and seed, a record per finished episode.

Episodes depend on (agent, game, protocol, seed, episode number) and on how many are asked for,
not on timing, so a job goes on after its last record and loses only what it was playing.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core.engine.jobs import Job, Progress, Record
from mlscale.core.engine.work import limit_threads
from mlscale.core.seeding import derive_seed
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.registry import find_agent, make_agent
from mlscale.rl.atari.play import Pulse, play_episodes
from mlscale.rl.atari.protocols import PROTOCOLS, Protocol
from mlscale.rl.atari.stretches import EpisodeStart, cut_into_stretches

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mlscale.rl.atari.agents.base import Agent
    from mlscale.rl.atari.config import EvalConfig

WORK = "mlscale.rl.atari.jobs:play_job"
THREADS_PER_WORKER = 2  # one emulates while the other acts
POLICY_THREADS = 1  # a second one would wait, spinning, for the core the emulators are on


def make_jobs(
    config: EvalConfig,
    games: Sequence[str],
    device: str = "cpu",
    checkpoints: Mapping[str, Path] | None = None,
) -> list[Job]:
    """Return one job per game and seed.

    Args:
        config: What to play, how often and under which conditions.
        games: ROM ids.
        device: Torch device of the policy.
        checkpoints: By game, what plays it where that is a checkpoint. Jobs are told the step:
            the newest one may be another by the time they begin.
    """
    protocol = resolve_protocol(config)
    named = {game: [str(path.resolve())] for game, path in (checkpoints or {}).items()}
    return [
        Job(
            key=f"{game}/{seed}",
            payload={
                "agent": "" if game in named else config.agent,
                "checkpoints": named.get(game, []),
                "trust": config.trust,
                "device": device,
                "game": game,
                "seed": seed,
                "episodes": config.episodes,
                "lanes": config.lanes,
                "protocol": dataclasses.asdict(protocol),
            },
        )
        for game in games
        for seed in range(config.seed, config.seed + config.seeds)
    ]


def resolve_protocol(config: EvalConfig) -> Protocol:
    """Return the protocol, with the user's frame cap where there is one."""
    protocol = PROTOCOLS[config.protocol]
    if config.max_frames is None:
        return protocol
    name = f"{protocol.name}, cap {config.max_frames}"
    return dataclasses.replace(protocol, name=name, max_frames=config.max_frames)


def episode_start(game: str, seed: int, number: int) -> EpisodeStart:
    """Return the episode of that number in an evaluation of a game with a seed."""
    return EpisodeStart(
        episode=number,
        emulator_seed=derive_seed(seed, "emulator", game, number),
        agent_seed=derive_seed(seed, "agent", game, number),
    )


def play_job(
    payload: Mapping[str, Any], finished: Sequence[Record]
) -> Iterator[Record | Progress | None]:
    """Play the episodes of one game and seed that are not finished; see `Work`."""
    game, seed = payload["game"], payload["seed"]
    protocol = Protocol(**payload["protocol"])
    checkpoints = [Path(path) for path in payload["checkpoints"]]
    entry = find_agent(payload["agent"], trust=payload["trust"], checkpoints=checkpoints)
    limit_threads(POLICY_THREADS)
    action_ids = offered_actions(game, protocol)

    def agent_of(group: int) -> Agent:
        task = Task(
            game=game,
            action_ids=action_ids,
            seed=derive_seed(seed, "group", game, group),
            device=payload["device"],
        )
        return make_agent(entry.factory, task)

    done = {record["episode"] for record in finished}
    numbers = [number for number in range(payload["episodes"]) if number not in done]
    starts = [episode_start(game, seed, number) for number in numbers]
    played = play_episodes(
        game,
        protocol,
        cut_into_stretches(starts, payload["episodes"]),
        agent_of,
        num_actions=len(action_ids),
        max_lanes=min(payload["lanes"], payload["episodes"]),
    )
    for event in played:
        if isinstance(event, Pulse):
            yield Progress({"frames": event.frames})
        else:
            yield {"game": game, "seed": seed, **dataclasses.asdict(event)}
