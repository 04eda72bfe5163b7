"""Settings that torchrun decides, and word of why a rank has ended."""

from __future__ import annotations

import pytest
import torch.distributed as dist  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.core.torchrun import World
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.together import Cause, check_world, own_device

WORLD = World(rank=1, size=4, local_rank=1, local_size=2)


@pytest.mark.parametrize(
    ("config", "message", "hint"),
    [
        (
            TrainConfig(gpus=8),
            "--gpus 8 is not the 4 processes that torchrun has started",
            "leave --gpus out: each process is a replica",
        ),
        (
            TrainConfig(gpus=4, engine="simulate"),
            "a simulation is one process",
            "leave torchrun or --engine simulate out",
        ),
        (
            TrainConfig(gpus=4, on_failure="continue"),
            "torchrun ends all processes when one is gone, so none can go on",
            "leave --on-failure out, and give --out DIR for a restart to go on from",
        ),
    ],
)
def test_settings_that_torchrun_decides(config: TrainConfig, message: str, hint: str) -> None:
    with pytest.raises(UserError) as caught:
        check_world(config, WORLD)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    check_world(TrainConfig(gpus=4), WORLD)


def test_every_process_has_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr("mlscale.decentral.together.resolve_device", lambda name: "cuda")
    monkeypatch.setattr("torch.cuda.set_device", chosen.append)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    assert own_device(TrainConfig(), WORLD) == "cuda:1"
    assert chosen == [1]
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(UserError, match="has started 2 processes on a machine of 1 GPUs"):
        own_device(TrainConfig(), WORLD)
    monkeypatch.setattr("mlscale.decentral.together.resolve_device", lambda name: "cpu")
    assert own_device(TrainConfig(), WORLD) == "cpu"


def test_the_first_word_of_a_cause_stands() -> None:
    cause = Cause(dist.HashStore())
    assert cause.read() is None
    assert cause.leave("rank 2 is gone")
    assert not cause.leave("rank 1 is gone")
    assert cause.read() == "rank 2 is gone"
