"""What a step of averaging costs: bytes sent, and seconds by a model of latency and bandwidth.

Letters: N ranks; E entries of a mixing matrix that are not zero.

S is the model's size in bytes, alpha the latency of a message in seconds, B a rank's bandwidth in
bytes per second, each way at once. All-reduce is by the ring algorithm: every rank sends 2(n-1)
pieces of S/n one after another (Patarasuk and Yuan 2009, doi 10.1016/j.jpdc.2008.09.002). In a
round of gossip every rank sends its whole model to its neighbours at once, so latency counts once;
by doubling one send needs the other, so it counts at each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlscale.decentral.graphs.mixing import Graph, Mixing

DRAWN_ROUNDS = 32
"""Rounds looked at of a graph that is drawn anew for ever."""


@dataclass(frozen=True, slots=True)
class Sends:
    """How many models a rank sends in a round of a graph.

    Args:
        mean: Over all ranks and rounds.
        most: The most that any rank sends in any round.
        busiest: The most that any rank sends or receives, mean over rounds: what a step waits for.
    """

    mean: float
    most: int
    busiest: float


def count_sends(graph: Graph) -> Sends:
    """Return how many models a rank sends in a round, over a period of the graph.

    Of a graph without a period the first 32 rounds count.
    """
    rounds = [graph.at(step) for step in range(graph.period or DRAWN_ROUNDS)]
    sent = np.array([sends_of_ranks(mixing) for mixing in rounds])
    received = np.array([mixing.degrees for mixing in rounds])
    return Sends(
        mean=float(sent.mean()),
        most=int(sent.max()),
        busiest=float(np.maximum(sent, received).max(axis=1).mean()),
    )


def sends_of_ranks(mixing: Mixing) -> NDArray[np.int64]:
    """Return how many others each rank sends to in a round, (N,): the lengths of its `targets`."""
    rows_E = np.repeat(np.arange(mixing.num_ranks), np.diff(mixing.starts))
    sources_E = mixing.sources_E[mixing.sources_E != rows_E]
    sends_N: NDArray[np.int64] = np.bincount(sources_E, minlength=mixing.num_ranks)
    return sends_N


def doubling_sends(window: int) -> int:
    """Return the sends that give every rank the sum over `window` ranks in a row, by doubling.

    Sums over 1, 2, 4, ... ranks take floor(log2 window) sends; those whose sizes add up to the
    window, as its binary digits say, are put together with popcount(window) - 1 more.

    Args:
        window: Ranks in a row, the own one among them; at least 1.
    """
    return window.bit_length() + window.bit_count() - 2


def lattice_doubling_sends(k: int) -> int:
    """Return the sends of a round of a lattice with k neighbours (even) by doubling.

    Sums over the k + 1 ranks up to one's own, and one send more that brings each to the middle
    of its window.
    """
    return doubling_sends(k + 1) + 1


def all_reduce_bytes(model_bytes: float, num_ranks: int) -> float:
    """Return what a rank sends in a ring all-reduce, 2S(n-1)/n bytes."""
    return 2 * model_bytes * (num_ranks - 1) / num_ranks


def all_reduce_s(
    model_bytes: float, num_ranks: int, *, latency_s: float, bandwidth: float
) -> float:
    """Return the seconds of a ring all-reduce, 2(n-1) alpha + 2S(n-1)/(nB).

    Args:
        model_bytes: S.
        num_ranks: n. Ranks that share a network card change nothing: the ring goes from machine
            to machine, so through a card goes one message at a time.
        latency_s: Alpha, of one message.
        bandwidth: B in bytes per second.
    """
    return 2 * (num_ranks - 1) * latency_s + all_reduce_bytes(model_bytes, num_ranks) / bandwidth


def gossip_s(
    model_bytes: float,
    num_sends: float,
    *,
    latency_s: float,
    bandwidth: float,
    ranks_per_nic: int = 1,
    num_waits: int = 1,
) -> float:
    """Return the seconds of a round of gossip, alpha + mdS/B; 0 where nothing is sent.

    Args:
        model_bytes: S.
        num_sends: d, the models that the busiest rank sends or receives.
        latency_s: Alpha, of one message.
        bandwidth: B of a network card in bytes per second.
        ranks_per_nic: m, ranks that share a card. All neighbours count as on other machines,
            which is the worst case.
        num_waits: How often latency counts: once, or at every send where each needs the last.
    """
    if num_sends == 0:
        return 0.0
    return num_waits * latency_s + ranks_per_nic * num_sends * model_bytes / bandwidth


def break_even_latency_s(
    model_bytes: float,
    num_ranks: int,
    num_sends: float,
    *,
    bandwidth: float,
    ranks_per_nic: int = 1,
    num_waits: int = 1,
) -> float:
    """Return the latency above which a round of gossip is faster than all-reduce; 0 for any.

    The two times are equal where (2(n-1) - w) alpha = (md - 2(n-1)/n) S/B.

    Args:
        model_bytes: S.
        num_ranks: n, at least 2.
        num_sends: d, at least 1 in the mean.
        bandwidth: B in bytes per second.
        ranks_per_nic: m.
        num_waits: w, fewer than 2(n-1).
    """
    more_bytes = ranks_per_nic * num_sends * model_bytes - all_reduce_bytes(model_bytes, num_ranks)
    return max(0.0, more_bytes / bandwidth / (2 * (num_ranks - 1) - num_waits))
