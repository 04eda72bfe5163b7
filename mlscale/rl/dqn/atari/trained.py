"""Playing the agents of training runs: the `mlscale.agent_runs` entry point of `atari.train`."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core.checkpoints import load_arrays
from mlscale.core.errors import UserError
from mlscale.core.runs import read_run
from mlscale.rl.atari.agents.base import AgentEntry
from mlscale.rl.atari.agents.runs import CHECKPOINTS, find_checkpoint
from mlscale.rl.atari.games import find_game
from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.dqn.atari.weights_file import digest, from_bytes, to_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.rl.atari.agents.base import Agent, Task

STUDY = "atari.train"
ONLINE = "online/"
SETTINGS = ("agent", "game", "frames", "seed", "protocol", "network")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A checkpoint of a training run.

    Args:
        run: The run directory.
        step: Agent steps trained.
        agent: Which agent.
        game: ROM id.
        frames: Emulator frames of the budget.
        seed: Seed of the training.
        protocol: The conditions trained under.
        network: Kind of network.
        data: The weights file.
    """

    run: Path
    step: int
    agent: str
    game: str
    frames: int
    seed: int
    protocol: str
    network: str
    data: bytes

    @property
    def trained_frames(self) -> int:
        """Emulator frames trained so far."""
        return self.step * PROTOCOLS[self.protocol].frame_skip

    @property
    def checkpoint(self) -> Path:
        """The checkpoint's folder."""
        return self.run / CHECKPOINTS / str(self.step)

    @property
    def sha256(self) -> str:
        """What the weights are told apart by."""
        return digest(self.data)


def read_trained(path: Path) -> Trained:
    """Return the checkpoint that a path stands for.

    Args:
        path: A run directory of `mlscale atari train`, or one of its `checkpoints/STEP`.

    Raises:
        UserError: It is no such run, or has no checkpoint, or a damaged one.
    """
    run, step = find_checkpoint(path)
    stored = read_run(run)
    if stored.study != STUDY:
        raise UserError(f"{run} holds a run of {stored.study}, not of {STUDY}")
    try:
        settings: dict[str, Any] = {name: stored.config[name] for name in SETTINGS}
    except KeyError as error:
        raise UserError(f"{run / 'config.json'} has no {error}") from None
    settings["game"] = find_game(settings["game"]).rom_id
    arrays = load_arrays(run / CHECKPOINTS, step, ONLINE)
    return Trained(run=run, step=step, data=to_bytes(arrays, str(path)), **settings)


def agent_of_runs(paths: Sequence[Path]) -> AgentEntry:
    """Return the agent that plays the newest checkpoints of some training runs.

    Args:
        paths: Run directories or checkpoints, one a game; at least one.

    Raises:
        UserError: One of them cannot be read, two are of one game, or they are of two agents.
    """
    trained = [read_trained(path) for path in paths]
    _check_distinct(trained)
    by_game = {one.game: one for one in trained}
    frames = {one.trained_frames for one in trained}
    (agent,) = {one.agent for one in trained}
    played = ", ".join(f"{one.game} after {one.trained_frames:,} frames" for one in trained)
    return AgentEntry(
        name=agent,
        factory=functools.partial(_make, by_game),
        games=tuple(by_game),
        description=f"from {', '.join(str(one.run) for one in trained)}",
        train_frames=frames.pop() if len(frames) == 1 else None,
        uses_torch=True,
        note=f"{agent} plays its training runs: {played}; weights rounded to float16, as they ship",
        other_games=f"`mlscale atari train --agent {agent} --game GAME` trains another",
        weights={
            one.game: {
                "sha256": one.sha256,
                "run": str(one.run),
                "step": one.step,
                "frames": one.trained_frames,
            }
            for one in trained
        },
        checkpoints={one.game: one.checkpoint for one in trained},
    )


def _check_distinct(trained: Sequence[Trained]) -> None:
    agents = sorted({one.agent for one in trained})
    if len(agents) > 1:
        raise UserError(
            f"the runs trained different agents: {', '.join(agents)}", "evaluate one at a time"
        )
    games = [one.game for one in trained]
    for game in games:
        if games.count(game) > 1:
            raise UserError(f"two of the runs trained {game}", "name one run a game")


def _make(by_game: dict[str, Trained], task: Task) -> Agent:
    from mlscale.rl.atari.agents.actions import offered_actions
    from mlscale.rl.dqn.atari.agent import make_value_agent

    one = by_game[task.game]
    trained_ids = offered_actions(one.game, PROTOCOLS[one.protocol])
    weights = from_bytes(one.data, str(one.checkpoint))
    return make_value_agent(weights, one.network, trained_ids, task)
