"""Buckets that are stepped during the backward pass: one rank, which must train as plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch  # noqa: TID253 - every test here needs it
import torch.distributed as dist  # noqa: TID253
from torch import nn  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.decentral.overlap import Bucket, OverlappedGossip, buckets_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module", autouse=True)
def process_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    meeting: Path = tmp_path_factory.mktemp("overlap") / "meeting"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Model(nn.Module):
    """A weight that is used twice, and a layer that the loss does not use."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.unused, self.last = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.last(torch.tanh(self.first(torch.tanh(self.first(x)))))
        return y


def test_buckets_run_from_the_last_tensor_to_the_first() -> None:
    assert buckets_of([4, 2, 3, 1], 4) == [
        Bucket(range(2, 4), slice(6, 10)),
        Bucket(range(1, 2), slice(4, 6)),
        Bucket(range(1), slice(0, 4)),
    ]
    assert buckets_of([4, 2, 9], 4) == [  # one that is too large is alone
        Bucket(range(2, 3), slice(6, 15)),
        Bucket(range(1, 2), slice(4, 6)),
        Bucket(range(1), slice(0, 4)),
    ]
    assert buckets_of([4, 2], 100) == [Bucket(range(2), slice(0, 6))]


@pytest.mark.parametrize("bucket_bytes", [1, 64, 10**6])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_one_rank_trains_as_plain(bucket_bytes: int, kind: Any) -> None:
    results = []
    for wrapped in (False, True):
        model = Model()
        groups = [
            {"params": model.first.parameters(), "lr": 0.01},
            {"params": [*model.unused.parameters(), *model.last.parameters()]},
        ]
        optimizer = kind(groups, lr=0.1, weight_decay=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        gossip = OverlappedGossip(model, optimizer, bucket_bytes=bucket_bytes) if wrapped else None
        for _ in range(3):
            optimizer.zero_grad()
            if gossip:
                with gossip.accumulate():
                    model(X[:4]).square().mean().backward()
            else:
                model(X[:4]).square().mean().backward()
            model(X[4:]).square().mean().backward()
            (gossip or optimizer).step()
            scheduler.step()
        results.append((model.state_dict(), optimizer.state_dict()))
        assert len(optimizer.param_groups) == 2
    for name, value in results[0][0].items():
        assert torch.equal(results[1][0][name], value)
    for number, state in results[0][1]["state"].items():
        for name, value in state.items():
            assert value is None or torch.equal(results[1][1]["state"][number][name], value)


def test_what_is_refused() -> None:
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for algorithm in ("tracking", "pga"):
        with pytest.raises(UserError, match=f"for atc alone, not for {algorithm}$"):
            OverlappedGossip(model, optimizer, algorithm=algorithm)
    gossip = OverlappedGossip(model, optimizer)
    with pytest.raises(UserError, match="before gradients can be unscaled"):
        gossip.step(scaler=torch.amp.GradScaler("cpu"))
    model(X).sum().backward()
    gossip.step()
    optimizer.zero_grad()
    model(X).sum().backward()
    with pytest.raises(UserError, match=r"^a second backward pass before gossip.step\(\)"):
        model(X).sum().backward()


def test_clipping_after_the_steps_is_noticed() -> None:
    model = Model()
    gossip = OverlappedGossip(model, torch.optim.SGD(model.parameters(), lr=0.1), bucket_bytes=1)
    model(X).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    with pytest.raises(UserError, match=r"^gradients were changed after backward\(\)"):
        gossip.step()
