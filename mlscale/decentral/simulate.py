"""`--engine simulate`: all replicas in this process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint, save_checkpoint
from mlscale.core.interrupts import deferred_interrupts
from mlscale.decentral.epoch import train_epoch
from mlscale.decentral.observer import RankReport
from mlscale.decentral.setup import stacked
from mlscale.decentral.simulated import SimulatedMixer
from mlscale.decentral.stack import Stack
from mlscale.decentral.trainer import evaluate

if TYPE_CHECKING:
    from collections.abc import Generator

    from mlscale.core.runs import Run
    from mlscale.decentral.observer import Observer
    from mlscale.decentral.setup import Setup


def simulate(setup: Setup, run: Run, observer: Observer) -> None:
    """Train all replicas, from the last checkpoint where there is one.

    Raises:
        Diverged: A loss became NaN or infinite; the checkpoints before it are kept.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the epochs before it were saved.
    """
    for step in _train(setup, run, observer):
        done = step / setup.steps_per_epoch
        run.reporter.progress(done, setup.config.epochs, f"step {step:,}")


def _train(setup: Setup, run: Run, observer: Observer) -> Generator[int]:
    """Yield after every step how many were taken."""
    config, task = setup.config, setup.task
    num_replicas = config.gpus
    stack = Stack(
        task.make_model(config.seed), num_replicas, task.loss, run.device, vmap_safe=task.vmap_safe
    )
    mixer = SimulatedMixer(setup.round_at, config.seed)
    trainer = setup.trainer(stack, mixer)
    folder = None if run.path is None else run.path / "checkpoints"
    first = max(checkpoint_steps(folder), default=0) if folder else 0
    if folder and first:
        trainer.load(*load_checkpoint(folder, first))
        run.note(f"goes on from the checkpoint of epoch {first:,}")
    run.rewind(first)
    for epoch in range(first, config.epochs):
        batches = [setup.batches(rank, epoch) for rank in range(num_replicas)]
        take = functools.partial(stacked, batches)
        trained = yield from train_epoch(trainer, setup.steps_per_epoch, take, setup.lr)
        judged = setup.judged(epoch)
        outputs = functools.partial(stack.outputs, ranks=judged)
        _, right = evaluate(task, task.test, outputs, len(judged), run.device)
        accuracies = dict(zip(judged, right, strict=True))
        sent_bytes, mixer.traffic.sent_bytes = mixer.traffic.sent_bytes, 0.0
        reports = [
            RankReport(rank, loss, accuracies.get(rank), sent_bytes, 0.0, trained.seconds)
            for rank, loss in enumerate(trained.loss.tolist())
        ]
        x_NP, norms_NK = stack.x.detach().cpu().numpy(), trained.norms.cpu().numpy()
        with deferred_interrupts():  # an epoch that is logged is saved
            observer.take(epoch, reports, x_NP, norms_NK)
            if folder:
                save_checkpoint(folder, epoch + 1, *trainer.saved())
