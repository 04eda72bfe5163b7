"""From agents' raw scores to everything that is shown of them: `score`, `compare`, `eval` share it.

The outcome is plain data (`tables` of the result), so that the terminal, the report and a
user's own script read the same numbers:

- `agents`: one entry per agent: `agent`, `origin`, `caveats`, `frames`, `aggregates` (name to
  value and ci95), `games` (one row per game), `record_games`, `hns_games`, `without_record`,
  `learning_efficiency` (per frame), `game_days`;
- `profiles`: `thresholds` and, per agent, the share of runs above each, with its interval;
- `improvement`: P(X > Y) for every ordered pair of agents, over the games both have.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlscale.core import stats
from mlscale.core.errors import UserError, unknown_name
from mlscale.core.results import Metric
from mlscale.rl.atari import atari5, metrics
from mlscale.rl.atari.games import find_game, parse_games
from mlscale.rl.atari.records import RECORD_LISTS, Reference, read_reference, shipped_reference

if TYPE_CHECKING:
    from mlscale.rl.atari.config import Conventions

EFFICIENCIES = ("hns_mean", "hns_median", "hwrns_mean", "hwrns_median", "saber_mean")
UNITS = {
    "hns": "human-normalised",
    "chns": "human-normalised, clipped to 0..1",
    "hwrns": "record-normalised",
    "saber": "record-normalised, clipped at 2",
    "records": "games",
    "atari57": "human-normalised",
}
HUMAN_FAMILIES = ("hns", "chns", "atari57")
VIDEO_PINBALL = (
    "Video Pinball's random score is 0 in these references, as published means need it; other "
    "tables have 16,256.9, so the HNS of freshly played scores of that game is too high"
)
PROFILE_THRESHOLDS = np.logspace(-3, 1, 81)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRuns:
    """The raw scores of one agent.

    Args:
        agent: Its name.
        scores: Per ROM id, (R,) game points, one per seed.
        frames: Training frames per game, where known.
        origin: How the scores came about, in a few words.
        caveats: What a reader must know of them.
    """

    agent: str
    scores: Mapping[str, NDArray[np.float64]]
    frames: int | None = None
    origin: str
    caveats: tuple[str, ...] = ()


def find_reference(name: str) -> Reference:
    """Return the record list `name`: a shipped one, or a file of the user's own.

    Raises:
        UserError: It is neither, or the file is malformed.
    """
    if name in RECORD_LISTS:
        return shipped_reference(name)
    path = Path(name)
    if path.exists() or path.suffix:
        return read_reference(path)
    listing = f"record lists: {', '.join(RECORD_LISTS)}, or a FILE with game,record"
    raise unknown_name("record list", name, RECORD_LISTS, listing=listing)


def keep_games(agents: Sequence[AgentRuns], games: str) -> list[AgentRuns]:
    """Return the agents with only some of their games.

    Args:
        agents: At least one.
        games: Names with commas, atari57 or atari5; "common" for the games all have; all if empty.

    Raises:
        UserError: A name is unknown, or an agent has none of the games.
    """
    if not games:
        return list(agents)
    if games == "common":
        kept = set.intersection(*(set(agent.scores) for agent in agents))
    else:
        kept = {game.rom_id for game in parse_games(games)}
    for agent in agents:
        if not kept.intersection(agent.scores):
            raise UserError(
                f"agent {agent.agent!r} has scores of none of the games asked for",
                f"it has {', '.join(sorted(agent.scores))}",
            )
    return [
        dataclasses.replace(
            agent, scores={game: runs for game, runs in agent.scores.items() if game in kept}
        )
        for agent in agents
    ]


def conventions(config: Conventions, reference: Reference) -> dict[str, Any]:
    """Return what every number holds under, as it goes into the result's `protocol`."""
    return {
        "records": reference.name,
        "references": reference.source,
        "saber_clip": config.saber_clip,
        "ties": config.ties,
    }


def score_agents(
    agents: Sequence[AgentRuns], config: Conventions, reference: Reference
) -> dict[str, Any]:
    """Return the tables of the result for some agents.

    Args:
        agents: At least one, names all different.
        config: Clip, ties, resamples and seed.
        reference: Random, human and record scores.

    Raises:
        UserError: An agent has no scores, or none that can be measured against anything.
    """
    return {
        "agents": [_describe(runs, config, reference) for runs in agents],
        "profiles": _profiles(agents, config, reference),
        "improvement": _improvements(agents, config),
    }


def headline_metrics(tables: Mapping[str, Any]) -> dict[str, Metric]:
    """Return every aggregate as a metric; with several agents, as `agent/aggregate`."""
    found: dict[str, Metric] = {}
    for agent in tables["agents"]:
        prefix = f"{agent['agent']}/" if len(tables["agents"]) > 1 else ""
        for name, aggregate in agent["aggregates"].items():
            family = name.split("_")[0]
            counted = agent["hns_games"] if family in HUMAN_FAMILIES else agent["record_games"]
            found[prefix + name] = Metric(
                value=aggregate["value"],
                unit=UNITS[family],
                n=len(counted),
                ci95=tuple(aggregate["ci95"]) if aggregate["ci95"] else None,
            )
    return found


def notes_on(tables: Mapping[str, Any], reference: Reference) -> list[str]:
    """Return what must be said beside the numbers: skipped games, missing intervals, caveats."""
    notes = []
    skipped = sorted({game for agent in tables["agents"] for game in agent["without_record"]})
    if skipped:
        names = ", ".join(find_game(game).display_name for game in skipped)
        notes.append(f"no record in {reference.name} for {names}: left out of record metrics")
    single = [agent["agent"] for agent in tables["agents"] if not agent["num_resamples"]]
    if single:
        notes.append(
            f"no intervals for {', '.join(single)}: they need at least "
            f"{stats.MIN_RUNS_FOR_INTERVAL} seeds of every game"
        )
    reduced = [
        f"{agent['agent']} ({agent['num_resamples']})"
        for agent in tables["agents"]
        if 0 < agent["num_resamples"] < agent["resamples_wanted"]
    ]
    if reduced:
        notes.append(
            f"fewer bootstrap resamples than asked for, over so many runs: {', '.join(reduced)}"
        )
    counts = {len(agent["record_games"]) for agent in tables["agents"]}
    if len(counts) > 1:
        notes.append(
            "the agents have scores of different games, so their means are of unequal sets; "
            "--games common keeps those that all have"
        )
    if any(_has_video_pinball_zero(agent, reference) for agent in tables["agents"]):
        notes.append(VIDEO_PINBALL)
    if any(atari5.PREDICTED in agent["aggregates"] for agent in tables["agents"]):
        notes.append(atari5.CAVEAT)
    caveats = [agent["agent"] for agent in tables["agents"] if agent["caveats"]]
    if caveats:
        notes.append(f"caveats on {', '.join(caveats)}: in the report and --json")
    return notes


def _has_video_pinball_zero(agent: Mapping[str, Any], reference: Reference) -> bool:
    played = str(agent["origin"]).startswith("played")
    return (
        played and "video_pinball" in agent["hns_games"] and not reference.random["video_pinball"]
    )


def _describe(runs: AgentRuns, config: Conventions, reference: Reference) -> dict[str, Any]:
    if not runs.scores:
        raise UserError(f"agent {runs.agent!r} has no scores")
    scored = metrics.score_agent(
        runs.scores,
        random=reference.random,
        human=reference.human,
        record=reference.record,
        clip=config.saber_clip,
        ties=config.ties,
        num_resamples=config.resamples,
        seed=config.seed,
    )
    predicted = atari5.predict(runs.scores, num_resamples=config.resamples, seed=config.seed)
    found = {**scored.aggregates, **({atari5.PREDICTED: predicted} if predicted else {})}
    aggregates = {
        name: {"value": aggregate.value, "ci95": aggregate.ci95}
        for name, aggregate in found.items()
    }
    return {
        "agent": runs.agent,
        "origin": runs.origin,
        "caveats": list(runs.caveats),
        "frames": runs.frames,
        "aggregates": aggregates,
        "games": [_game_row(game, reference) for game in scored.games],
        "hns_games": list(scored.hns_games),
        "record_games": list(scored.record_games),
        "without_record": list(scored.without_record),
        "num_resamples": scored.num_resamples,
        "resamples_wanted": config.resamples,
        "learning_efficiency": _efficiency(aggregates, runs.frames),
        "game_days": metrics.game_days(runs.frames) if runs.frames else None,
    }


def _game_row(game: metrics.GameMetrics, reference: Reference) -> dict[str, Any]:
    return {
        "game": game.game,
        "name": find_game(game.game).display_name,
        "score": game.score,
        "seeds": game.num_runs,
        "random": reference.random.get(game.game),
        "human": reference.human.get(game.game),
        "record": reference.record.get(game.game),
        "hns": game.hns,
        "chns": game.chns,
        "hwrns": game.hwrns,
        "saber": game.saber,
        "record_broken": game.record_broken,
        "score_ci95": game.score_ci95,
        "hns_ci95": game.hns_ci95,
        "hwrns_ci95": game.hwrns_ci95,
    }


def _efficiency(aggregates: Mapping[str, Any], frames: int | None) -> dict[str, float] | None:
    """Return the aggregates per training frame, or None where the frames are not known."""
    if not frames:
        return None
    return {
        name: metrics.learning_efficiency(aggregates[name]["value"], frames)
        for name in EFFICIENCIES
        if name in aggregates
    }


def _profiles(
    agents: Sequence[AgentRuns], config: Conventions, reference: Reference
) -> dict[str, Any]:
    """Return the share of runs above each HWRNS threshold, agent by agent."""
    curves = []
    for runs in agents:
        normalised = [
            metrics.normalise(
                runs_R, np.array(reference.random[game]), np.array(reference.record[game])
            )
            for game, runs_R in runs.scores.items()
            if game in reference.record and game in reference.random
        ]
        if not normalised:
            continue
        intervals = stats.bootstrap_performance_profile(
            normalised, PROFILE_THRESHOLDS, num_resamples=min(config.resamples, 2_000),
            seed=config.seed,
        )  # fmt: skip
        share_T = stats.performance_profile(normalised, PROFILE_THRESHOLDS)
        curves.append(
            {
                "agent": runs.agent,
                "share": share_T.tolist(),
                "low": intervals.low.tolist() if intervals else None,
                "high": intervals.high.tolist() if intervals else None,
            }
        )
    return {"metric": "hwrns", "thresholds": PROFILE_THRESHOLDS.tolist(), "curves": curves}


def _improvements(agents: Sequence[AgentRuns], config: Conventions) -> list[dict[str, Any]]:
    """Return P(X > Y) of every ordered pair; ties count half, so P(Y > X) is 1 - P(X > Y)."""
    rows: dict[tuple[int, int], dict[str, Any]] = {}
    for (i, x), (j, y) in itertools.combinations(enumerate(agents), 2):
        row = _improvement(x, y, config)
        probability, interval = row["probability"], row["ci95"]
        rows[i, j] = row
        rows[j, i] = row | {
            "x": y.agent,
            "y": x.agent,
            "probability": None if probability is None else 1 - probability,
            "ci95": (1 - interval[1], 1 - interval[0]) if interval else None,
        }
    return [rows[pair] for pair in sorted(rows)]


def _improvement(x: AgentRuns, y: AgentRuns, config: Conventions) -> dict[str, Any]:
    """Return P(X > Y) over the games both have; None when there are none."""
    common = [game for game in x.scores if game in y.scores]
    row: dict[str, Any] = {"x": x.agent, "y": y.agent, "num_games": len(common)}
    if not common:
        return row | {"probability": None, "ci95": None}
    x_runs, y_runs = [x.scores[game] for game in common], [y.scores[game] for game in common]
    interval = stats.bootstrap_probability_of_improvement(
        x_runs, y_runs, num_resamples=min(config.resamples, 2_000), seed=config.seed
    )
    probability = stats.probability_of_improvement(x_runs, y_runs)
    return row | {"probability": probability, "ci95": interval.at(0) if interval else None}
