"""`mlscale rl study`: trains every agent with several seeds and sets them side by side.

A training is a job and a function of its seed alone. Episodes are recorded as they end; a
training that was cut off runs again from its start, to the same episodes, and only those that
were not recorded yet are added.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

from mlscale.core.config import from_dict, to_dict
from mlscale.core.engine.jobs import Failed, Job, Lost, Progress, Progressed, Record, Recorded
from mlscale.core.engine.make import make_engine
from mlscale.core.engine.records import finished_records
from mlscale.core.errors import UserError, WorkFailed
from mlscale.rl.dqn.comparison import compare
from mlscale.rl.dqn.config import AgentConfig
from mlscale.rl.dqn.environments import make_environment
from mlscale.rl.dqn.parts import flat_parts
from mlscale.rl.dqn.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mlscale.core.engine.jobs import Event
    from mlscale.core.results import Result
    from mlscale.core.runs import Run
    from mlscale.rl.dqn.config import StudyConfig

WORK = "mlscale.rl.dqn.study:train_job"
PULSE_STEPS = 200
SHARED = ("env", "steps", "lanes", "learn", "explore", "mbe", "rnd")


def run(config: StudyConfig, run: Run) -> Result:
    """Run the trainings that are missing and compare all of them.

    Raises:
        UserError: The environment is unknown or of the wrong kind.
        WorkFailed: A training failed; `partial` holds the result of those that did not.
    """
    make_environment(config.env).close()
    jobs = make_jobs(config)
    finished = finished_records(run, jobs, ("agent", "seed"), lambda r: _key(r["agent"], r["seed"]))
    waiting = [job for job in jobs if not _is_complete(finished[job.key], config.steps)]
    if len(waiting) < len(jobs):
        run.note(f"{len(jobs) - len(waiting)} trainings are finished already")
    failures = _train(config, run, waiting, finished)
    result = compare(config, run, status="failed" if failures else "complete")
    if failures:
        first = failures[0]
        kind = UserError if isinstance(first.error, UserError) else WorkFailed
        error = kind(
            f"{first.job.key}: {first.error.message} ({len(failures)} of {len(jobs)} trainings)",
            first.error.hint,
        )
        error.partial = result
        error.worker_traceback = first.traceback
        raise error
    return result


def make_jobs(config: StudyConfig) -> list[Job]:
    """Return one job per agent and seed, the agents taking turns."""
    shared = {name: value for name, value in to_dict(config).items() if name in SHARED}
    return [
        Job(_key(agent, seed), {"agent": agent, "settings": {**shared, "seed": seed}})
        for seed in range(config.seed, config.seed + config.seeds)
        for agent in config.agents
    ]


def _key(agent: str, seed: int) -> str:
    return f"{agent}/{seed}"


def train_job(
    payload: Mapping[str, Any], finished: Sequence[Record]
) -> Iterator[Record | Progress | None]:
    """Train one agent with one seed, yielding the episodes that are not finished; see `Work`."""
    import torch

    torch.set_num_threads(1)  # the same sums whatever the engine's threads
    agent, settings = payload["agent"], payload["settings"]
    config = from_dict(AgentConfig, settings, where="settings of the job")
    names: Record = {"agent": agent, "seed": config.seed}
    num_finished = sum("episode" in record for record in finished)
    trainer = Trainer(config, agent, flat_parts(config, agent))
    pulse = 0
    try:
        while trainer.step < config.steps:
            for episode in trainer.advance():
                if episode.episode >= num_finished:
                    yield {**names, **episode.record()}
            if trainer.step // PULSE_STEPS != pulse:
                pulse = trainer.step // PULSE_STEPS
                yield Progress({"step": trainer.step})
    finally:
        trainer.close()
    yield {**names, "trained_steps": trainer.step}


def _is_complete(records: Sequence[Record], steps: int) -> bool:
    return any(int(record.get("trained_steps") or 0) >= steps for record in records)


def _train(
    config: StudyConfig, run: Run, jobs: Sequence[Job], finished: Mapping[str, Sequence[Record]]
) -> list[Failed]:
    """Run the jobs, logging each episode; return the jobs that failed."""
    failures: list[Failed] = []
    if not jobs:
        return failures
    engine = make_engine(
        config.engine,
        num_workers=config.workers,
        threads_per_worker=1,
        silence_limit_s=config.silence_limit_s,
        preload=("torch",),
    )
    progress = _Progress(run, jobs, config.steps)
    with closing(engine.run(WORK, jobs, finished)) as events:
        for event in events:
            if isinstance(event, Recorded):
                run.log(event.record)
            elif isinstance(event, Lost):
                run.note(f"{event.job.key}: the worker {event.reason}; it starts again")
            elif isinstance(event, Failed):
                failures.append(event)
                run.note(f"{event.job.key} failed: {event.error.message}")
            progress.take(event)
    return failures


class _Progress:
    """Tells the reporter how many steps are done, of all trainings together."""

    def __init__(self, run: Run, jobs: Sequence[Job], steps: int) -> None:
        self._reporter = run.reporter
        self._total = len(jobs) * steps
        self._steps: Counter[str] = Counter()
        self._began_s = time.monotonic()

    def take(self, event: Event) -> None:
        """Take in an event of the engine."""
        if isinstance(event, Progressed):
            self._steps[event.job.key] = int(event.values["step"] or 0)
            done = self._steps.total()
            rate = done / max(time.monotonic() - self._began_s, 1e-3)
            self._reporter.progress(done, self._total, f"{event.job.key}, {rate:,.0f} steps/s")
