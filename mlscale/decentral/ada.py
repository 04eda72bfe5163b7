"""Ada's idea as a rule of ours: a lattice that begins dense and loses neighbours epoch by epoch.

Source: Xie, Yin, Zhou, Oral and Wang 2025 (arXiv 2509.12213) let the graph shrink during training.
Their formula, k0 and gamma were not to be had, so everything here is ours after that idea:
k(e) = max(k0 - floor(gamma e), 2), which the lattice takes rounded down to an even number.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from mlscale.core.errors import UserError

FEWEST = 2
"""A ring: with fewer neighbours ranks fall apart."""
SMALL = 8
"""Neighbours at first among few ranks: so few cost little."""


def neighbours_at(epoch: int, k0: int, gamma: Fraction | str) -> int:
    """Return k(e) = max(k0 - floor(gamma e), 2), before rounding for the lattice.

    Args:
        epoch: From 0.
        k0: Neighbours at first.
        gamma: Neighbours lost in an epoch, as a fraction or as text ("0.29", "1/50"). A float is
            refused: as one, floor(0.29 * 100) is 28.

    Raises:
        TypeError: Gamma is a float.
        UserError: Gamma is no number, or negative.
    """
    return max(k0 - math.floor(exact(gamma) * epoch), FEWEST)


def exact(gamma: Fraction | str) -> Fraction:
    """Return gamma as an exact fraction.

    Raises:
        TypeError: It is a float.
        UserError: It is no number, or negative.
    """
    if isinstance(gamma, float):
        raise TypeError(f"gamma must be exact: give Fraction or text, not the float {gamma}")
    try:
        value = Fraction(gamma)
    except (ValueError, ZeroDivisionError):
        raise UserError(f"gamma: {gamma!r} is not a number", "as in 0.02 or 1/50") from None
    if value < 0:
        raise UserError(f"gamma cannot be negative, got {gamma}", "the graph only shrinks")
    return value


def lattice_neighbours(k: int, num_ranks: int) -> int:
    """Return how many neighbours a lattice of so many ranks has when k are asked for.

    Returns:
        num_ranks - 1, the complete graph, where k is at least that; else k rounded down to even,
        since a lattice has as many neighbours on the left as on the right.
    """
    return num_ranks - 1 if k >= num_ranks - 1 else k - k % 2


def graph_at(epoch: int, num_ranks: int, k0: int, gamma: Fraction | str) -> str:
    """Return the name of an epoch's graph, "complete" or as in "lattice-4"."""
    k = lattice_neighbours(neighbours_at(epoch, k0, gamma), num_ranks)
    return "complete" if k == num_ranks - 1 else f"lattice-{k}"


class Stage(NamedTuple):
    """Epochs in a row with one graph: it begins with `epoch`, from 0."""

    epoch: int
    graph: str


def stages(num_epochs: int, num_ranks: int, k0: int, gamma: Fraction | str) -> list[Stage]:
    """Return when the graph changes, the first stage beginning with epoch 0."""
    found: list[Stage] = []
    for epoch in range(num_epochs):
        graph = graph_at(epoch, num_ranks, k0, gamma)
        if not found or found[-1].graph != graph:
            found.append(Stage(epoch, graph))
    return found


def default_k0(num_ranks: int) -> int:
    """Return how many neighbours Ada begins with when nobody says: a quarter of the ranks.

    A lattice of a share f of many ranks has a spectral gap of 1 - sin(pi f) / (pi f), which is
    0.1 for a quarter, however many there are. Among few ranks it is 8, or all of them. Ours.
    """
    return max(num_ranks // 4, min(SMALL, num_ranks - 1))


def default_gamma(k0: int, num_epochs: int) -> Fraction:
    """Return the gamma that comes to two neighbours after three quarters of the epochs. Ours.

    Args:
        k0: Neighbours at first.
        num_epochs: Epochs of the training, at least 1.
    """
    return Fraction(4 * max(k0 - FEWEST, 0), 3 * num_epochs)
