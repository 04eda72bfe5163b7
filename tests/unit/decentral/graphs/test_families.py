"""Every family at every number of ranks: who listens to whom, and with what weights."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.connected import components
from mlscale.decentral.graphs.grids import sides
from mlscale.decentral.graphs.mixing import Graph
from mlscale.decentral.graphs.names import FAMILIES
from mlscale.decentral.graphs.registry import make_graph

NAMES = [family.named() for family in FAMILIES] + ["lattice-2", "lattice-12", "base-2", "equi-1"]
SYMMETRIC = {
    "complete", "ring", "torus", "grid", "exp_sym", "hypercube", "lattice-4", "lattice-2",
    "lattice-12", "star", "base-2", "base-3", "matching",
}  # fmt: skip


def rounds(graph: Graph) -> range:
    return range(graph.period or 5)


def received(name: str, num_ranks: int, rank: int) -> list[int]:
    return [source for source, _ in make_graph(name, num_ranks).at(0).received(rank)]


@settings(max_examples=100, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    num_ranks=st.integers(1, 40),
    seed=st.integers(0, 50),
    form=st.sampled_from(["plain", "lazy", "damped"]),
)
def test_every_round_is_an_average_that_keeps_the_mean(
    name: str, num_ranks: int, seed: int, form: str
) -> None:
    if name == "hypercube":
        num_ranks = 2 ** (num_ranks % 6)
    graph = make_graph(name, num_ranks, seed=seed, form=form, damping=0.3)
    assert (graph.name, graph.num_ranks) == (name, num_ranks)
    for step in rounds(graph):
        mixing = graph.at(step)
        assert mixing.num_ranks == num_ranks
        assert mixing.is_row_stochastic
        assert mixing.is_column_stochastic
        assert (mixing.weights_E > 0).all()
        if name in SYMMETRIC:
            assert mixing.is_symmetric
        senders = {
            (source, rank) for rank in range(num_ranks) for source, _ in mixing.received(rank)
        }
        targets = {(rank, target) for rank in range(num_ranks) for target in mixing.targets(rank)}
        assert senders == targets
        if form != "plain":
            least = 0.5 if form == "lazy" else 0.7
            assert all(mixing.self_weight(r) > least - 1e-12 for r in range(num_ranks))


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), num_ranks=st.integers(1, 40), seed=st.integers(0, 50))
def test_every_rank_hears_of_every_other(name: str, num_ranks: int, seed: int) -> None:
    if name == "hypercube":
        num_ranks = 2 ** (num_ranks % 6)
    if name != "matching":
        assert len(components(make_graph(name, num_ranks, seed=seed))) == 1


@pytest.mark.parametrize("name", NAMES)
def test_one_rank_keeps_its_value(name: str) -> None:
    graph = make_graph(name, 1)
    assert graph.at(0).row(0) == [(0, 1.0)]
    assert graph.period in (None, 1)


@pytest.mark.parametrize(
    ("name", "num_ranks", "rank", "sources"),
    [
        ("complete", 4, 1, [0, 2, 3]),
        ("ring", 8, 0, [1, 7]),
        ("ring", 2, 0, [1]),
        ("torus", 8, 0, [1, 3, 4]),
        ("torus", 12, 5, [1, 4, 6, 9]),
        ("torus", 12, 0, [1, 3, 4, 8]),
        ("torus", 7, 0, [1, 6]),
        ("torus", 4, 0, [1, 2]),
        ("grid", 12, 0, [1, 4]),
        ("grid", 12, 5, [1, 4, 6, 9]),
        ("grid", 5, 0, [1]),
        ("exp", 8, 0, [4, 6, 7]),
        ("exp", 6, 1, [0, 3, 5]),
        ("exp_sym", 8, 0, [1, 2, 4, 6, 7]),
        ("hypercube", 8, 5, [1, 4, 7]),
        ("lattice-4", 9, 0, [1, 2, 7, 8]),
        ("lattice-4", 5, 0, [1, 2, 3, 4]),
        ("lattice-6", 6, 0, [1, 2, 3, 4, 5]),
        ("star", 5, 0, [1, 2, 3, 4]),
        ("star", 5, 3, [0]),
        ("onepeer", 8, 0, [7]),
    ],
)
def test_whom_a_rank_receives_from(
    name: str, num_ranks: int, rank: int, sources: list[int]
) -> None:
    assert received(name, num_ranks, rank) == sources


@pytest.mark.parametrize(("num_ranks", "degree"), [(8, 5), (16, 7), (64, 11), (1008, 20)])
def test_degree_of_exp_sym(num_ranks: int, degree: int) -> None:
    assert set(make_graph("exp_sym", num_ranks).at(0).degrees) == {degree}


def test_weights_by_hand() -> None:
    assert make_graph("ring", 8).at(0).row(0) == [(0, 1 / 3), (1, 1 / 3), (7, 1 / 3)]
    assert make_graph("ring", 2).at(0).row(0) == [(0, 0.5), (1, 0.5)]
    assert make_graph("onepeer", 8).at(2).row(1) == [(1, 0.5), (5, 0.5)]
    hub = dict(make_graph("star", 5).at(0).row(0))
    assert hub == pytest.approx(dict.fromkeys(range(5), 0.2))
    assert make_graph("star", 5).at(0).row(3) == [(0, 0.2), (3, pytest.approx(0.8))]
    # A corner of the 2 x 4 grid has two neighbours, one with two and one with three others.
    assert make_graph("grid", 8).at(0).row(0) == [
        (0, pytest.approx(1 - 1 / 3 - 1 / 4)),
        (1, 0.25),
        (4, pytest.approx(1 / 3)),
    ]


def test_onepeer_goes_round_its_distances() -> None:
    graph = make_graph("onepeer", 12)
    assert graph.period == 4
    assert [graph.at(step).received(0)[0][0] for step in range(6)] == [11, 10, 8, 4, 11, 10]


@pytest.mark.parametrize(
    ("num_ranks", "expected"), [(1, (1, 1)), (7, (1, 7)), (12, (3, 4)), (1008, (28, 36))]
)
def test_sides_of_a_grid(num_ranks: int, expected: tuple[int, int]) -> None:
    assert sides(num_ranks) == expected


@pytest.mark.parametrize("num_ranks", [3, 12])
def test_a_hypercube_needs_a_power_of_two(num_ranks: int) -> None:
    with pytest.raises(UserError) as caught:
        make_graph("hypercube", num_ranks)
    assert caught.value.message == f"a hypercube needs a power of two of ranks, not {num_ranks}"
    below = 2 ** (num_ranks.bit_length() - 1)
    assert caught.value.hint == (
        f"take {below} or {2 * below} ranks, or exp_sym, which takes any number"
    )


def test_random_distances_come_from_the_seed_alone() -> None:
    one, same, other = (make_graph("equi-5", 40, seed=seed).at(0) for seed in (3, 3, 4))
    assert np.array_equal(one.dense(), same.dense())
    assert not np.array_equal(one.dense(), other.dense())
    assert one.degrees.max() <= 5
    assert one.self_weight(7) == 1 / 40
    shares = [weight for _, weight in one.received(0)]
    draws = np.array(shares) / ((1 - 1 / 40) / 5)
    assert draws == pytest.approx(draws.round())
    assert draws.sum() == pytest.approx(5)


@pytest.mark.parametrize("num_ranks", [6, 8])
def test_random_distances_that_leave_ranks_out_are_drawn_again(num_ranks: int) -> None:
    found = {
        tuple(make_graph("equi-1", num_ranks, seed=seed).at(0).targets(0)) for seed in range(30)
    }
    assert found == {(r,) for r in range(num_ranks) if math.gcd(r, num_ranks) == 1}
