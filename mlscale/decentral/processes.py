"""`--engine processes`: a process on this machine for each replica."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mlscale.core.checkpoints import checkpoint_steps
from mlscale.core.config import to_dict
from mlscale.core.engine.jobs import Failed, Job, Recorded
from mlscale.core.engine.local import LocalEngine
from mlscale.core.errors import MlscaleError, UserError, WorkFailed
from mlscale.decentral.algorithms.registry import find_algorithm
from mlscale.decentral.board import Board
from mlscale.decentral.observer import RankReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlscale.core.engine.jobs import Event
    from mlscale.core.runs import Run
    from mlscale.decentral.observer import Observer
    from mlscale.decentral.setup import Setup

WORK = "mlscale.decentral.rank:train_rank"
PRELOAD = ("torch._dynamo", "torch.optim")  # what the first step of an optimizer imports


def train_in_processes(setup: Setup, run: Run, observer: Observer) -> None:
    """Train a process for each replica, from the last checkpoint that all have.

    Raises:
        UserError: Replicas may fall out, and the algorithm needs them all.
        WorkFailed: A replica failed or is gone; the checkpoints are kept.
    """
    config = setup.config
    if config.on_failure == "continue" and find_algorithm(config.algorithm).needs_all:
        raise UserError(
            f"{config.algorithm} takes means over all replicas and cannot go on without one",
            "use --on-failure stop",
        )
    first = _first_epoch(run, config.gpus)
    if first:
        run.note(f"goes on from the checkpoint of epoch {first:,}")
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
                    "device": run.device,
                    "first": first,
                    "checkpoints": None if run.path is None else str(run.path / "checkpoints"),
                },
            )
            for rank in range(config.gpus)
        ]
        engine = LocalEngine(
            num_workers=config.gpus,
            max_attempts=1,
            silence_limit_s=config.silence_limit_s,
            preload=PRELOAD,
        )
        with contextlib.closing(engine.run(WORK, jobs, {})) as events:
            _Gathering(setup, run, observer, board, first).follow(events)


def _first_epoch(run: Run, num_ranks: int) -> int:
    """Return the epochs that all replicas have a checkpoint of and that were logged."""
    if run.path is None:
        return 0
    folder = run.path / "checkpoints"
    kept = [set(checkpoint_steps(folder / f"rank-{rank}")) for rank in range(num_ranks)]
    common = set.intersection(*kept)
    return max((epoch for epoch in common if epoch <= len(run.records)), default=0)


class _Gathering:
    """Takes in what replicas report, and has an epoch measured when all have."""

    def __init__(
        self, setup: Setup, run: Run, observer: Observer, board: Board, first: int
    ) -> None:
        self._setup, self._run, self._observer, self._board = setup, run, observer, board
        self._epoch = first
        self._alive = set(range(setup.config.gpus))
        self._reports: dict[int, dict[int, RankReport]] = {}

    def follow(self, events: Iterator[Event]) -> None:
        """Take in everything to the end."""
        for event in events:
            if isinstance(event, Recorded):
                values = dict(event.record)
                epoch = int(values.pop("epoch"))  # type: ignore[arg-type]
                report = RankReport(**values)  # type: ignore[arg-type]
                self._reports.setdefault(epoch, {})[report.rank] = report
            elif isinstance(event, Failed):
                self._lose(event)
            self._measure()

    def _measure(self) -> None:
        """Have the epochs measured that all replicas left have reported."""
        while self._alive and self._alive <= self._reports.get(self._epoch, {}).keys():
            reports = self._reports.pop(self._epoch)
            ranks = sorted(self._alive)
            x_NP, norms_NK = self._board.take(self._epoch, ranks)
            self._observer.take(self._epoch, [reports[rank] for rank in ranks], x_NP, norms_NK)
            self._epoch += 1
            self._board.taken = self._epoch

    def _lose(self, event: Failed) -> None:
        rank = int(event.job.key.removeprefix("rank-"))
        self._alive.discard(rank)
        if self._setup.config.on_failure == "stop" or not self._alive:
            raise _failure(rank, event.error, self._epoch)
        self._run.note(
            f"rank {rank} is gone in epoch {self._epoch + 1}: {event.error.message}; its "
            f"neighbours give its weight to their own, and {len(self._alive)} replicas go on"
        )


def _failure(rank: int, error: MlscaleError, epochs: int) -> MlscaleError:
    kept = f"the checkpoint of epoch {epochs:,} is kept" if epochs else "no epoch was finished"
    return WorkFailed(f"rank {rank}: {error.message}; {kept}", error.hint)
