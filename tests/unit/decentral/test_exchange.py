"""Exchanges of processes, over a network that is a dictionary: products, buckets, lost ranks.

Shape letters: N ranks; P parameters.
"""

from __future__ import annotations

import itertools
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.decentral import exchange
from mlscale.decentral.algorithms.registry import ALGORITHMS, make_algorithm
from mlscale.decentral.compression.registry import CODECS
from mlscale.decentral.exchange import LostRankError, ProcessMixer
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.simulated import SimulatedMixer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.decentral.graphs.mixing import Mixing
    from mlscale.decentral.mixer import Mixer

NUM_RANKS = 8


class Done:
    """A message, waited for by calling."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.wait = act


class Network(threading.local):
    """Stands in for torch.distributed, for ranks that take turns in one thread or have their own.

    Attributes:
        rank: Who is speaking in this thread.
        dead: Ranks that are gone.
        sizes: Values of each message sent.
    """

    rank = 0
    dead: set[int]
    sizes: list[int]

    def __init__(self, boxes: dict[tuple[int, int], Queue[torch.Tensor]]) -> None:
        self._boxes = boxes
        self.dead, self.sizes = set(), []

    def isend(self, values: torch.Tensor, peer: int) -> Done:
        self.sizes.append(len(values))
        self._boxes[self.rank, peer].put(values.clone())
        return Done(lambda: self._check(peer))

    def irecv(self, buffer: torch.Tensor, peer: int) -> Done:
        box = self._boxes[peer, self.rank]

        def wait() -> None:
            if box.empty():
                self._check(peer)
            buffer.copy_(box.get(timeout=10))

        return Done(wait)

    def all_reduce(self, x: torch.Tensor) -> None:
        for peer in self.dead:
            self._check(peer)

    def _check(self, peer: int) -> None:
        if peer in self.dead:
            raise RuntimeError("Connection closed by peer")


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    pairs = itertools.product(range(NUM_RANKS), repeat=2)
    made = Network({pair: Queue() for pair in pairs})
    monkeypatch.setattr(exchange, "dist", made)
    monkeypatch.setattr(exchange, "BUCKET_BYTES", 12)  # three values
    return made


def mixers(round_at: Callable[[int], Mixing], *, goes_on: bool = False) -> list[ProcessMixer]:
    return [
        ProcessMixer(rank, NUM_RANKS, round_at, seed=5, goes_on=goes_on)
        for rank in range(NUM_RANKS)
    ]


def start_all(network: Network, ranks: list[int], start: Callable[[int], Any]) -> list[Any]:
    started = []
    for rank in ranks:
        network.rank = rank
        started.append(start(rank))
    return started


def mixed(
    network: Network, all_ranks: list[ProcessMixer], x_NP: torch.Tensor, step: int
) -> torch.Tensor:
    """Return the rows (N, P) after an exchange of all that are left; the others keep theirs."""
    ranks = [rank for rank in range(NUM_RANKS) if rank not in network.dead]
    waits = start_all(network, ranks, lambda rank: all_ranks[rank].start(x_NP[rank], step))
    result_NP = x_NP.clone()
    for rank, wait in zip(ranks, waits, strict=True):
        result_NP[rank] = wait()
    return result_NP


@pytest.mark.parametrize("name", ["complete", "ring", "torus", "exp", "star", "onepeer", "base-3"])
def test_an_exchange_is_the_matrix_product_bucket_by_bucket(name: str, network: Network) -> None:
    graph = make_graph(name, NUM_RANKS)
    all_ranks = mixers(graph.at)
    x_NP = torch.randn(NUM_RANKS, 10)
    for step in range(graph.period or 1):
        network.sizes.clear()
        mixing = graph.at(step)
        expected = torch.from_numpy(mixing.dense()).float() @ x_NP
        assert torch.allclose(mixed(network, all_ranks, x_NP, step), expected, atol=1e-6)
        assert sorted(network.sizes) == sorted([3, 3, 3, 1] * int(mixing.degrees.sum()))
    sent = [mixer.traffic.sent_bytes for mixer in all_ranks]
    degrees = sum(graph.at(step).degrees.mean() for step in range(graph.period or 1))
    assert np.mean(sent) == pytest.approx(40 * degrees)


@pytest.mark.parametrize("codec", list(CODECS))
def test_encoded_exchanges_are_those_of_a_simulation(codec: str, network: Network) -> None:
    graph = make_graph("exp", NUM_RANKS)
    all_ranks = mixers(graph.at)
    x_NP = torch.randn(NUM_RANKS, 10)
    simulated = SimulatedMixer(graph.at, seed=5)
    q_NP, wait = simulated.start_encoded(x_NP, 3, CODECS[codec])
    expected = wait()
    started = start_all(
        network,
        list(range(NUM_RANKS)),
        lambda rank: all_ranks[rank].start_encoded(x_NP[rank], 3, CODECS[codec]),
    )
    for rank, (own_P, waits) in enumerate(started):
        assert torch.equal(own_P, q_NP[rank])
        assert torch.allclose(waits(), expected[rank], atol=1e-6)
    sent = [mixer.traffic.sent_bytes for mixer in all_ranks]
    assert np.mean(sent) == simulated.traffic.sent_bytes == 3 * CODECS[codec].num_bytes(10)


@pytest.mark.parametrize(
    ("name", "rounds"), [("ring", 120), ("exp", 30), ("complete", 8), ("onepeer", 50)]
)
def test_the_weight_of_who_is_gone_goes_to_the_own_value(
    name: str, rounds: int, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = make_graph(name, NUM_RANKS)
    all_ranks = mixers(graph.at, goes_on=True)
    x_NP = torch.randn(NUM_RANKS, 10, dtype=torch.float32)
    network.dead.add(3)
    for step in range(3):
        matrix_NN = graph.at(step).dense()
        matrix_NN[range(NUM_RANKS), range(NUM_RANKS)] += matrix_NN[:, 3]
        matrix_NN[:, 3] = 0
        expected = torch.from_numpy(matrix_NN).float() @ x_NP
        x_NP = mixed(network, all_ranks, x_NP, step)
        left = [rank for rank in range(NUM_RANKS) if rank != 3]
        assert torch.allclose(x_NP[left], expected[left], atol=1e-6)
    monkeypatch.setattr(exchange, "BUCKET_BYTES", 1000)
    for step in range(3, rounds):
        x_NP = mixed(network, all_ranks, x_NP, step)
    assert x_NP[left].std(dim=0).max() < 1e-3
    assert {rank for mixer in all_ranks for rank in mixer.lost} == {3}


def test_a_message_cut_short_counts_as_far_as_it_came(network: Network) -> None:
    graph = make_graph("ring", NUM_RANKS)
    all_ranks = mixers(graph.at, goes_on=True)
    x_NP = torch.arange(80.0).view(NUM_RANKS, 10)
    network.rank = 3
    network.isend(x_NP[3, :3], 4)  # one bucket, then it is gone
    network.dead.add(3)
    row_P = mixed(network, all_ranks, x_NP, 0)[4]
    assert torch.allclose(row_P[:3], (x_NP[3, :3] + x_NP[4, :3] + x_NP[5, :3]) / 3)
    assert torch.allclose(row_P[3:], (2 * x_NP[4, 3:] + x_NP[5, 3:]) / 3)


def test_push_sum_without_a_rank_keeps_the_mass_of_the_others(network: Network) -> None:
    graph = make_graph("star", NUM_RANKS, weights="uniform")
    prepared = {0: ALGORITHMS["sgp"].prepared(graph.at(0))}
    all_ranks = mixers(lambda step: prepared[0], goes_on=True)
    x_NP = torch.arange(8.0).unsqueeze(1)
    both_NP = torch.cat((x_NP, torch.ones(NUM_RANKS, 1)), dim=1)
    network.dead.add(3)
    left = [rank for rank in range(NUM_RANKS) if rank != 3]
    sums = both_NP[left].sum(dim=0)
    for step in range(300):
        both_NP = mixed(network, all_ranks, both_NP, step)
    assert torch.allclose(both_NP[left].sum(dim=0), sums, rtol=1e-4)
    ratios = both_NP[left, 0] / both_NP[left, 1]
    assert ratios.tolist() == pytest.approx([25 / 7] * 7, rel=1e-4)


def test_without_going_on_a_lost_rank_is_an_error_that_names_it(network: Network) -> None:
    graph = make_graph("ring", NUM_RANKS)
    all_ranks = mixers(graph.at)
    network.dead.add(3)
    network.rank = 4
    wait = all_ranks[4].start(torch.zeros(10), 0)
    with pytest.raises(LostRankError, match=r"^it lost rank 3$") as raised:
        wait()
    again = pickle.loads(pickle.dumps(raised.value))
    assert (type(again), again.rank, again.message) == (LostRankError, 3, "it lost rank 3")
    network.rank = 0
    with pytest.raises(LostRankError, match=r"^it lost another rank$"):
        all_ranks[0].mean(torch.zeros(10))


def test_encoded_values_are_not_done_without(network: Network) -> None:
    mixer = mixers(make_graph("ring", NUM_RANKS).at, goes_on=True)[4]
    network.dead |= {3, 5}
    network.rank = 4
    _, wait = mixer.start_encoded(torch.ones(10), 0, CODECS["sign"])
    with pytest.raises(LostRankError, match="it lost rank 3"):
        wait()


@pytest.mark.parametrize(
    "name", ["atc", "awc", "sgp", "qg-dsgdm", "decentlam", "tracking", "d2", "choco"]
)
def test_algorithms_do_in_processes_what_they_do_in_a_simulation(
    name: str, network: Network
) -> None:
    mixing = ALGORITHMS[name].prepared(make_graph("ring", NUM_RANKS).at(0))
    target_NP = torch.randn(NUM_RANKS, 10)

    def descend(mixer: Mixer, target: torch.Tensor) -> torch.Tensor:
        x = torch.zeros_like(target)
        algorithm = make_algorithm(name, x, mixer, codec="quantise")
        for _ in range(5):
            algorithm.before()
            g = x - target
            algorithm.gradient(g)
            x.sub_(g, alpha=0.1)
            algorithm.after(0.1)
        return x

    def alone(rank: int) -> torch.Tensor:
        network.rank = rank
        return descend(ProcessMixer(rank, NUM_RANKS, lambda step: mixing, 5), target_NP[rank])

    with ThreadPoolExecutor(NUM_RANKS) as pool:
        rows = list(pool.map(alone, range(NUM_RANKS)))
    together = descend(SimulatedMixer(lambda step: mixing, 5), target_NP)
    assert torch.allclose(torch.stack(rows), together, atol=1e-5)
    assert not torch.equal(rows[0], rows[1])
