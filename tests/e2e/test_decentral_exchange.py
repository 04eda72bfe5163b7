"""Exchanges over gloo between real processes: products, buckets, a rank that is killed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from mlscale.core.engine.jobs import Failed, Job, Recorded
from mlscale.core.engine.local import LocalEngine

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NUM_RANKS = 4

# Ranks run in other processes, which must be able to import their work by name.
WORKS = r"""
import os
import signal
from datetime import timedelta

import torch
import torch.distributed as dist

from mlscale.decentral import exchange
from mlscale.decentral.compression.registry import CODECS
from mlscale.decentral.exchange import LostRankError, ProcessMixer
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.simulated import SimulatedMixer


def meet(payload):
    exchange.BUCKET_BYTES = 64  # 16 values: several messages to everyone
    torch.manual_seed(0)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{payload['meeting']}",
        rank=payload["rank"],
        world_size=payload["num_ranks"],
        timeout=timedelta(seconds=120),
    )
    return payload["rank"], torch.randn(payload["num_ranks"], 50)


def mix(payload, finished):
    rank, x_NP = meet(payload)
    for name in ("exp", "ring", "onepeer", "complete"):
        graph = make_graph(name, len(x_NP))
        mixer, simulated = ProcessMixer(rank, len(x_NP), graph.at), SimulatedMixer(graph.at)
        for step in range(4):
            ours, theirs = mixer.start(x_NP[rank], step)(), simulated.start(x_NP, step)()
            yield {"what": f"{name} {step}", "error": float((ours - theirs[rank]).abs().max())}
    for name, codec in CODECS.items():
        ours = mixer.start_encoded(x_NP[rank], 0, codec)[1]()
        theirs = simulated.start_encoded(x_NP, 0, codec)[1]()
        yield {"what": name, "error": float((ours - theirs[rank]).abs().max())}
    error = mixer.mean(x_NP[rank]) - x_NP.mean(dim=0)
    yield {"what": "mean", "error": float(error.abs().max())}


def lose(payload, finished):
    rank, x_NP = meet(payload)
    graph = make_graph(payload["graph"], len(x_NP))
    mixer = ProcessMixer(rank, len(x_NP), graph.at, goes_on=payload["goes_on"])
    x_P = x_NP[rank]
    for step in range(100):
        if rank == 3 and step == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            x_P = mixer.start(x_P, step)()
        except LostRankError as error:
            yield {"lost": error.rank}
            return
    yield {"lost": max(mixer.lost, default=None), "first": float(x_P[0]), "last": float(x_P[-1])}
"""


@pytest.fixture(autouse=True)
def works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "exchange_works.py").write_text(WORKS)
    monkeypatch.syspath_prepend(str(tmp_path))


def rows(work: str, folder: Path, **more: Any) -> tuple[dict[int, list[dict[str, Any]]], list[str]]:
    """Run all ranks; return what each said, and the reasons why some failed."""
    shared = {"meeting": str(folder / "meeting"), "num_ranks": NUM_RANKS, **more}
    jobs = [Job(str(rank), {"rank": rank, **shared}) for rank in range(NUM_RANKS)]
    engine = LocalEngine(num_workers=NUM_RANKS, max_attempts=1, preload=("torch",))
    found: dict[int, list[dict[str, Any]]] = {rank: [] for rank in range(NUM_RANKS)}
    failures = []
    with contextlib.closing(engine.run(f"exchange_works:{work}", jobs, {})) as events:
        for event in events:
            if isinstance(event, Recorded):
                found[int(event.job.key)].append(dict(event.record))
            elif isinstance(event, Failed):
                failures.append(f"{event.job.key}: {event.error}")
    return found, failures


def test_exchanges_are_those_of_a_simulation(tmp_path: Path) -> None:
    found, failures = rows("mix", tmp_path)
    assert failures == []
    for said in found.values():
        assert len(said) == 20
        assert {one["what"]: one["error"] for one in said if one["error"] > 1e-6} == {}


@pytest.mark.parametrize("graph", ["ring", "exp"])
def test_the_others_agree_without_a_killed_rank(graph: str, tmp_path: Path) -> None:
    found, failures = rows("lose", tmp_path, graph=graph, goes_on=True)
    assert [reason.partition(":")[0] for reason in failures] == ["3"]
    left = [found[rank][0] for rank in range(3)]
    assert [one["lost"] for one in left] == [3, 3, 3] or graph == "ring"
    for name in ("first", "last"):
        values = [one[name] for one in left]
        assert max(values) - min(values) < 1e-5


def test_a_killed_rank_is_named_by_its_neighbours(tmp_path: Path) -> None:
    found, failures = rows("lose", tmp_path, graph="ring", goes_on=False)
    assert [reason.partition(":")[0] for reason in failures] == ["3"]
    assert [found[rank] for rank in (0, 2)] == [[{"lost": 3}], [{"lost": 3}]]
    assert found[1][0]["lost"] in (0, 2)
