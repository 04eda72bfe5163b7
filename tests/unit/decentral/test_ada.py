"""The rule that shrinks the lattice: exact checks, rounding, defaults."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.decentral.ada import (
    default_gamma,
    default_k0,
    graph_at,
    lattice_neighbours,
    neighbours_at,
    stages,
)


@pytest.mark.parametrize(
    ("k0", "gamma", "epoch", "expected"),
    [
        *((10, "1/50", epoch, 10) for epoch in (0, 1, 49)),
        (10, "1/50", 50, 9),
        (10, "1/50", 100, 8),
        (10, "1/50", 200, 6),
        (10, "1/50", 299, 5),
        (10, "1/50", 300, 4),
        (112, "1", 0, 112),
        (112, "1", 30, 82),
        (112, "1", 60, 52),
        (112, "1", 89, 23),
        (112, "1", 90, 22),
        (112, "1", 110, 2),
        (112, "1", 111, 2),
        (100, "0.29", 100, 71),  # in floats 0.29 * 100 is just below 29
        (10, "0.02", 50, 9),
        (10, "0", 1000, 10),
        (2, "5", 3, 2),
    ],
)
def test_neighbours_at(k0: int, gamma: str, epoch: int, expected: int) -> None:
    assert neighbours_at(epoch, k0, gamma) == expected
    assert neighbours_at(epoch, k0, Fraction(gamma)) == expected


def test_the_trap_of_floats_is_there_and_refused() -> None:
    assert math.floor(0.29 * 100) == 28
    with pytest.raises(TypeError, match=r"0\.29"):
        neighbours_at(100, 100, 0.29)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gamma", "message"),
    [
        ("fast", "gamma: 'fast' is not a number"),
        ("1/0", "gamma: '1/0' is not a number"),
        ("nan", "gamma: 'nan' is not a number"),
        ("-1", "gamma cannot be negative, got -1"),
    ],
)
def test_bad_gamma(gamma: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        neighbours_at(0, 10, gamma)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("k", "num_ranks", "expected"),
    [
        (9, 16, 8), (8, 16, 8), (3, 16, 2), (2, 16, 2), (14, 16, 14), (15, 16, 15), (99, 16, 15),
        (2, 4, 2), (3, 4, 3), (2, 3, 2), (2, 2, 1), (2, 1, 0), (5, 7, 4), (6, 7, 6),
    ],
)  # fmt: skip
def test_lattice_neighbours(k: int, num_ranks: int, expected: int) -> None:
    assert lattice_neighbours(k, num_ranks) == expected


def test_the_graph_shrinks_in_stages() -> None:
    assert stages(8, 8, 8, "1") == [
        (0, "complete"), (2, "lattice-6"), (3, "lattice-4"), (5, "lattice-2"),
    ]  # fmt: skip
    assert [graph_at(epoch, 8, 8, "1") for epoch in (0, 1, 2, 7)] == [
        "complete", "complete", "lattice-6", "lattice-2",
    ]  # fmt: skip
    assert stages(5, 3, 2, "1") == [(0, "complete")]
    assert stages(5, 1, 2, "1") == [(0, "complete")]


@given(st.integers(1, 2000), st.integers(1, 300))
def test_by_default_it_only_shrinks_and_ends_as_a_ring(num_ranks: int, num_epochs: int) -> None:
    k0 = default_k0(num_ranks)
    gamma = default_gamma(k0, num_epochs)
    counts = [neighbours_at(epoch, k0, gamma) for epoch in range(num_epochs + 1)]
    assert counts[0] == max(k0, 2)
    assert counts == sorted(counts, reverse=True)
    assert all(count == 2 for count in counts[math.ceil(0.75 * num_epochs) :])


def test_default_k0_gives_a_gap_of_a_tenth_among_many() -> None:
    assert [default_k0(n) for n in (1, 2, 4, 8, 9, 16, 32, 64, 1008)] == [
        0, 1, 3, 7, 8, 8, 8, 16, 252,
    ]  # fmt: skip
    for num_ranks, tolerance in ((64, 0.02), (1008, 0.002)):
        half = default_k0(num_ranks) // 2
        cosines = np.cos(2 * np.pi * np.arange(1, half + 1) / num_ranks)
        gap = 1 - (1 + 2 * cosines.sum()) / (2 * half + 1)
        assert gap == pytest.approx(1 - math.sin(math.pi / 4) / (math.pi / 4), abs=tolerance)
