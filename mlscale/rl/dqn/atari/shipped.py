"""The trained agents that come with mlscale: what `weights/manifest.json` says, and its files.

The manifest is written by `python -m mlscale.rl.dqn.atari.ship`. The entries below are what
the entry points of `mlscale.agents` name; to make them costs reading the manifest.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.base import AgentEntry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

    from mlscale.rl.atari.agents.base import Agent, Task
    from mlscale.rl.dqn.atari.weights_file import Weights

SCHEMA = "mlscale.weights/1"
MANIFEST = "manifest.json"
FOLDER: Traversable = importlib.resources.files("mlscale.rl.dqn.atari") / "weights"
NUM_GAMES = 57
METHODS = {"dqn": "DQN", "dqn_mbe": "DQN with model-based exploration"}


def read_manifest(folder: Traversable = FOLDER) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what is known of every shipped file, by agent and game; nothing without a manifest.

    Raises:
        UserError: The manifest is damaged.
    """
    try:
        document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        agents: dict[str, dict[str, dict[str, Any]]] = document["agents"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"the manifest of the shipped weights is damaged: {error}", "install mlscale again"
        ) from None
    return agents


def shipped_agent(name: str, folder: Traversable = FOLDER) -> AgentEntry:
    """Return a shipped agent, which covers no game where no weights ship.

    Args:
        name: "dqn" or "dqn_mbe".
        folder: Where manifest and files are.

    Raises:
        UserError: The manifest is damaged.
    """
    games = read_manifest(folder).get(name, {})
    frames = sorted({int(known["frames"]) for known in games.values()})
    coverage = f"{len(games)} of {NUM_GAMES} games"
    budget = " to ".join(_short(count) for count in dict.fromkeys(frames[:1] + frames[-1:]))
    return AgentEntry(
        name=name,
        factory=functools.partial(_make, folder, games),
        games=tuple(games),
        description=f"{METHODS[name]}, "
        + (f"{budget} frames a game, {coverage}" if games else "no weights for any game yet"),
        train_frames=frames[0] if len(frames) == 1 else None,
        uses_torch=True,
        note=f"{name} ships weights for {coverage}, trained on {budget} frames each: "
        f"{', '.join(games)}"
        if games
        else "",
        other_games=f"`mlscale atari train --agent {name} --game GAME` trains one, "
        f"`mlscale atari eval --ckpt RUN` plays it",
        weights={
            game: {"sha256": known["sha256"], "file": known["file"], "frames": known["frames"]}
            for game, known in games.items()
        },
    )


def _short(frames: int) -> str:
    for scale, unit in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if frames >= scale:
            return f"{frames / scale:g}{unit}"
    return str(frames)


@functools.cache
def load_shipped(folder: Traversable, file: str, sha256: str) -> Weights:
    """Return the weights in a shipped file, read and checked once a process.

    Raises:
        UserError: The file is missing, or is not the one the manifest was written for.
    """
    from mlscale.rl.dqn.atari.weights_file import digest, from_bytes

    try:
        data = (folder / file).read_bytes()
    except OSError as error:
        raise UserError(
            f"the shipped weights {file} cannot be read: {error.strerror}", "install mlscale again"
        ) from None
    if digest(data) != sha256:
        raise UserError(
            f"the shipped weights {file} are damaged: their SHA-256 is not that of the manifest",
            "install mlscale again",
        )
    return from_bytes(data, file)


def _make(folder: Traversable, games: Mapping[str, Mapping[str, Any]], task: Task) -> Agent:
    from mlscale.rl.dqn.atari.agent import make_value_agent

    known = games[task.game]
    weights = load_shipped(folder, known["file"], known["sha256"])  # type: ignore[arg-type]
    return make_value_agent(weights, known["network"], known["action_ids"], task)


DQN = shipped_agent("dqn")
DQN_MBE = shipped_agent("dqn_mbe")
