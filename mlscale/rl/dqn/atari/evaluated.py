"""What evaluations say of trained weights: the numbers that the manifest holds of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlscale.core import stats
from mlscale.core.errors import UserError
from mlscale.core.metrics_log import read_records
from mlscale.core.runs import StoredRun, read_run
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.dqn.atari.command_line import command_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


RESAMPLES = 10_000
PLAYED = ("protocol", "episodes", "seeds", "seed", "lanes")
"""Settings of an evaluation that its scores depend on, beside agent and game."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A game's episodes in a finished evaluation.

    Args:
        stored: The evaluation's run.
        game: ROM id.
        sha256: The weights that played.
        scores_E: (E,) game points of all episodes, every seed's.
    """

    stored: StoredRun
    game: str
    sha256: str
    scores_E: NDArray[np.float64]

    def described(self, agent: str) -> dict[str, Any]:
        """Return what the manifest says of it: score, interval, how it was played."""
        config, environment = self.stored.config, self.stored.result["environment"]
        settings = {name: config[name] for name in PLAYED}
        replayed = EvalConfig(agent=agent, games=self.game, **settings)
        mean, ci95 = mean_score(self.scores_E)
        return {
            "command": command_line("mlscale atari eval", replayed),
            **{name: environment[name] for name in ("git", "dirty", "mlscale", "torch")},
            "protocol": config["protocol"],
            "mean": mean,
            "ci95": ci95,
            "episodes": self.scores_E.size,
            "seeds": config["seeds"],
        }


def mean_score(scores_E: NDArray[np.float64]) -> tuple[float, list[float] | None]:
    """Return the mean of a policy's episodes and its 95 % interval, over episodes.

    The interval says how well the episodes tell this policy's score, not how trainings differ.

    Args:
        scores_E: (E,) game points.
    """
    intervals = stats.bootstrap(
        [scores_E], lambda x_BE: x_BE.mean(axis=-1, keepdims=True), num_resamples=RESAMPLES
    )
    return float(scores_E.mean()), list(intervals.at(0)) if intervals else None


def read_evaluations(path: Path) -> list[Evaluation]:
    """Return the games of a finished evaluation of trained weights.

    Raises:
        UserError: It is no such evaluation, is not finished, or had a frame cap of its own.
    """
    stored = read_run(path)
    if stored.study != "atari.eval":
        raise UserError(f"{path} holds a run of {stored.study}, not an evaluation")
    if stored.status != "complete":
        raise UserError(f"{path} is not finished: it is {stored.status}")
    weights = stored.result["protocol"].get("weights")
    if not weights:
        raise UserError(f"{path} does not say which weights it played")
    if stored.config["max_frames"] is not None:
        raise UserError(f"{path} was cut off by --max-frames {stored.config['max_frames']}")
    records = read_records(path / "metrics.jsonl")
    return [
        Evaluation(
            stored=stored,
            game=game,
            sha256=known["sha256"],
            scores_E=_scores(records, game, stored),
        )
        for game, known in weights.items()
    ]


def _scores(records: list[dict[str, Any]], game: str, stored: StoredRun) -> NDArray[np.float64]:
    config: Mapping[str, Any] = stored.config
    seeds = range(config["seed"], config["seed"] + config["seeds"])
    counted = {
        (record["seed"], record["episode"]): record["score"]
        for record in records
        if record["game"] == game
        and record["seed"] in seeds
        and record["episode"] < config["episodes"]
    }
    if len(counted) != config["seeds"] * config["episodes"]:
        raise UserError(f"{stored.path} lacks episodes of {game}")
    return np.array([counted[key] for key in sorted(counted)], dtype=np.float64)
