"""Training under torchrun: each process is a replica, and rank 0 logs what all report.

Shape letters: N replicas; P parameters; K parameter tensors.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253

from mlscale.core.allocator import keep_freed_memory
from mlscale.core.checkpoints import load_checkpoint, save_checkpoint
from mlscale.core.errors import UserError, WorkFailed
from mlscale.decentral.exchange import LostRankError
from mlscale.decentral.group import make_mixer
from mlscale.decentral.observer import RankReport
from mlscale.decentral.processes import starting_point
from mlscale.decentral.replica import Replica
from mlscale.decentral.replica_epochs import replica_epochs
from mlscale.decentral.together import Cause

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C._distributed_c10d import Store

    from mlscale.core.runs import Run
    from mlscale.core.torchrun import World
    from mlscale.decentral.observer import Observer
    from mlscale.decentral.replica_epochs import FinishedEpoch
    from mlscale.decentral.setup import Setup

PLAN = "mlscale/plan"


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    """What rank 0 tells all.

    Args:
        first: Epochs that are done.
        loads: Whose checkpoint of them each rank goes on from.
        checkpoints: The run's folder of them, or None.
    """

    first: int
    loads: list[int]
    checkpoints: str | None


def train_together(
    setup: Setup, run: Run, observer: Observer, *, world: World, store: Store
) -> None:
    """Train the replica of this process, from the last checkpoint that all have.

    Args:
        setup: Of the training.
        run: With a directory on rank 0 alone.
        observer: Measures, on rank 0.
        world: Of torchrun.
        store: That all ranks reach.

    Raises:
        WorkFailed: A replica failed or is gone; the checkpoints are kept.
    """
    try:
        _train(setup, run, observer, world, store)
    except (LostRankError, KeyboardInterrupt) as error:
        if world.rank:
            raise
        cause = Cause(store).read()  # torchrun ends this process too, as Ctrl-C would
        if cause is None:
            if isinstance(error, KeyboardInterrupt):
                raise
            cause = f"{error.which} is gone"
        done = len(run.records)
        kept = f"the checkpoint of epoch {done:,} is kept" if done else "no epoch was finished"
        raise WorkFailed(f"{cause}; {kept}", _way_on(run)) from None


def _way_on(run: Run) -> str | None:
    """Return how to go on. A run of torchrun is like any other: both ways are open."""
    return f"go on with: torchrun ... -m mlscale runs resume {run.path}" if run.records else None


def _train(setup: Setup, run: Run, observer: Observer, world: World, store: Store) -> None:
    config, task, rank = setup.config, setup.task, world.rank
    keep_freed_memory()
    plan = _agree(run, setup, world, store)
    run.rewind(plan.first)
    folder = Path(plan.checkpoints) if plan.checkpoints else None
    mixer = make_mixer(torch.device(run.device), rank, world.size, setup.round_at, seed=config.seed)
    replica = Replica(task.make_model(config.seed), task.loss, run.device)
    trainer = setup.trainer(replica, mixer)
    if folder and plan.first:
        trainer.load(*load_checkpoint(folder / f"rank-{plan.loads[rank]}", plan.first))
    for said in replica_epochs(setup, rank, replica, trainer, mixer, plan.first):
        if isinstance(said, int):
            done = said / setup.steps_per_epoch
            run.reporter.progress(done, config.epochs, f"step {said:,}")
            continue
        _all_ready()  # the epoch before is logged, so that its checkpoint may be removed
        if folder:
            save_checkpoint(folder / f"rank-{rank}", said.epoch + 1, *trainer.saved())
        _hand_in(said, replica.x, observer, world)
    _all_ready()


def _agree(run: Run, setup: Setup, world: World, store: Store) -> _Plan:
    """Return where to begin and where checkpoints go; none where some cannot see the directory."""
    if world.rank == 0:
        first, loads = starting_point(run, setup.config)
        folder = None if run.path is None else str(run.path.resolve() / "checkpoints")
        store.set(PLAN, json.dumps({"first": first, "loads": loads, "checkpoints": folder}))
    values: dict[str, Any] = json.loads(store.get(PLAN))
    plan = _Plan(**values)
    if plan.checkpoints is None:
        return plan
    sees = torch.tensor([(Path(plan.checkpoints).parent / "config.json").exists()], dtype=torch.int)
    _collective(dist.all_reduce, sees, op=dist.ReduceOp.MIN)
    if int(sees):
        return plan
    if plan.first:
        raise UserError(
            "not every rank sees the run directory, so training cannot go on from it",
            "put it on a file system that all share",
        )
    run.note(
        "not every rank sees the run directory, which needs a file system that all share: no "
        "checkpoints are kept"
    )
    return dataclasses.replace(plan, checkpoints=None)


def _hand_in(finished: FinishedEpoch, x: Tensor, observer: Observer, world: World) -> None:
    """Let rank 0 have what all ranks report of an epoch, and measure it there."""
    report = finished.report
    accuracy = math.nan if report.accuracy is None else report.accuracy
    numbers = [report.loss, accuracy, report.sent_bytes, report.waited_s, report.seconds]
    x_NP = _gathered(x.detach(), world)
    norms_NK = _gathered(finished.norms_K, world)
    numbers_N5 = _gathered(torch.tensor(numbers, dtype=torch.float64), world)
    if world.rank == 0:
        reports = [
            RankReport(rank, loss, None if math.isnan(right) else right, sent, waited, seconds)
            for rank, (loss, right, sent, waited, seconds) in enumerate(
                torch.stack(numbers_N5).tolist()
            )
        ]
        observer.take(
            finished.epoch,
            reports,
            torch.stack(x_NP).numpy(),
            torch.stack(norms_NK).numpy(),
        )


def _gathered(values: Tensor, world: World) -> list[Tensor]:
    """Return the values of all ranks on rank 0, over the CPU; nothing elsewhere."""
    values = values.cpu()
    rows = [torch.empty_like(values) for _ in range(world.size)] if world.rank == 0 else None
    _collective(dist.gather, values, rows, dst=0)
    return rows or []


def _all_ready() -> None:
    """Wait for all ranks."""
    _collective(dist.all_reduce, torch.zeros(1))


def _collective(operation: Any, *values: Any, **options: Any) -> None:
    """Run an operation that all ranks take part in.

    Raises:
        LostRankError: One of them is gone.
    """
    try:
        operation(*values, **options)
    except RuntimeError:
        raise LostRankError(None) from None
