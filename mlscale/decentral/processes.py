"""`--engine processes`: a process on this machine for each replica."""

from __future__ import annotations

import contextlib
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core.checkpoints import checkpoint_steps
from mlscale.core.config import to_dict
from mlscale.core.engine.jobs import Failed, Job, Progressed, Recorded
from mlscale.core.engine.local import LocalEngine
from mlscale.core.errors import WorkFailed
from mlscale.decentral.board import Board
from mlscale.decentral.exchange import LostRankError
from mlscale.decentral.observer import RankReport
from mlscale.decentral.trainer import Diverged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlscale.core.engine.jobs import Event
    from mlscale.core.runs import Run
    from mlscale.decentral.config import TrainConfig
    from mlscale.decentral.observer import Observer
    from mlscale.decentral.setup import Setup

WORK = "mlscale.decentral.rank:train_rank"
FIRST_STEP = ("torch._dynamo", "torch.optim")
"""What the first step of an optimizer imports."""
READERS = ("sklearn.datasets", "PIL.Image")
"""What a task may import to read its examples: seconds, and the same in every process."""


def train_in_processes(setup: Setup, run: Run, observer: Observer) -> None:
    """Train a process for each replica, from the last checkpoint that all have.

    Raises:
        WorkFailed: A replica failed or is gone; the checkpoints are kept.
    """
    config = setup.config
    first, loads = starting_point(run, config)
    run.rewind(first)
    with tempfile.TemporaryDirectory(prefix="mlscale-") as folder:
        layout = observer.mean_model.layout
        board = Board(Path(folder, "board"), config.gpus, layout.num_parameters, len(layout.names))
        board.taken = first
        jobs = [
            Job(
                f"rank-{rank}",
                {
                    "config": to_dict(config),
                    "rank": rank,
                    "meeting": str(Path(folder, "meeting")),
                    "board": str(Path(folder, "board")),
                    "device": "cpu" if run.device == "cpu" else f"cuda:{rank}",
                    "first": first,
                    "loads": loads[rank],
                    "checkpoints": None if run.path is None else str(run.path / "checkpoints"),
                },
            )
            for rank in range(config.gpus)
        ]
        engine = LocalEngine(
            num_workers=config.gpus,
            max_attempts=1,
            silence_limit_s=config.silence_limit_s,
            preload=(*FIRST_STEP, *(name for name in READERS if name in sys.modules)),
        )
        with contextlib.closing(engine.run(WORK, jobs, {})) as events:
            _Gathering(setup, run, observer, board, first).follow(events)


def starting_point(run: Run, config: TrainConfig) -> tuple[int, list[int]]:
    """Return how many epochs are done, and whose checkpoint each replica goes on from.

    A checkpoint counts when its epoch was logged and all replicas have it. A replica that the run
    had gone on without has none so late, and begins again as a copy of another.
    """
    ranks = list(range(config.gpus))
    if run.path is None or not run.records:
        return 0, ranks
    folder = run.path / "checkpoints"
    logged = range(1, len(run.records) + 1)
    kept = [set(logged).intersection(checkpoint_steps(folder / f"rank-{rank}")) for rank in ranks]
    usable = set.intersection(*kept) or set.union(*kept)
    if not usable:
        run.note("begins again: there is no checkpoint")
        return 0, ranks
    first = max(usable)
    run.note(f"goes on from the checkpoint of epoch {first:,}")
    owners = [rank for rank in ranks if first in kept[rank]]
    for rank in set(ranks).difference(owners):
        run.note(f"rank {rank} was lost and goes on as a copy of rank {owners[0]}")
    return first, [rank if rank in owners else owners[0] for rank in ranks]


class _Gathering:
    """Takes in what replicas report, and has an epoch measured when all have."""

    def __init__(
        self, setup: Setup, run: Run, observer: Observer, board: Board, first: int
    ) -> None:
        self._setup, self._run, self._observer, self._board = setup, run, observer, board
        self._epoch = first
        self._alive = set(range(setup.config.gpus))
        self._expected = set(self._alive)  # until each has met the others
        self._reports: dict[int, dict[int, RankReport]] = {}
        self._noticed: WorkFailed | None = None

    def follow(self, events: Iterator[Event]) -> None:
        """Take in everything to the end.

        Raises:
            WorkFailed: A replica failed or is gone, and the others do not go on without it.
        """
        for event in events:
            rank = int(event.job.key.removeprefix("rank-"))
            if isinstance(event, Recorded):
                values: dict[str, Any] = dict(event.record)
                epoch = values.pop("epoch")
                self._reports.setdefault(epoch, {})[rank] = RankReport(**values)
                self._measure()
            elif isinstance(event, Progressed):
                self._expected.discard(rank)
                if rank == min(self._alive):
                    self._show(event.values["step"])
            elif isinstance(event, Failed):
                self._lose(rank, event)
        if self._noticed is not None:
            raise self._noticed

    def _show(self, step: Any) -> None:
        done = step / self._setup.steps_per_epoch
        self._run.reporter.progress(done, self._setup.config.epochs, f"step {step:,}")

    def _measure(self) -> None:
        """Have the epochs measured that all replicas left have reported."""
        while self._alive <= self._reports.get(self._epoch, {}).keys():
            reports = self._reports.pop(self._epoch)
            ranks = sorted(self._alive)
            x_NP, norms_NK = self._board.take(ranks)
            self._observer.take(self._epoch, [reports[rank] for rank in ranks], x_NP, norms_NK)
            self._epoch += 1
            self._board.taken = self._epoch

    def _lose(self, rank: int, event: Failed) -> None:
        """Go on without a replica, or raise what it failed of."""
        if isinstance(event.error, LostRankError):  # the end of the lost one itself says why
            self._noticed = self._noticed or self._failure(rank, event)
            return
        others = self._alive - {rank}
        may_go_on = self._setup.config.on_failure == "continue" and not self._expected
        if not may_go_on or not others or isinstance(event.error, Diverged):
            raise self._failure(rank, event)
        self._alive = others
        self._run.note(
            f"rank {rank} is gone in epoch {self._epoch + 1}: {event.error.message}; its "
            f"neighbours give its weight to their own, and {len(others)} replicas go on"
        )
        self._measure()

    def _failure(self, rank: int, event: Failed) -> WorkFailed:
        kept, hint = "no epoch was finished", event.error.hint
        if self._epoch and self._run.path is not None:
            kept = f"the checkpoint of epoch {self._epoch:,} is kept"
            hint = hint or f"go on with: mlscale runs resume {shlex.quote(str(self._run.path))}"
        error = WorkFailed(f"rank {rank}: {event.error.message}; {kept}", hint)
        error.worker_traceback = event.traceback
        return error
