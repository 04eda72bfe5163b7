"""What a benchmark trains: which graphs with which algorithms, and how long at each scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mlscale.core.errors import UserError
from mlscale.decentral.algorithms.fits import GRAPHLESS, check_fit
from mlscale.decentral.setup import make_setup
from mlscale.decentral.topology import topology_of

if TYPE_CHECKING:
    from mlscale.core.runs import Run
    from mlscale.decentral.bench_config import BenchConfig

BASELINE = "allreduce"


class Cell(NamedTuple):
    """What all seeds of a comparison have in common.

    Attributes:
        algorithm: As the user names it.
        graph: As the user names it; None where the algorithm uses none.
        n: Replicas.
        variant: Settings in which it differs from other runs side by side, in words.
    """

    algorithm: str
    graph: str | None
    n: int
    variant: str = ""

    @property
    def label(self) -> str:
        """How tables and figures call it beside others of the same algorithm and n."""
        name = "all-reduce" if self.algorithm == BASELINE else self.graph or self.algorithm
        return f"{name}, {self.variant}" if self.variant else name


@dataclass(frozen=True, slots=True)
class Scale:
    """A training with a number of replicas.

    Args:
        n: Replicas.
        batch: Examples of a replica's batch.
        steps_per_epoch: Steps of an epoch.
        epochs: Epochs.
    """

    n: int
    batch: int
    steps_per_epoch: int
    epochs: int

    @property
    def examples(self) -> int:
        """Training examples seen, by all replicas together."""
        return self.n * self.batch * self.steps_per_epoch * self.epochs


def scale_at(config: BenchConfig, n: int) -> Scale:
    """Return how long n replicas train to see as many examples as any other number does.

    What does not fill a last batch is left out of an epoch, more of it the more replicas there
    are, so they get more epochs; to the nearest whole one.

    Raises:
        UserError: There is no such task, or too few examples for so many replicas.
    """
    setup = make_setup(config.training(BASELINE, None, n, seed=config.seed, epochs=config.epochs))
    seen = n * setup.batch * setup.steps_per_epoch
    epochs = max(1, round(config.epochs * len(setup.task.train) / seen))
    return Scale(n, setup.batch, setup.steps_per_epoch, epochs)


def make_cells(config: BenchConfig, run: Run) -> list[Cell]:
    """Return what is compared, the baseline first at each number of replicas.

    A graph that there is not for so many replicas, or that an algorithm cannot use, is left out
    and said.

    Raises:
        UserError: Nothing is left.
    """
    cells, refused = [], []
    for n in config.n:
        cells.append(Cell(BASELINE, None, n))
        for algorithm in config.algorithms:
            if algorithm in GRAPHLESS:
                cells.append(Cell(algorithm, None, n))
                continue
            for graph in config.graphs:
                cell = Cell(algorithm, graph, n)
                try:
                    _check(config, cell, run)
                except UserError as error:
                    refused.append(error)
                    run.note(f"{algorithm} on {graph} left out at n = {n}: {error.message}")
                else:
                    cells.append(cell)
    if refused and all(cell.graph is None for cell in cells):
        raise refused[0]
    return list(dict.fromkeys(cells))


def _check(config: BenchConfig, cell: Cell, run: Run) -> None:
    training = config.training(
        cell.algorithm, cell.graph, cell.n, seed=config.seed, epochs=config.epochs
    )
    for _, graph in topology_of(training).stages:
        for warning in check_fit(cell.algorithm, graph):
            run.note(warning)
