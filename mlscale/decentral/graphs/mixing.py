"""One round of averaging as a sparse matrix, and graphs as sequences of rounds.

Shape letters: N ranks; E entries of the matrix that are not zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Mixing:
    """One round: rank i takes the weighted sum of what it receives and of its own.

    Rows are kept one after another (CSR), the sources of a row ascending and none twice.

    Args:
        starts: (N + 1,) where each row begins.
        sources_E: (E,) the ranks that are listened to, the own one among them.
        weights_E: (E,) float64, none zero.
    """

    starts: NDArray[np.int64]
    sources_E: NDArray[np.int64]
    weights_E: NDArray[np.float64]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[tuple[int, float]]]) -> Mixing:
        """Return the round in which rank i gives `rows[i]`, pairs of a source and its weight.

        Weights of a source that is named twice are added up; a weight of zero is left out.
        """
        starts: list[int] = [0]
        sources: list[int] = []
        weights: list[float] = []
        for row in rows:
            total: dict[int, float] = {}
            for source, weight in row:
                total[source] = total.get(source, 0.0) + weight
            kept = sorted((source, weight) for source, weight in total.items() if weight != 0)
            sources += [source for source, _ in kept]
            weights += [weight for _, weight in kept]
            starts.append(len(sources))
        return cls(
            np.array(starts, np.int64), np.array(sources, np.int64), np.array(weights, np.float64)
        )

    @classmethod
    def from_entries(
        cls,
        num_ranks: int,
        rows_E: NDArray[np.int64],
        sources_E: NDArray[np.int64],
        weights_E: NDArray[np.float64],
    ) -> Mixing:
        """Return the round with given entries in any order, each named once, zeros left out.

        Args:
            num_ranks: N.
            rows_E: (E,) who listens.
            sources_E: (E,) to whom.
            weights_E: (E,) with what weight.
        """
        kept = np.flatnonzero(weights_E)
        # Stable sorting is quick on what is in order already, as most entries are.
        keys = rows_E[kept] * num_ranks + sources_E[kept]
        order = kept[np.argsort(keys, kind="stable")]
        starts = np.searchsorted(rows_E[order], np.arange(num_ranks + 1))
        return cls(starts, sources_E[order], weights_E[order])

    @classmethod
    def from_dense(cls, matrix_NN: NDArray[np.float64]) -> Mixing:
        """Return the round whose matrix is given, zeros left out."""
        rows, sources = np.nonzero(matrix_NN)
        starts = np.searchsorted(rows, np.arange(len(matrix_NN) + 1))
        return cls(starts, sources, np.asarray(matrix_NN[rows, sources], np.float64))

    @property
    def num_ranks(self) -> int:
        """N."""
        return len(self.starts) - 1

    @property
    def entry_rows(self) -> NDArray[np.int64]:
        """The rank that each entry is given to, (E,)."""
        return np.repeat(np.arange(self.num_ranks), np.diff(self.starts))

    def row(self, rank: int) -> list[tuple[int, float]]:
        """Return whom a rank listens to and with what weights, itself included."""
        own = slice(self.starts[rank], self.starts[rank + 1])
        return list(zip(self.sources_E[own].tolist(), self.weights_E[own].tolist(), strict=True))

    def self_weight(self, rank: int) -> float:
        """Return the weight of a rank's own value; 0 when it has none."""
        return dict(self.row(rank)).get(rank, 0.0)

    def received(self, rank: int) -> list[tuple[int, float]]:
        """Return whom a rank receives from and with what weights."""
        return [(source, weight) for source, weight in self.row(rank) if source != rank]

    def targets(self, rank: int) -> list[int]:
        """Return the ranks that receive from a rank, ascending."""
        rows = np.searchsorted(self.starts, np.flatnonzero(self.sources_E == rank), "right") - 1
        return [int(target) for target in rows if target != rank]

    def dense(self) -> NDArray[np.float64]:
        """Return the matrix (N, N)."""
        matrix_NN = np.zeros((self.num_ranks, self.num_ranks))
        matrix_NN[self.entry_rows, self.sources_E] = self.weights_E
        return matrix_NN

    @property
    def degrees(self) -> NDArray[np.int64]:
        """How many others each rank receives from, (N,)."""
        rows = self.entry_rows
        others: NDArray[np.int64] = np.bincount(
            rows[self.sources_E != rows], minlength=self.num_ranks
        )
        return others

    @property
    def is_row_stochastic(self) -> bool:
        """Whether every rank's weights add up to 1."""
        return bool(np.allclose(self.row_sums, 1, rtol=0, atol=TOLERANCE))

    @property
    def is_column_stochastic(self) -> bool:
        """Whether what is taken from every rank adds up to 1, so that the mean is kept."""
        sums_N = np.bincount(self.sources_E, self.weights_E, self.num_ranks)
        return bool(np.allclose(sums_N, 1, rtol=0, atol=TOLERANCE))

    @property
    def row_sums(self) -> NDArray[np.float64]:
        """The sum of each rank's weights, (N,)."""
        return np.bincount(self.entry_rows, self.weights_E, self.num_ranks).astype(np.float64)

    @property
    def is_symmetric(self) -> bool:
        """Whether any two ranks give each other the same weight."""
        rows = self.entry_rows
        forward = np.lexsort((self.sources_E, rows))
        backward = np.lexsort((rows, self.sources_E))
        return bool(
            np.array_equal(rows[forward], self.sources_E[backward])
            and np.array_equal(self.sources_E[forward], rows[backward])
            and np.allclose(
                self.weights_E[forward], self.weights_E[backward], rtol=0, atol=TOLERANCE
            )
        )


class Graph(Protocol):
    """A sequence of rounds for a number of ranks."""

    @property
    def name(self) -> str:
        """As the user names it, as in "exp" or "lattice-4"."""

    @property
    def num_ranks(self) -> int:
        """N."""

    @property
    def period(self) -> int | None:
        """Rounds after which it begins again; None when rounds are drawn for ever."""

    def at(self, step: int) -> Mixing:
        """Return the round of a step, from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Periodic:
    """A graph that goes through a list of rounds again and again.

    Args:
        name: As the user names it.
        rounds: At least one.
    """

    name: str
    rounds: tuple[Mixing, ...]

    @property
    def num_ranks(self) -> int:
        """N."""
        return self.rounds[0].num_ranks

    @property
    def period(self) -> int:
        """Rounds after which it begins again."""
        return len(self.rounds)

    def at(self, step: int) -> Mixing:
        """Return the round of a step, from 0."""
        return self.rounds[step % len(self.rounds)]
