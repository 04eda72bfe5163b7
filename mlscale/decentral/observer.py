"""What is measured of all replicas together at the end of an epoch.

Shape letters: N replicas; P parameters; K parameter tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.decentral.dispersion import MEASURES
from mlscale.decentral.mean_model import MeanModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mlscale.core.runs import Run
    from mlscale.decentral.setup import Setup


@dataclass(frozen=True, slots=True)
class RankReport:
    """What one replica says at the end of an epoch.

    Args:
        rank: Which.
        loss: Mean loss of its batches.
        accuracy: Share of the test targets that it gets right; None where it was not measured.
        sent_bytes: Bytes it has sent in the epoch.
        waited_s: Seconds it waited for others.
        seconds: Seconds the epoch took, evaluation apart.
    """

    rank: int
    loss: float
    accuracy: float | None
    sent_bytes: float
    waited_s: float
    seconds: float


class Observer:
    """Logs one record for each epoch.

    Args:
        setup: Of the training.
        run: Where records go.
        device: Where the mean model is evaluated.

    Attributes:
        mean_model: The model of the mean parameters, as of the last epoch.
        has_measured: Whether any epoch was taken.
    """

    def __init__(self, setup: Setup, run: Run, device: str = "cpu") -> None:
        self._setup, self._run = setup, run
        self.mean_model = MeanModel(setup.task, setup.config.seed, device)
        self.has_measured = False

    def take(
        self,
        epoch: int,
        reports: Sequence[RankReport],
        x_NP: NDArray[np.float32],
        norms_NK: NDArray[np.float32],
    ) -> dict[str, Any]:
        """Measure and log an epoch.

        Args:
            epoch: From 0.
            reports: Of the replicas that are left.
            x_NP: (N, P) their parameters after the last mixing.
            norms_NK: (N, K) norms of their tensors before it.

        Returns:
            The record.
        """
        setup = self._setup
        self.has_measured = True
        mean_P = x_NP.mean(axis=0, dtype=np.float64).astype(np.float32)
        loss, accuracy = self.mean_model.evaluate(mean_P)
        accuracies = [report.accuracy for report in reports if report.accuracy is not None]
        steps = setup.steps_per_epoch
        mixing = setup.round_at(epoch * steps)
        record = {
            "epoch": epoch + 1,
            "step": (epoch + 1) * steps,
            "lr": setup.lr((epoch + 1) * steps - 1),
            "train_loss": float(np.mean([report.loss for report in reports])),
            "test_loss": loss,
            "accuracy": accuracy,
            "local_accuracy": float(np.mean(accuracies)) if accuracies else None,
            "local_accuracy_min": min(accuracies, default=None),
            "local_accuracy_max": max(accuracies, default=None),
            **self._apart(x_NP, norms_NK),
            "neighbours": int(mixing.degrees.max()),
            "replicas": len(reports),
            "sent_bytes_per_step": float(np.mean([r.sent_bytes for r in reports])) / steps,
            "waited_s": float(np.mean([report.waited_s for report in reports])),
            "seconds": max(report.seconds for report in reports),
        }
        record |= setup.task.derived(loss)
        self._run.log(record)
        self._show(record)
        return record

    def _apart(self, x_NP: NDArray[np.float32], norms_NK: NDArray[np.float32]) -> dict[str, float]:
        """Return how far apart replicas are."""
        norms = norms_NK.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # of replicas about to diverge
            return {
                "disagreement": disagreement(x_NP),
                **{name: float(np.mean(measure(norms))) for name, measure in MEASURES.items()},
                **self.by_tensor(norms),
            }

    def by_tensor(self, norms_NK: NDArray[np.float64]) -> dict[str, float]:
        """Return measures of single tensors for the record of an epoch: none."""
        return {}

    def _show(self, record: dict[str, Any]) -> None:
        local = record["local_accuracy"]
        replicas = "" if local is None else f" (replicas {100 * local:.1f})"
        text = (
            f"loss {record['train_loss']:.3g}, accuracy {100 * record['accuracy']:.1f} %"
            f"{replicas}, disagreement {record['disagreement']:.2g}"
        )
        self._run.reporter.progress(record["epoch"], self._setup.config.epochs, text)


def disagreement(x_NP: NDArray[np.float32]) -> float:
    """Return the mean squared distance of replicas from their mean, (1/N) sum |x_i - mean|^2."""
    centred_NP = x_NP - x_NP.mean(axis=0, keepdims=True)
    return float(np.square(centred_NP, dtype=np.float64).sum() / len(x_NP))
