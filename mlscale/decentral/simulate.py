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
    from mlscale.core.runs import Run
    from mlscale.decentral.observer import Observer
    from mlscale.decentral.setup import Setup


def simulate(setup: Setup, run: Run, observer: Observer) -> None:
    """Train all replicas, from the last checkpoint where there is one.

    Raises:
        WorkFailed: A loss became NaN or infinite; the checkpoints before it are kept.
        KeyboardInterrupt: Ctrl-C or SIGTERM, between two epochs; the last was saved.
    """
    config, task = setup.config, setup.task
    num_replicas = config.gpus
    stack = Stack(
        task.make_model(config.seed), num_replicas, task.loss, run.device, vmap_safe=task.vmap_safe
    )
    mixer = SimulatedMixer(setup.round_at, config.seed)
    trainer = setup.trainer(stack, mixer)
    folder = None if run.path is None else run.path / "checkpoints"
    done = checkpoint_steps(folder)[-1:] if folder else []
    first = done[0] if done else 0
    if folder and done:
        trainer.load(*load_checkpoint(folder, first))
        run.note(f"goes on from the checkpoint of epoch {first:,}")
    run.rewind(first)

    with deferred_interrupts() as interrupts:
        for epoch in range(first, config.epochs):
            if interrupts.pending:
                break
            batches = [setup.batches(rank, epoch) for rank in range(num_replicas)]

            def tick(step: int) -> None:
                run.reporter.progress(step / setup.steps_per_epoch, config.epochs, f"step {step:,}")

            trained = train_epoch(
                trainer,
                setup.steps_per_epoch,
                functools.partial(stacked, batches),
                setup.lr,
                tick,
            )
            judged = setup.judged(epoch)
            outputs = functools.partial(stack.outputs, ranks=judged)
            _, right = evaluate(task, task.test, outputs, len(judged), run.device)
            accuracies = dict(zip(judged, right, strict=True))
            sent_bytes, mixer.traffic.sent_bytes = mixer.traffic.sent_bytes, 0.0
            reports = [
                RankReport(rank, loss, accuracies.get(rank), sent_bytes, 0.0, trained.seconds)
                for rank, loss in enumerate(trained.loss.tolist())
            ]
            observer.take(
                epoch, reports, stack.x.detach().cpu().numpy(), trained.norms.cpu().numpy()
            )
            if folder:
                save_checkpoint(folder, epoch + 1, *trainer.saved())
