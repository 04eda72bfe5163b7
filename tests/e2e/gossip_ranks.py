"""Run as a script: four forked ranks over gloo try `Gossip` and print what they found as JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch  # noqa: TID253
import torch._dynamo  # noqa: TID253 - what optimizers import at their first step, before the fork
import torch.distributed as dist  # noqa: TID253
from torch import nn  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.decentral import exchange
from mlscale.decentral.exchange import ProcessMixer
from mlscale.decentral.exchange_nccl import NcclMixer
from mlscale.decentral.gossip import Gossip
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.overlap import OverlappedGossip

NUM_RANKS = 4
STEPS = 4


class Model(nn.Module):
    """With batch norm, and a weight that is used twice."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.norm, self.last = nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)
        self.again = nn.Linear(6, 6)
        self.again.weight = self.first.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.last(self.norm(self.again(torch.tanh(self.first(x)))))
        return y


def batch(rank: int, step: int) -> torch.Tensor:
    return torch.randn(8, 6, generator=torch.Generator().manual_seed(100 * step + rank))


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def backward(model: nn.Module, rank: int, step: int, clip: float | None = 0.1) -> None:
    model.zero_grad()
    model(batch(rank, step)).square().mean().backward()
    if clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), clip)


def flat(model: nn.Module) -> torch.Tensor:
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def put(model: nn.Module, x_P: torch.Tensor) -> None:
    with torch.no_grad():
        nn.utils.vector_to_parameters(x_P, model.parameters())


def reference(order: str, clip: float | None = 0.1) -> torch.Tensor:
    """Return parameters (N, P) after some steps, by the rule as it is written, with matrices."""
    models = [Model(0) for _ in range(NUM_RANKS)]
    optimizers = [sgd(model) for model in models]
    graph = make_graph("exp", NUM_RANKS)
    for step in range(STEPS):
        w_NN = torch.from_numpy(graph.at(step).dense()).float()
        before_NP = torch.stack([flat(model) for model in models])
        for rank, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            backward(model, rank, step, clip)
            optimizer.step()
        x_NP = torch.stack([flat(model) for model in models])
        x_NP = w_NN @ x_NP if order == "atc" else w_NN @ before_NP + x_NP - before_NP
        for model, x_P in zip(models, x_NP, strict=True):
            put(model, x_P)
    return torch.stack([flat(model) for model in models])


def trained(rank: int, kind: Any, clip: float | None = 0.1, **options: Any) -> tuple[Any, Any]:
    model = Model(rank)  # made alike by the broadcast
    gossip = kind(model, sgd(model), **options)
    for step in range(STEPS):
        backward(model, rank, step, clip)
        gossip.step()
    return model, gossip


def resumed(rank: int, algorithm: str) -> torch.Tensor:
    model = Model(0)
    optimizer = sgd(model)
    gossip = Gossip(model, optimizer, algorithm=algorithm, codec="sign")
    for step in range(STEPS):
        if step == STEPS // 2:
            kept = model.state_dict(), optimizer.state_dict(), gossip.state_dict()
            model = Model(5)
            optimizer = sgd(model)
            gossip = Gossip(model, optimizer, algorithm=algorithm, codec="sign")
            model.load_state_dict(kept[0])
            optimizer.load_state_dict(kept[1])
            gossip.load_state_dict(kept[2])
        backward(model, rank, step)
        gossip.step()
    return flat(model)


def batched(rank: int) -> float:
    """Return how far batches of messages, as NCCL is given, are from single ones."""
    graph, x_P = make_graph("onepeer", NUM_RANKS), batch(rank, 0).flatten()
    mixers = [
        ProcessMixer(rank, NUM_RANKS, graph.at),
        NcclMixer(rank, NUM_RANKS, graph.at, device=torch.device("cpu")),
    ]
    exchange.BUCKET_BYTES = 64
    apart = [
        float((mixers[0].start(x_P, step)() - mixers[1].start(x_P, step)()).abs().max())
        for step in range(2)
    ]
    assert mixers[0].traffic.sent_bytes == mixers[1].traffic.sent_bytes
    return max(apart)


def checks(rank: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    everyone = [torch.zeros_like(flat(Model(0))) for _ in range(NUM_RANKS)]
    for order in ("atc", "awc"):
        model, gossip = trained(rank, Gossip, algorithm=order)
        found[order] = float((flat(model) - reference(order)[rank]).abs().max())
    dist.all_gather(everyone, flat(model))
    x_NP = torch.stack(everyone).numpy().astype(np.float64)
    expected = np.square(x_NP - x_NP.mean(0)).sum() / NUM_RANKS
    found["disagreement"] = gossip.disagreement() / expected - 1
    mean = gossip.mean_state()
    other = Model(0)
    other.load_state_dict(mean)
    found["mean"] = float(np.abs(flat(other).numpy() - x_NP.mean(0)).max())
    statistics = [torch.zeros(6) for _ in range(NUM_RANKS)]
    dist.all_gather(statistics, model.norm.running_mean)
    found["mean_statistics"] = float(
        (other.norm.running_mean - torch.stack(statistics).mean(0)).abs().max()
    )
    plain, _ = trained(rank, Gossip, clip=None)
    for bucket_bytes in (1, 100, 10**6):
        model, overlapped = trained(rank, OverlappedGossip, clip=None, bucket_bytes=bucket_bytes)
        found[f"overlap-{bucket_bytes}"] = float((flat(model) - flat(plain)).abs().max())
    found["sent_bytes"] = overlapped.traffic.sent_bytes / (STEPS * flat(model).nbytes)
    reduced, _ = trained(rank, Gossip, algorithm="allreduce", clip=None)
    dist.all_gather(everyone, flat(reduced))
    found["allreduce_apart"] = float((everyone[0] - flat(reduced)).abs().max())
    for algorithm in ("awc", "sgp", "choco", "tracking"):
        whole, _ = trained(rank, Gossip, algorithm=algorithm, codec="sign")
        found[f"resumed-{algorithm}"] = float((resumed(rank, algorithm) - flat(whole)).abs().max())
    found["batched"] = batched(rank)
    try:
        odd = nn.Linear(4, 4 + rank)
        Gossip(odd, sgd(odd))
    except UserError as error:
        found["sizes"] = error.message
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for rank in range(NUM_RANKS):
            if os.fork() == 0:
                meeting = f"file://{folder / 'meeting'}"
                dist.init_process_group("gloo", meeting, rank=rank, world_size=NUM_RANKS)
                (folder / str(rank)).write_text(json.dumps(checks(rank)))
                dist.destroy_process_group()
                os._exit(0)
        codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(NUM_RANKS)]
        if any(codes):
            sys.exit(f"ranks ended with {codes}")
        found = [json.loads((folder / str(rank)).read_text()) for rank in range(NUM_RANKS)]
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
