"""How fast a graph mixes, from eigenvalues where there are, from the matrices where not.

Shape letters: N ranks; R rounds of a period; K = N - 1 modes, all but the mean.

A decay answers for the part of the ranks' values that is not their mean, C x with C = I - J and
J = 11^T / N. A round acts on it as A = C W, which is W - J where W keeps the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from mlscale.decentral.graphs.matching import Matching
from mlscale.decentral.graphs.mixing import TOLERANCE, Mixing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.decentral.graphs.mixing import Graph

ZERO = 1e-12
"""Norms below this are rounding."""
DENSE_FROM = 16
"""Neighbours from which a dense product is quicker than one neighbour by neighbour."""
MOST_DOUBLINGS = 40
"""2^40 periods: a sum that has not settled by then grows for ever."""


class Decay(Protocol):
    """How the distance to the mean shrinks."""

    @property
    def least(self) -> float | None:
        """The smallest eigenvalue of a static symmetric matrix, None for others."""

    @property
    def exact(self) -> int | None:
        """After how many rounds from the first nothing is left; None if not within a period."""

    @property
    def norm(self) -> float:
        """|| A_R ... A_1 ||_2, of a period."""

    def disagreement(self, gamma: float) -> float:
        """Return 1/N of the sum over m >= 1 of gamma^(m-1) || m rounds ||_F^2, over all starts.

        It is averaged over the rounds of a period at which the sum may end; infinite when a value
        stays.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """The decay of matrices with the same orthogonal eigenvectors: circulants, a symmetric one.

    Args:
        num_ranks: N.
        squares_RK: (R, K) squared sizes of the eigenvalues, the mean's left out.
        least: The smallest eigenvalue of a static symmetric matrix.
    """

    num_ranks: int
    squares_RK: NDArray[np.float64]
    least: float | None = None

    @property
    def norm(self) -> float:
        """|| A_R ... A_1 ||_2, of a period."""
        return _rounded(math.sqrt(self.squares_RK.prod(axis=0).max(initial=0.0)))

    def disagreement(self, gamma: float) -> float:
        """Return the sum that `Decay` describes, mode by mode."""
        kept_K = gamma ** len(self.squares_RK) * self.squares_RK.prod(axis=0)
        if kept_K.max(initial=0.0) > 1 - ZERO:
            return math.inf
        total_K = np.zeros_like(kept_K)
        for square_K in self.squares_RK:
            total_K = square_K * (gamma * total_K + 1)
        # One period on from the steady value, total + kept * steady, is the steady value again.
        total_K /= 1 - kept_K
        sums = []
        for square_K in self.squares_RK:
            total_K = square_K * (gamma * total_K + 1)
            sums.append(total_K.sum())
        return float(np.mean(sums)) / self.num_ranks

    @property
    def exact(self) -> int | None:
        """After how many rounds from the first nothing is left; None if not within a period."""
        left_RK = np.sqrt(np.cumprod(self.squares_RK, axis=0))
        exact = np.flatnonzero(left_RK.max(axis=1, initial=0.0) < ZERO)
        return int(exact[0]) + 1 if len(exact) else None


@dataclass(frozen=True, slots=True, eq=False)
class Matrices:
    """The decay of any rounds.

    Args:
        steps: The rounds of a period.
        period_NN: (N, N) A_R ... A_1.
        exact: After how many rounds from the first nothing is left.
    """

    steps: tuple[Sparse | Dense, ...]
    period_NN: NDArray[np.float64]
    exact: int | None
    least: None = None

    @classmethod
    def of(cls, rounds: Sequence[Mixing]) -> Matrices:
        """Return the decay of the rounds of a period."""
        steps = tuple(map(_step, rounds))
        left_NN = _plus_centring(np.zeros((rounds[0].num_ranks,) * 2))
        exact = None
        for done, step in enumerate(steps, start=1):
            left_NN = step.times(left_NN)
            if exact is None and np.linalg.norm(left_NN) < ZERO:
                exact = done
        return cls(steps, left_NN, exact)

    @property
    def norm(self) -> float:
        """|| A_R ... A_1 ||_2, of a period."""
        if np.linalg.norm(self.period_NN) < ZERO:
            return 0.0
        return float(np.linalg.norm(self.period_NN, 2))

    def disagreement(self, gamma: float) -> float:
        """Return the sum that `Decay` describes, by the covariance it is the trace of."""
        num_ranks = len(self.period_NN)
        total_NN = np.zeros((num_ranks, num_ranks))
        for step in self.steps:
            total_NN *= gamma
            total_NN = step.around(_plus_centring(total_NN))
        total_NN = _steady(total_NN, gamma ** (len(self.steps) / 2) * self.period_NN)
        if not np.isfinite(total_NN).all():
            return math.inf
        sums = []
        for step in self.steps:
            total_NN *= gamma
            total_NN = step.around(_plus_centring(total_NN))
            sums.append(np.trace(total_NN))
        return float(np.mean(sums)) / num_ranks


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """The matrix A = W C of a round that keeps the mean, for values whose mean is 0.

    Args:
        sources_DN: (D, N) whom each rank listens to, filled up with itself.
        weights_DN: (D, N) with what weights, filled up with zeros.
    """

    sources_DN: NDArray[np.int64]
    weights_DN: NDArray[np.float64]

    @classmethod
    def of(cls, mixing: Mixing) -> Sparse:
        """Return the matrix of a round."""
        counts_N = np.diff(mixing.starts)
        rows_E = np.repeat(np.arange(mixing.num_ranks), counts_N)
        places_E = np.arange(len(rows_E)) - mixing.starts[rows_E]
        sources_DN = np.tile(np.arange(mixing.num_ranks), (int(counts_N.max()), 1))
        weights_DN = np.zeros(sources_DN.shape)
        sources_DN[places_E, rows_E] = mixing.sources_E
        weights_DN[places_E, rows_E] = mixing.weights_E
        return cls(sources_DN, weights_DN)

    def times(self, x_NN: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A X, of the same shape (N, N)."""
        return self._mixed(x_NN, 0)

    def around(self, s_NN: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A S A^T."""
        return self._mixed(self._mixed(s_NN, 0), 1)

    def _mixed(self, x_NN: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Return A X, or X A^T for axis 1."""
        mixed_NN, taken_NN = np.zeros_like(x_NN), np.empty_like(x_NN)
        for sources_N, weights_N in zip(self.sources_DN, self.weights_DN, strict=True):
            # Large arrays cost most where they are new, so all go through the same one.
            np.take(x_NN, sources_N, axis, out=taken_NN, mode="clip")
            taken_NN *= weights_N if axis else weights_N[:, None]
            mixed_NN += taken_NN
        return mixed_NN


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """The matrix A = C W of any round.

    Args:
        matrix_NN: (N, N) A.
    """

    matrix_NN: NDArray[np.float64]

    @classmethod
    def of(cls, mixing: Mixing) -> Dense:
        """Return the matrix of a round."""
        matrix_NN = mixing.dense()
        return cls(matrix_NN - matrix_NN.mean(axis=0))

    def times(self, x_NN: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A X, of the same shape (N, N)."""
        return self.matrix_NN @ x_NN

    def around(self, s_NN: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return A S A^T."""
        return self.matrix_NN @ s_NN @ self.matrix_NN.T


def _step(mixing: Mixing) -> Sparse | Dense:
    """Return the matrix of a round in the form that is quicker to multiply by."""
    few = mixing.degrees.max() < DENSE_FROM
    return Sparse.of(mixing) if few and mixing.is_column_stochastic else Dense.of(mixing)


def decay_of(graph: Graph) -> Decay:
    """Return how a graph's rounds shrink the distance to the mean.

    Random matchings are taken in the mean square: the expected squared distance shrinks by the
    same factor whatever the values are.

    Raises:
        ValueError: Rounds are drawn for ever, and are not matchings.
    """
    if isinstance(graph, Matching):
        squares_K = np.full(graph.num_ranks - 1, graph.mean_square)
        return Modes(graph.num_ranks, squares_K[None])
    if graph.period is None:
        raise ValueError(f"no decay is known for the endless graph {graph.name!r}")
    rounds = [graph.at(step) for step in range(graph.period)]
    rows = [_circulant_row(mixing) for mixing in rounds]
    circulants = [row_N for row_N in rows if row_N is not None]
    static = rounds[0] if len(rounds) == 1 else None
    if len(circulants) == len(rounds):
        eigenvalues_RN = np.fft.fft(np.stack(circulants))
        least = float(eigenvalues_RN.real.min()) if static and static.is_symmetric else None
        return Modes(graph.num_ranks, np.abs(eigenvalues_RN[:, 1:]) ** 2, least)
    if static and static.is_symmetric:
        # Ascending: the last one is the mean's.
        eigenvalues_N = np.linalg.eigvalsh(static.dense()).astype(np.float64)
        return Modes(graph.num_ranks, eigenvalues_N[None, :-1] ** 2, float(eigenvalues_N[0]))
    return Matrices.of(rounds)


def _circulant_row(mixing: Mixing) -> NDArray[np.float64] | None:
    """Return the weights by distance, (N,), of a round in which all ranks see others alike."""
    num_ranks = mixing.num_ranks
    counts_N = np.diff(mixing.starts)
    if (counts_N != counts_N[0]).any():
        return None
    rows_E = np.repeat(np.arange(num_ranks), counts_N)
    distances_E = (rows_E - mixing.sources_E) % num_ranks
    order = np.argsort(rows_E * num_ranks + distances_E, kind="stable")
    distances_ND = distances_E[order].reshape(num_ranks, -1)
    weights_ND = mixing.weights_E[order].reshape(num_ranks, -1)
    alike = np.array_equal(distances_ND, np.broadcast_to(distances_ND[0], distances_ND.shape))
    if not alike or np.ptp(weights_ND, axis=0).max() > TOLERANCE:
        return None
    row_N = np.zeros(num_ranks)
    row_N[distances_ND[0]] = weights_ND[0]
    return row_N


def _plus_centring(matrix_NN: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return M + C, in the memory of M."""
    matrix_NN -= 1 / len(matrix_NN)
    np.fill_diagonal(matrix_NN, matrix_NN.diagonal() + 1)
    return matrix_NN


def _steady(added_NN: NDArray[np.float64], period_NN: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return S = Q + P S P^T by doubling the number of periods it sums; infinite if it grows.

    Args:
        added_NN: (N, N) Q, symmetric.
        period_NN: (N, N) P.
    """
    for _ in range(MOST_DOUBLINGS):
        if np.linalg.norm(period_NN) < ZERO:
            return added_NN
        added_NN = added_NN + period_NN @ added_NN @ period_NN.T
        period_NN = period_NN @ period_NN
    return np.full_like(added_NN, math.inf)


def _rounded(norm: float) -> float:
    """Return a norm, 0 for what is rounding."""
    return norm if norm > ZERO else 0.0
