"""`mlscale decentral plan`: bytes and predicted time of a step, every graph against all-reduce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.decentral.costs import (
    Sends,
    all_reduce_bytes,
    all_reduce_s,
    break_even_latency_s,
    count_sends,
    gossip_s,
    lattice_doubling_sends,
)
from mlscale.decentral.graphs.names import FAMILIES, GraphName, parse_name
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.verdict import ALL_REDUCE, verdict

if TYPE_CHECKING:
    from mlscale.core.runs import Run
    from mlscale.decentral.plan_config import PlanConfig

MODEL = (
    "all-reduce 2(n-1) latency + 2S(n-1)/(n bandwidth), by the ring algorithm; "
    "gossip latency + dmS/bandwidth, by doubling d latency + dmS/bandwidth"
)
SCOPE = "bytes and time of a step alone, not how well a graph averages"


def run(config: PlanConfig, run: Run) -> Result:
    """Return what a step costs at every number of ranks, and a verdict on each."""
    rows: list[dict[str, Any]] = []
    sentences = []
    for num_ranks in config.n:
        own = plan_rows(config, num_ranks, run)
        rows += own
        sentences.append({"n": num_ranks, "sentences": verdict(own, 1e6 * config.latency_s)})
    if config.ranks_per_nic > 1:
        run.note(
            f"{config.ranks_per_nic} ranks share a network card: every neighbour counts as on "
            "another machine, the worst case; the ring of all-reduce goes from machine to machine"
        )
    return Result(
        study=run.study,
        protocol={
            "num_params": config.num_params,
            "model_bytes": config.model_bytes,
            "bandwidth_bytes_per_s": config.bandwidth_bytes_per_s,
            "latency_s": config.latency_s,
            "time": MODEL,
            "scope": SCOPE,
        },
        tables={"plan": rows, "verdict": sentences},
    )


def plan_rows(config: PlanConfig, num_ranks: int, run: Run) -> list[dict[str, Any]]:
    """Return a row for all-reduce and one for each graph, the fastest first."""
    names = config.graph or [family.named() for family in FAMILIES]
    rows = [_all_reduce_row(config, num_ranks)]
    for name in names:
        try:
            sends = sends_of(name, num_ranks, config.seed)
        except UserError as error:
            if config.graph:
                raise
            run.note(f"{name} left out at n = {num_ranks}: {error.message}")
            continue
        rows.append(_gossip_row(config, num_ranks, name, sends))
        doubled = _by_doubling(name, num_ranks)
        if doubled is not None and doubled.most < sends.most:
            label = f"{name} by doubling"
            rows.append(_gossip_row(config, num_ranks, label, doubled, num_waits=doubled.most))
    return sorted(rows, key=lambda row: (row["ms"], row["bytes"]))


def sends_of(name: str, num_ranks: int, seed: int) -> Sends:
    """Return how many models a rank sends in a round of a graph."""
    if name == "complete":  # a million entries among a thousand ranks, to count what is known
        return Sends(mean=num_ranks - 1, most=num_ranks - 1, busiest=num_ranks - 1)
    return count_sends(make_graph(name, num_ranks, seed=seed))


def _by_doubling(name: str, num_ranks: int) -> Sends | None:
    """Return the sends of a lattice whose sums are made by doubling; None for other graphs."""
    parsed = parse_name(name)
    if not isinstance(parsed, GraphName) or parsed.family.stem != "lattice":
        return None
    if parsed.number >= num_ranks - 1:  # complete: all-reduce does that
        return None
    sends = lattice_doubling_sends(parsed.number)
    return Sends(mean=sends, most=sends, busiest=sends)


def _all_reduce_row(config: PlanConfig, num_ranks: int) -> dict[str, Any]:
    num_bytes = all_reduce_bytes(config.model_bytes, num_ranks)
    seconds = all_reduce_s(
        config.model_bytes,
        num_ranks,
        latency_s=config.latency_s,
        bandwidth=config.bandwidth_bytes_per_s,
    )
    return {
        "n": num_ranks,
        "graph": ALL_REDUCE,
        "sends": None,
        "most_sends": None,
        "bytes": num_bytes,
        "share": 1.0,
        "faster_from_us": None,
        **_times(1e3 * seconds, config.compute_ms),
    }


def _gossip_row(
    config: PlanConfig, num_ranks: int, name: str, sends: Sends, *, num_waits: int = 1
) -> dict[str, Any]:
    size, num_bytes = config.model_bytes, sends.mean * config.model_bytes
    wire: dict[str, Any] = {
        "bandwidth": config.bandwidth_bytes_per_s,
        "ranks_per_nic": config.ranks_per_nic,
        "num_waits": num_waits,
    }
    seconds = gossip_s(size, sends.busiest, latency_s=config.latency_s, **wire)
    share = faster_from_us = None  # beside an all-reduce of one rank, which sends nothing
    if num_ranks > 1:
        share = num_bytes / all_reduce_bytes(size, num_ranks)
        faster_from_us = 1e6 * break_even_latency_s(size, num_ranks, sends.busiest, **wire)
    return {
        "n": num_ranks,
        "graph": name,
        "sends": sends.mean,
        "most_sends": sends.most,
        "bytes": num_bytes,
        "share": share,
        "faster_from_us": faster_from_us,
        **_times(1e3 * seconds, config.compute_ms),
    }


def _times(ms: float, compute_ms: float | None) -> dict[str, float | None]:
    """Return the times of a step: sending alone, after computing, and hidden behind it."""
    return {
        "ms": ms,
        "step_ms": None if compute_ms is None else compute_ms + ms,
        "overlapped_ms": None if compute_ms is None else max(compute_ms, ms),
    }
