"""`mlscale decentral bench` (DBench): graphs, scales and algorithms on equal terms.

At each number of replicas every graph trains with the same seeds, on the same examples in the
same batches, and is compared with all-reduce seed by seed.

Source: the benchmark's questions are those of Xie, Yin, Zhou, Oral and Wang 2025 (arXiv
2509.12213); its protocol was not to be had, so this one is ours.
"""

from __future__ import annotations

import re
import shutil
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from mlscale.core.config import to_dict
from mlscale.core.engine.jobs import Failed, Finished, Job, Lost, Progressed, Record, Recorded
from mlscale.core.engine.make import make_engine
from mlscale.core.engine.records import finished_records
from mlscale.core.environment import usable_cpus
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.seeding import derive_seed
from mlscale.decentral.bench_cells import make_cells, scale_at
from mlscale.decentral.bench_outcome import outcome
from mlscale.decentral.trainings import trainings_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mlscale.core.engine.jobs import Event
    from mlscale.core.results import Result
    from mlscale.core.runs import Run
    from mlscale.decentral.bench_cells import Cell, Scale
    from mlscale.decentral.bench_config import BenchConfig

WORK = "mlscale.decentral.bench_job:train_job"
PRELOAD = ("torch._dynamo", "torch.optim", "sklearn.datasets")
"""What the first step of an optimizer imports, and what the default task reads."""
UNFINISHED = "unfinished"
"""Folder of the checkpoints of trainings under way."""
NAMES = ("algorithm", "graph", "n", "seed")


def run(config: BenchConfig, run: Run) -> Result:
    """Run the trainings that are missing and compare all of them.

    Raises:
        UserError: Task, graphs and algorithms do not go together.
        WorkFailed: A training failed; `partial` holds the result of those that did not.
    """
    scales = {n: scale_at(config, n) for n in config.n}
    cells = make_cells(config, run)
    if config.judged < max(config.n):
        run.note(
            f"the accuracy of replicas by themselves is that of {config.judged} of them where "
            "there are more, chosen evenly"
        )
    folder = None if run.path is None or config.engine == "ray" else run.path / UNFINISHED
    jobs = make_jobs(config, cells, scales, folder)
    finished = finished_records(run, jobs, NAMES, _key)
    waiting = [job for job in jobs if not any("outcome" in one for one in finished[job.key])]
    if len(waiting) < len(jobs):
        run.note(f"{len(jobs) - len(waiting)} trainings are finished already")
    failures = _train(config, run, waiting, finished)
    result = outcome(
        run,
        trainings_of(run.records, config),
        config,
        scales=list(scales.values()),
        status="failed" if failures else "complete",
    )
    if failures:
        raise _failure(failures, len(jobs), result)
    return result


def make_jobs(
    config: BenchConfig, cells: Sequence[Cell], scales: Mapping[int, Scale], folder: Path | None
) -> list[Job]:
    """Return one job for each training, cells taking turns.

    Args:
        config: The benchmark.
        cells: What it compares.
        scales: By number of replicas.
        folder: Where trainings under way keep checkpoints; None for nowhere.
    """
    jobs = []
    for seed in range(config.seed, config.seed + config.seeds):
        for cell in cells:
            names: Record = dict(
                zip(NAMES, (cell.algorithm, cell.graph, cell.n, seed), strict=True)
            )
            training = config.training(
                cell.algorithm, cell.graph, cell.n, seed=seed, epochs=scales[cell.n].epochs
            )
            key = _key(names)
            own = None if folder is None else str((folder / _folder_name(key)).absolute())
            payload = {"cell": names, "training": to_dict(training), "folder": own}
            jobs.append(Job(key, payload))
    return jobs


def _key(names: Mapping[str, Any]) -> str:
    graph = f" on {names['graph']}" if names["graph"] else ""
    return f"{names['algorithm']}{graph}, n = {names['n']}, seed {names['seed']}"


def _folder_name(key: str) -> str:
    """Return a name for a folder; graphs may be called after any file."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", key)[-60:].strip("-")
    return f"{words}-{derive_seed(0, key):08x}"


def _train(
    config: BenchConfig, run: Run, jobs: Sequence[Job], finished: Mapping[str, Sequence[Record]]
) -> list[Failed]:
    """Run the jobs, logging each epoch; return the jobs that failed."""
    failures: list[Failed] = []
    if not jobs:
        return failures
    busy = max(config.n) if config.replicas == "processes" else 1
    engine = make_engine(
        config.engine,
        num_workers=config.workers or (None if busy == 1 else max(1, usable_cpus() // busy)),
        threads_per_worker=1,
        silence_limit_s=config.silence_limit_s,
        preload=PRELOAD,
    )
    progress = _Progress(run, jobs)
    with closing(engine.run(WORK, jobs, finished)) as events:
        for event in events:
            if isinstance(event, Recorded):
                run.log(event.record)
                if event.record.get("outcome") == "diverged":
                    run.note(f"{event.job.key}: {event.record['why']}")
            elif isinstance(event, Lost):
                run.note(f"{event.job.key}: the worker {event.reason}; it goes on in another one")
            elif isinstance(event, Failed):
                failures.append(event)
                run.note(f"{event.job.key} failed: {event.error.message}")
            elif isinstance(event, Finished) and event.job.payload["folder"]:
                shutil.rmtree(event.job.payload["folder"], ignore_errors=True)
            progress.take(event)
    if run.path is not None:
        with suppress(OSError):  # those that failed keep theirs
            (run.path / UNFINISHED).rmdir()
    return failures


def _failure(failures: Sequence[Failed], num_jobs: int, result: Result) -> UserError | WorkFailed:
    first = failures[0]
    kind = UserError if isinstance(first.error, UserError) else WorkFailed
    error = kind(
        f"{first.job.key}: {first.error.message} ({len(failures)} of {num_jobs} trainings)",
        first.error.hint,
    )
    error.partial = result
    error.worker_traceback = first.traceback
    return error


class _Progress:
    """Tells the reporter how many epochs are done, of all trainings together."""

    def __init__(self, run: Run, jobs: Sequence[Job]) -> None:
        self._reporter = run.reporter
        self._total = sum(int(job.payload["training"]["epochs"]) for job in jobs)
        self._epochs: dict[str, float] = {}

    def take(self, event: Event) -> None:
        """Take in an event of the engine."""
        if isinstance(event, Progressed):
            self._epochs[event.job.key] = float(event.values["epoch"] or 0)
        elif isinstance(event, Finished):
            self._epochs[event.job.key] = float(event.job.payload["training"]["epochs"])
        else:
            return
        self._reporter.progress(sum(self._epochs.values()), self._total, event.job.key)
