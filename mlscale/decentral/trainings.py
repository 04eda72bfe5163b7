"""Trainings as records of their epochs, and what is measured of a whole one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.decentral.bench_cells import BASELINE, Cell
from mlscale.decentral.dispersion import MEASURES as DISPERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlscale.decentral.bench_config import BenchConfig

LAST = ("accuracy", "local_accuracy", "test_loss")
"""What is taken of the last epoch."""
MEAN = ("disagreement", *DISPERSION, "neighbours", "sent_bytes_per_step")
"""What is averaged over epochs: with a falling learning rate the last one is no fair picture."""
MEASURES = {
    "accuracy": "share of test targets, mean model",
    "local_accuracy": "share of test targets, mean of replicas",
    "test_loss": "nats, mean model",
    "disagreement": "mean squared distance from the mean, mean over epochs",
    "gini": "of tensor norms over replicas before mixing, mean over tensors and epochs",
    "cv": "as gini",
    "iod": "as gini",
    "qcd": "as gini",
    "neighbours": "most replicas that one hears in a step, mean over epochs",
    "sent_bytes_per_step": "bytes a replica",
    "seconds": "of training on this machine, evaluation apart",
}
"""Units of what is measured of a training."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """One training of a cell.

    Args:
        cell: Of which.
        seed: With which seed.
        epochs: A record of each epoch, in order.
        outcome: "trained", "diverged", or "unfinished".
    """

    cell: Cell
    seed: int
    epochs: Sequence[Mapping[str, Any]]
    outcome: str

    def measures(self) -> dict[str, float | None]:
        """Return what is measured of it as a whole, as in `MEASURES`."""
        last = self.epochs[-1]
        return {
            **{name: last.get(name) for name in LAST},
            **{name: self._mean(name) for name in MEAN},
            "seconds": sum(float(record.get("seconds") or 0) for record in self.epochs),
        }

    def tensors(self) -> dict[str, dict[str, float]]:
        """Return the dispersion of each parameter tensor, mean over epochs, where it is known."""
        names = [key.partition("/")[2] for key in self.epochs[-1] if key.startswith("gini/")]
        found = {}
        for name in names:
            means = {measure: self._mean(f"{measure}/{name}") for measure in DISPERSION}
            found[name] = {measure: mean for measure, mean in means.items() if mean is not None}
        return found

    def _mean(self, name: str) -> float | None:
        values = [record[name] for record in self.epochs if record.get(name) is not None]
        return float(np.mean(values)) if values else None


def trainings_of(
    records: Iterable[Mapping[str, Any]], config: BenchConfig | None = None
) -> list[Training]:
    """Return the trainings of a benchmark's records.

    Args:
        records: In any order.
        config: Whose order of graphs is kept; without it trainings come as they began.
    """
    epochs: dict[tuple[Cell, int], dict[int, Mapping[str, Any]]] = {}
    outcomes: dict[tuple[Cell, int], str] = {}
    for record in records:
        key = Cell(record["algorithm"], record["graph"], record["n"]), record["seed"]
        own = epochs.setdefault(key, {})
        if "epoch" in record:
            own[record["epoch"]] = record
        if "outcome" in record:
            outcomes[key] = record["outcome"]
    found = [
        Training(
            cell=cell,
            seed=seed,
            epochs=[own[epoch] for epoch in sorted(own)],
            outcome=outcomes.get((cell, seed), "unfinished"),
        )
        for (cell, seed), own in epochs.items()
    ]
    if config is not None:
        found.sort(key=lambda training: (*_place(training.cell, config), training.seed))
    return found


def _place(cell: Cell, config: BenchConfig) -> tuple[int, int, int]:
    """Return where a cell stands: by n, then by algorithm, all-reduce first, then by graph."""
    algorithms = [BASELINE, *config.algorithms]
    graph = 0 if cell.graph is None else config.graphs.index(cell.graph)
    return config.n.index(cell.n), algorithms.index(cell.algorithm), graph
