"""`mlscale atari eval`: plays real episodes and scores them.

An interrupted evaluation goes on after its last finished episode, and its result is that of an
unbroken one.
"""

from __future__ import annotations

import dataclasses
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.devices import resolve_device
from mlscale.core.engine.jobs import Failed, Job, Lost, Record, Recorded
from mlscale.core.engine.make import make_engine
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.results import Result
from mlscale.rl.atari.agents.registry import check_covered, find_agent
from mlscale.rl.atari.compare import runs_of_published
from mlscale.rl.atari.export import Table, to_csv
from mlscale.rl.atari.games import all_games, parse_games
from mlscale.rl.atari.jobs import THREADS_PER_WORKER, WORK, make_jobs, resolve_protocol
from mlscale.rl.atari.kept_weights import check_weights, keep_weights
from mlscale.rl.atari.outcome import UNEQUAL_PROTOCOLS, outcome
from mlscale.rl.atari.progress import EvaluationProgress
from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.atari.published import find_published, is_published
from mlscale.rl.atari.scoring import AgentRuns, conventions, find_reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.rl.atari.agents.base import AgentEntry
    from mlscale.rl.atari.config import EvalConfig
    from mlscale.rl.atari.records import Reference

EPISODE_COLUMNS = ("game", "seed", "episode", "score")
MAX_NAMED = 6
HOPELESS_FAILURES = 3  # when nothing else has come of the first jobs, the others are not tried


def run(config: EvalConfig, run: Run) -> Result:
    """Play the episodes that are missing and score all of them.

    Raises:
        UserError: Unknown agent, game or record list, or a damaged run directory.
        WorkFailed: A job failed; `partial` holds the result of those that did not.
    """
    reference = find_reference(config.records)
    if is_published(config.agent) and not config.ckpt:
        return _score_published(config, run, reference)
    entry = find_agent(config.agent, trust=config.trust, checkpoints=config.ckpt)
    games = _choose_games(config, entry.games)
    check_covered(games, entry.games, entry.name, entry.other_games)
    weights = {game: entry.weights[game] for game in games if game in entry.weights}
    check_weights(run, weights)
    run.device = _device(config.device, entry)
    jobs = make_jobs(config, games, run.device, entry.checkpoints)
    finished = {
        key: list(episodes.values())
        for key, episodes in _finished_episodes(run, jobs, config.episodes).items()
    }
    if entry.note:
        run.note(entry.note)
    _say_what_is_ahead(config, run, sum(map(len, finished.values())))
    failures = _play(config, run, jobs, finished, entry, weights)
    status: Status = "failed" if failures else "complete"
    protocol = dataclasses.asdict(resolve_protocol(config))
    protocol |= {"weights": weights} if weights else {}
    result = _summarise(config, run, jobs, reference, entry, protocol, status)
    if failures:
        raise _failure(failures, len(jobs), result)
    return result


def _device(name: str, entry: AgentEntry) -> str:
    """Return the device to compute on; an agent without torch needs none to be looked for.

    Raises:
        UserError: The named device is not here.
    """
    if name == "cpu" or (name == "auto" and not entry.uses_torch):
        return "cpu"
    return resolve_device(name)


def _choose_games(config: EvalConfig, covered: Sequence[str] | None) -> list[str]:
    if config.games:
        return [game.rom_id for game in parse_games(config.games)]
    return [game.rom_id for game in all_games()] if covered is None else list(covered)


def _finished_episodes(
    run: Run, jobs: Sequence[Job], num_episodes: int
) -> dict[str, dict[int, Record]]:
    """Return the run's finished episodes that are wanted, by job and number.

    Raises:
        UserError: A record is not one of an episode.
    """
    finished: dict[str, dict[int, Record]] = {job.key: {} for job in jobs}
    for line, record in enumerate(run.records, start=1):
        if not _is_episode(record):
            raise UserError(
                f"{run.path}/metrics.jsonl: line {line} is not the record of an episode",
                "delete that line to go on without it, or start again in another directory",
            )
        key, number = f"{record['game']}/{record['seed']}", record["episode"]
        if key in finished and number < num_episodes:
            finished[key][number] = record
    return finished


def _is_episode(record: Mapping[str, Any]) -> bool:
    counts = [record.get(name) for name in ("seed", "episode", "score", "frames")]
    return (
        all(type(count) is int for count in counts)  # JSON's true is an int to isinstance
        and all(isinstance(record.get(name), str) for name in ("game", "end"))
        and record["episode"] >= 0
    )


def _say_what_is_ahead(config: EvalConfig, run: Run, num_finished: int) -> None:
    protocol = PROTOCOLS[config.protocol]
    if num_finished:
        run.note(f"{num_finished} episodes are finished already and are not played again")
    wanted = protocol.reported_episodes
    if wanted is not None and config.episodes * config.seeds < wanted:
        run.note(
            f"{config.episodes} episodes per game and seed; the {protocol.name} protocol itself "
            f"reports {wanted} (--episodes {wanted})"
        )
    if config.max_frames is not None:
        run.note(f"episodes are cut off at {config.max_frames} frames, not by the protocol")


def _play(
    config: EvalConfig,
    run: Run,
    jobs: Sequence[Job],
    finished: Mapping[str, Sequence[Record]],
    entry: AgentEntry,
    weights: Mapping[str, Mapping[str, Any]],
) -> list[Failed]:
    """Play all jobs, logging each episode; return the jobs that failed."""
    engine = make_engine(
        config.engine,
        num_workers=config.workers,
        threads_per_worker=THREADS_PER_WORKER,
        silence_limit_s=config.silence_limit_s,
        preload=("torch",) if entry.uses_torch else (),
    )
    num_finished = sum(map(len, finished.values()))
    progress = EvaluationProgress(run, num_finished, len(jobs) * config.episodes)
    waiting = [job for job in jobs if len(finished[job.key]) < config.episodes]
    failures: list[Failed] = []
    num_records = len(run.records)
    if not waiting:
        return failures
    with closing(engine.run(WORK, waiting, finished)) as events:
        for event in events:
            if isinstance(event, Recorded):
                if len(run.records) == num_records:  # the first new episode
                    keep_weights(run, weights)
                run.log(event.record)
            elif isinstance(event, Lost):
                run.note(f"{event.job.key}: the worker {event.reason}; the job goes on in another")
            elif isinstance(event, Failed):
                if event.error.message not in {failure.error.message for failure in failures}:
                    run.note(f"{event.job.key} failed: {event.error.message}")
                failures.append(event)
            progress.take(event)
            if len(failures) == HOPELESS_FAILURES and not run.records:
                run.note(f"stopped: the first {HOPELESS_FAILURES} jobs all failed")
                break
    return failures


def _failure(failures: Sequence[Failed], num_jobs: int, result: Result) -> Exception:
    """Return the error to raise: the user's own where the first failure is one."""
    first = failures[0]
    kind = UserError if isinstance(first.error, UserError) else WorkFailed
    others = ""
    if num_jobs > 1:
        keys = [failure.job.key for failure in failures]
        named = ", ".join(keys[:MAX_NAMED]) + (", ..." if len(keys) > MAX_NAMED else "")
        others = f" ({len(failures)} of {num_jobs} jobs failed: {named})"
    error = kind(f"{first.job.key}: {first.error.message}{others}", first.error.hint)
    if result.tables or kind is WorkFailed:
        error.partial = result
    error.worker_traceback = first.traceback
    return error


def _summarise(
    config: EvalConfig,
    run: Run,
    jobs: Sequence[Job],
    reference: Reference,
    entry: AgentEntry,
    protocol: dict[str, Any],
    status: Status,
) -> Result:
    """Score each game and seed of which all episodes are finished."""
    finished = _finished_episodes(run, jobs, config.episodes)
    complete: dict[str, list[list[Record]]] = {}
    for job in sorted(jobs, key=lambda job: (job.payload["game"], job.payload["seed"])):
        if len(finished[job.key]) == config.episodes:
            episodes = [finished[job.key][number] for number in range(config.episodes)]
            complete.setdefault(job.payload["game"], []).append(episodes)
    if not complete:
        described = protocol | conventions(config, reference)
        return Result(study=run.study, protocol=described, status=status)
    scores = {
        game: [float(np.mean([record["score"] for record in episodes])) for episodes in seeds]
        for game, seeds in complete.items()
    }
    run.write("scores.csv", _episode_table(entry.name, complete))
    agent = AgentRuns(
        agent=entry.name,
        scores={game: np.array(runs_R) for game, runs_R in scores.items()},
        frames=entry.train_frames,
        origin=f"played, protocol {protocol['name']}, {config.episodes} episodes a seed",
    )
    return outcome(
        run,
        [agent],
        config,
        reference,
        title=f"{entry.name} under protocol {protocol['name']}",
        protocol=protocol,
        played={
            game: _played(seeds) | {"scores": scores[game]} for game, seeds in complete.items()
        },
        status=status,
    )


def _episode_table(agent: str, complete: Mapping[str, Sequence[Sequence[Record]]]) -> str:
    """Return every counted episode as CSV: `mlscale atari score` reads it."""
    return to_csv(
        Table.from_records(
            [
                {"agent": agent} | {name: record[name] for name in EPISODE_COLUMNS}
                for seeds in complete.values()
                for episodes in seeds
                for record in episodes
            ]
        )
    )


def _played(seeds: Sequence[Sequence[Record]]) -> dict[str, Any]:
    """Return what was played of a game: episodes, frames, how they ended."""
    records = [record for episodes in seeds for record in episodes]
    ends = [str(record["end"]) for record in records]
    return {
        "episodes": len(records),
        "frames": sum(int(record["frames"] or 0) for record in records),
        "ends": {end: ends.count(end) for end in sorted(set(ends))},
    }


def _score_published(config: EvalConfig, run: Run, reference: Reference) -> Result:
    """Score a published agent's shipped table in place of playing it."""
    published = find_published(config.agent)
    runs = runs_of_published(published)
    chosen = _choose_games(config, list(runs.scores))
    check_covered(chosen, list(runs.scores), config.agent)
    run.note(f"{published.display_name} is published scores: no episode was played")
    run.note(UNEQUAL_PROTOCOLS)
    return outcome(
        run,
        [dataclasses.replace(runs, scores={game: runs.scores[game] for game in chosen})],
        config,
        reference,
        title=published.display_name,
        protocol={"name": "published", "described": published.protocol},
    )
