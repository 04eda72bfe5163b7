"""What a graph is like: neighbours, messages, how fast it mixes and how far ranks stay apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlscale.decentral.graphs.modes import ZERO, Decay, decay_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.decentral.graphs.mixing import Graph, Mixing

TARGET = 1e-3
GAMMAS = (0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Properties:
    """The properties of a graph.

    For graphs with several rounds rho is that of a whole period; for random matchings it is the
    root of the factor by which the expected squared distance to the mean shrinks a round.

    Args:
        degree: The most neighbours that a rank receives from in a round.
        sends: Messages a rank sends a round, on average over ranks and rounds.
        rho: || W - J ||_2: what a period leaves of the distance to the mean, at most.
        rho_round: rho to the power of 1 / rounds of a period.
        gap: 1 - rho_round.
        rounds: Rounds until the distance is 1e-3 of what it was; None for never.
        lambda_min: The smallest eigenvalue of a static symmetric matrix, None for others.
        disagreement: Mean square distance to the mean, over ranks, when unit noise comes in before
            every round; None if it grows for ever.
        effective: Effective neighbours by gamma; None where the mean is not kept.
        is_symmetric: Whether any two ranks give each other the same weight, in every round.
        keeps_mean: Whether the mean over ranks never changes.
        exact_after: Rounds from the first that leave exactly the mean, None if a period does not.
    """

    degree: int
    sends: float
    rho: float
    rho_round: float
    gap: float
    rounds: int | None
    lambda_min: float | None
    disagreement: float | None
    effective: dict[float, float | None]
    is_symmetric: bool
    keeps_mean: bool
    exact_after: int | None


def measure(graph: Graph, *, gammas: Sequence[float] = GAMMAS) -> Properties:
    """Return the properties of a graph.

    Args:
        graph: One with a period, or random matchings.
        gammas: For the effective neighbours, each in [0, 1).
    """
    rounds = rounds_of(graph)
    decay = decay_of(graph)
    rho = decay.norm
    rho_round = rho ** (1 / len(rounds))
    keeps_mean = all(mixing.is_column_stochastic for mixing in rounds)
    apart = decay.disagreement(1.0)
    return Properties(
        degree=max(int(mixing.degrees.max()) for mixing in rounds),
        sends=sends(graph),
        rho=rho,
        rho_round=rho_round,
        gap=1 - rho_round,
        rounds=decay.exact or rounds_to(rho_round),
        lambda_min=decay.least,
        disagreement=apart if math.isfinite(apart) else None,
        effective={
            gamma: effective_neighbours(decay, graph.num_ranks, gamma) if keeps_mean else None
            for gamma in gammas
        },
        is_symmetric=all(mixing.is_symmetric for mixing in rounds),
        keeps_mean=keeps_mean,
        exact_after=decay.exact,
    )


def rounds_of(graph: Graph) -> list[Mixing]:
    """Return the rounds of a period; of a graph without one its first, which stands for all."""
    return [graph.at(step) for step in range(graph.period or 1)]


def sends(graph: Graph) -> float:
    """Return how many messages a rank sends a round, on average over ranks and rounds."""
    rounds = rounds_of(graph)
    return sum(int(mixing.degrees.sum()) for mixing in rounds) / len(rounds) / graph.num_ranks


def rounds_to(rho: float, target: float = TARGET) -> int | None:
    """Return ceil(ln target / ln rho), the rounds that shrink a distance to a share of itself.

    Args:
        rho: What a round leaves of it.
        target: The share, in (0, 1).

    Returns:
        The rounds, at least 1; None when nothing shrinks.
    """
    if rho >= 1 - ZERO:
        return None
    if rho <= target:
        return 1
    # Powers that hit the target exactly must not take a round more for rounding.
    return math.ceil(math.log(target) / math.log(rho) - 1e-9)


def effective_neighbours(decay: Decay, num_ranks: int, gamma: float) -> float:
    """Return with how many ranks a rank shares its noise, in effect.

    Of values that take unit noise and are mixed, then shrunk by sqrt(gamma), round after round,
    this is how many times smaller the variance is than without mixing. Where rounds differ, the
    variance is averaged over those of a period.

    Args:
        decay: Of a graph that keeps the mean.
        num_ranks: N.
        gamma: By how much the variance shrinks in a round, in [0, 1).

    Source: Vogels, Hendrikx and Jaggi 2022 (NeurIPS), the effective number of neighbours.
    """
    alone = 1 / (1 - gamma)
    return alone / (alone / num_ranks + decay.disagreement(gamma))
