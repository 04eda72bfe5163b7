"""The processes of a training as torch.distributed knows them, whatever carries their messages.

Shape letters: P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253
from torch import Tensor  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.decentral.exchange import ProcessMixer
from mlscale.decentral.exchange_nccl import NcclMixer

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from mlscale.decentral.graphs.mixing import Mixing


def make_mixer(
    device: torch.device,
    rank: int,
    num_ranks: int,
    round_at: Callable[[int], Mixing],
    *,
    seed: int = 0,
) -> ProcessMixer:
    """Return what carries values between the processes of the default group.

    Args:
        device: Where the values are.
        rank: The own.
        num_ranks: N.
        round_at: The round of a step.
        seed: Draws what codecs round.

    Raises:
        UserError: The values are on a GPU and the group is not of NCCL.
    """
    if device.type == "cpu":
        return ProcessMixer(rank, num_ranks, round_at, seed)
    if device.type != "cuda" or not _has_nccl():
        raise UserError(
            f"the parameters are on {device}, and this process group carries none from there",
            "call init_process_group with nccl for CUDA devices, or train on the CPU over gloo",
        )
    return NcclMixer(rank, num_ranks, round_at, seed, device=device)


def backend_for(device: torch.device) -> str:
    """Return what a process group needs to carry values of a device, and reports on the CPU."""
    return "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"


def _has_nccl() -> bool:
    return dist.is_nccl_available() and "nccl" in str(dist.get_backend_config())


def mean_over_ranks(x: Tensor) -> Tensor:
    """Return the mean over all ranks as a new tensor of the same shape; all call it together."""
    mean = x.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(mean)
    return mean.div_(dist.get_world_size())


def check_same_size(x_P: Tensor) -> None:
    """Refuse ranks whose models differ: exchanges would hang or mix what does not belong together.

    Raises:
        UserError: The numbers of parameters differ.
    """
    own = torch.tensor([len(x_P), -len(x_P)], device=x_P.device)
    dist.all_reduce(own, op=dist.ReduceOp.MAX)
    largest, smallest = int(own[0]), -int(own[1])
    if largest != smallest:
        raise UserError(
            f"the ranks' models have from {smallest:,} to {largest:,} trainable parameters",
            "make the same model on every rank",
        )


def broadcast_model(model: nn.Module, x_P: Tensor) -> None:
    """Give all ranks the parameters and buffers of rank 0.

    Args:
        model: The own, of which this changes everything in place.
        x_P: (P,) its trainable parameters.
    """
    dist.broadcast(x_P, 0)
    frozen = [one.detach() for one in model.parameters() if not one.requires_grad]
    for tensor in (*frozen, *model.buffers()):
        if tensor.numel():  # as bytes: not every backend knows every dtype
            values = tensor.contiguous().flatten().view(torch.uint8)
            dist.broadcast(values, 0)
            tensor.copy_(values.view(tensor.dtype).view(tensor.shape))
