"""The epochs of one replica in a process of its own, whoever takes in what it reports.

Shape letters: K parameter tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mlscale.decentral.epoch import train_epoch
from mlscale.decentral.observer import RankReport
from mlscale.decentral.trainer import evaluate

if TYPE_CHECKING:
    from collections.abc import Generator

    from torch import Tensor

    from mlscale.decentral.exchange import ProcessMixer
    from mlscale.decentral.replica import Replica
    from mlscale.decentral.setup import Setup
    from mlscale.decentral.trainer import Trainer


class FinishedEpoch(NamedTuple):
    """An epoch that a replica has trained and not yet saved.

    Attributes:
        epoch: From 0.
        report: What the replica says.
        norms_K: (K,) norms of its tensors before the last mixing.
    """

    epoch: int
    report: RankReport
    norms_K: Tensor


def replica_epochs(
    setup: Setup, rank: int, replica: Replica, trainer: Trainer, mixer: ProcessMixer, first: int
) -> Generator[int | FinishedEpoch]:
    """Train the epochs that are left; yield after each step its number, and every epoch.

    Args:
        setup: Of the training.
        rank: The replica's.
        replica: What is trained.
        trainer: Takes its steps.
        mixer: Counts what it sends.
        first: Epochs done.

    Raises:
        Diverged: A loss is NaN or infinite.
        LostRankError: Another replica is gone.
    """
    task = setup.task
    for epoch in range(first, setup.config.epochs):
        batches = setup.batches(rank, epoch)
        trained = yield from train_epoch(trainer, setup.steps_per_epoch, batches.take, setup.lr)
        is_judged = rank in setup.judged(epoch)
        _, accuracies = evaluate(
            task, task.test, replica.outputs, int(is_judged), str(replica.x.device)
        )
        report = RankReport(
            rank,
            float(trained.loss),
            accuracies[0] if is_judged else None,
            mixer.traffic.sent_bytes,
            mixer.traffic.waited_s,
            trained.seconds,
        )
        mixer.traffic.sent_bytes = mixer.traffic.waited_s = 0.0
        yield FinishedEpoch(epoch, report, trained.norms)
