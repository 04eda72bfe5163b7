"""Strongly connected parts: against the closure of who reaches whom, and over a period."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.connected import check_connected, components, ranges
from mlscale.decentral.graphs.links import Links
from mlscale.decentral.graphs.mixing import Periodic
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.graphs.weights import uniform


def periodic(num_ranks: int, *rounds: list[tuple[int, int]]) -> Periodic:
    """Return a graph of pairs (receiver, sender)."""
    links = [Links.of(num_ranks, [a for a, _ in pairs], [b for _, b in pairs]) for pairs in rounds]
    return Periodic("mine", tuple(map(uniform, links)))


@settings(max_examples=100, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20),
    more=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=4),
)
def test_parts_are_the_ranks_that_reach_each_other(
    pairs: list[tuple[int, int]], more: list[tuple[int, int]]
) -> None:
    reach_NN = np.eye(8, dtype=bool)
    for receiver, sender in pairs + more:
        reach_NN[receiver, sender] = True
    for middle in range(8):  # Warshall's closure
        reach_NN |= np.outer(reach_NN[:, middle], reach_NN[middle])
    mutual_NN = reach_NN & reach_NN.T
    expected = sorted({tuple(np.flatnonzero(row).tolist()) for row in mutual_NN})
    assert components(periodic(8, pairs, more)) == [list(part) for part in expected]


def test_a_period_counts_as_a_whole() -> None:
    rounds = [[(0, 1), (1, 0)], [(1, 2), (2, 1)]]
    check_connected(periodic(3, *rounds))
    with pytest.raises(UserError) as caught:
        check_connected(periodic(3, rounds[0]))
    assert caught.value.message == "graph 'mine' falls into 2 parts: 0-1; 2"


def test_rounds_without_end_pass() -> None:
    check_connected(make_graph("matching", 6))


def test_a_long_line_needs_no_deep_stack() -> None:
    line = periodic(5000, [(r, r + 1) for r in range(4999)] + [(r + 1, r) for r in range(4999)])
    assert components(line) == [list(range(5000))]


def test_ranges() -> None:
    assert ranges([0, 1, 2, 3, 7]) == "0-3, 7"
    assert ranges([2]) == "2"
    assert ranges([0, 2, 4, 5]) == "0, 2, 4-5"
