"""Bytes and seconds of a step against numbers by hand and a count from the rounds themselves."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.decentral.costs import (
    Sends,
    all_reduce_bytes,
    all_reduce_s,
    break_even_latency_s,
    count_sends,
    doubling_sends,
    gossip_s,
    lattice_doubling_sends,
    sends_of_ranks,
)
from mlscale.decentral.graphs.mixing import Mixing, Periodic

RESNET50_MB = 4 * 25_557_032 / 1e6


def offsets(num_ranks: int, *steps: int) -> Mixing:
    """Return the round in which every rank hears those so many places before it."""
    return Mixing.from_rows(
        [[(r, 1.0), *(((r - step) % num_ranks, 1.0) for step in steps)] for r in range(num_ranks)]
    )


def star(num_ranks: int) -> Mixing:
    rows = [[(source, 1.0) for source in range(num_ranks)]]
    return Mixing.from_rows(rows + [[(0, 1.0), (rank, 1.0)] for rank in range(1, num_ranks)])


@pytest.mark.parametrize(
    ("num_ranks", "megabytes"), [(8, 178.9), (16, 191.7), (64, 201.3), (1008, 204.3), (1, 0)]
)
def test_all_reduce_bytes_of_resnet50(num_ranks: int, megabytes: float) -> None:
    assert round(all_reduce_bytes(RESNET50_MB, num_ranks), 1) == megabytes


@pytest.mark.parametrize(
    ("num_ranks", "exp", "torus"),
    [(8, 306.7, 306.7), (16, 408.9, 408.9), (64, 613.4, 408.9), (1008, 1022.3, 408.9)],
)
def test_gossip_bytes_of_resnet50(num_ranks: int, exp: float, torus: float) -> None:
    width = {8: 4, 16: 4, 64: 8, 1008: 36}[num_ranks]
    powers = [2**i for i in range((num_ranks - 1).bit_length())]
    beside = [1, width - 1] if num_ranks == 8 else [1, -1, width]  # as many as on the torus
    for steps, expected in (
        ([1, -1], 204.5),
        (powers, exp),
        ([*beside, -width], torus),
    ):
        sends = count_sends(Periodic("", (offsets(num_ranks, *steps),)))
        assert round(sends.mean * RESNET50_MB, 1) == expected
        assert sends.mean == sends.most == sends.busiest
    onepeer = Periodic("onepeer", tuple(offsets(num_ranks, step) for step in powers))
    assert count_sends(onepeer) == Sends(mean=1, most=1, busiest=1)
    assert round(count_sends(onepeer).mean * RESNET50_MB, 1) == 102.2


def test_a_hub_and_idle_ranks_are_told_from_the_mean() -> None:
    assert count_sends(Periodic("star", (star(8),))) == Sends(mean=14 / 8, most=7, busiest=7)
    pair = Mixing.from_rows([[(0, 0.5), (1, 0.5)], [(0, 0.5), (1, 0.5)], [(2, 1.0)], [(3, 1.0)]])
    idle = Mixing.from_rows([[(rank, 1.0)] for rank in range(4)])
    assert count_sends(Periodic("p", (pair, idle))) == Sends(mean=0.25, most=1, busiest=0.5)
    assert count_sends(Periodic("one", (Mixing.from_rows([[(0, 1.0)]]),))) == Sends(0, 0, 0)


def test_a_rank_that_receives_more_than_any_sends_is_waited_for() -> None:
    listens = Mixing.from_rows([[(0, 0.5), (1, 0.25), (2, 0.25)], [(1, 1.0)], [(2, 1.0)]])
    assert count_sends(Periodic("in", (listens,))) == Sends(mean=2 / 3, most=1, busiest=2)


def test_of_a_graph_without_a_period_some_rounds_count() -> None:
    class Drawn:
        name, num_ranks, period = "drawn", 4, None

        def at(self, step: int) -> Mixing:
            return offsets(4, *([1] if step % 2 else [1, 2]))

    assert count_sends(Drawn()) == Sends(mean=1.5, most=2, busiest=1.5)


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_sends_are_the_targets(num_ranks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixing = Mixing.from_dense(rng.random((num_ranks, num_ranks)).round() + np.eye(num_ranks))
    expected = [len(mixing.targets(rank)) for rank in range(num_ranks)]
    assert sends_of_ranks(mixing).tolist() == expected


@pytest.mark.parametrize(("k", "expected"), [(4, 3), (10, 5), (62, 10), (64, 7), (112, 9), (0, 0)])
def test_doubling_sends(k: int, expected: int) -> None:
    assert doubling_sends(k + 1) == expected


@pytest.mark.parametrize(("k", "expected"), [(4, 4), (6, 5), (10, 6), (62, 11), (112, 10)])
def test_a_lattice_by_doubling_is_moved_to_its_middle(k: int, expected: int) -> None:
    assert lattice_doubling_sends(k) == expected


@given(st.integers(1, 64), st.integers(64, 80))
def test_doubling_really_gives_the_sums_with_so_many_sends(window: int, num_ranks: int) -> None:
    values = np.random.default_rng(0).integers(0, 1000, num_ranks)
    power, size, sends = values, 1, 0
    total, covered = np.zeros_like(values), 0
    for bit in itertools.count():
        if window >> bit & 1:
            sends += covered > 0  # the sum of the ranks beyond those already covered is sent on
            total = total + np.roll(power, covered)
            covered += size
        if window >> (bit + 1) == 0:
            break
        power, size, sends = power + np.roll(power, size), 2 * size, sends + 1
    expected = sum(np.roll(values, shift) for shift in range(window))
    np.testing.assert_array_equal(total, expected)
    assert sends == doubling_sends(window)


def test_times_by_hand() -> None:
    wire = {"latency_s": 1e-5, "bandwidth": 1e9}
    assert all_reduce_s(1e8, 8, **wire) == pytest.approx(14e-5 + 0.175)
    assert all_reduce_s(1e8, 1, **wire) == 0
    assert gossip_s(1e8, 3, **wire) == pytest.approx(1e-5 + 0.3)
    assert gossip_s(1e8, 1, **wire, ranks_per_nic=8) == pytest.approx(1e-5 + 0.8)
    assert gossip_s(1e8, 0, **wire) == 0
    assert gossip_s(1e8, 5, **wire, num_waits=5) == pytest.approx(5e-5 + 0.5)


@pytest.mark.parametrize(
    ("num_ranks", "sends", "ranks_per_nic", "waits"),
    [(2, 3, 1, 1), (8, 2, 1, 1), (8, 2, 4, 1), (64, 6, 1, 1), (64, 6, 4, 6), (1008, 10, 1, 10)],
)
def test_at_the_break_even_latency_both_take_as_long(
    num_ranks: int, sends: int, ranks_per_nic: int, waits: int
) -> None:
    shared = {"bandwidth": 3.125e9, "ranks_per_nic": ranks_per_nic, "num_waits": waits}
    latency_s = break_even_latency_s(1e8, num_ranks, sends, **shared)
    assert latency_s > 0
    for factor, is_gossip_faster in ((0.99, False), (1.01, True)):
        alpha = factor * latency_s
        gossip = gossip_s(1e8, sends, latency_s=alpha, **shared)
        reduced = all_reduce_s(1e8, num_ranks, latency_s=alpha, bandwidth=3.125e9)
        assert (gossip < reduced) == is_gossip_faster


def test_one_peer_is_faster_at_any_latency() -> None:
    for num_ranks in (2, 3, 8, 1008):
        assert break_even_latency_s(1e8, num_ranks, 1, bandwidth=1e9) == 0
