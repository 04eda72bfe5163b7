"""What carries values for which device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch  # noqa: TID253 - every test here needs it
import torch.distributed as dist  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.decentral.exchange import ProcessMixer
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.group import backend_for, make_mixer

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = make_graph("ring", 1)


def test_a_backend_for_each_device() -> None:
    assert backend_for(torch.device("cpu")) == "gloo"
    assert backend_for(torch.device("cuda:1")) == "cpu:gloo,cuda:nccl"


def test_gpus_need_nccl(tmp_path: Path) -> None:
    dist.init_process_group("gloo", f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        assert type(make_mixer(torch.device("cpu"), 0, 1, GRAPH.at)) is ProcessMixer
        with pytest.raises(UserError, match="the parameters are on cuda:0, and this process"):
            make_mixer(torch.device("cuda:0"), 0, 1, GRAPH.at)
    finally:
        dist.destroy_process_group()
