"""What a model, an optimizer and an algorithm must be like to go together in `Gossip`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from torch import nn

    from mlscale.decentral.algorithms.base import Algorithm

AVERAGES_ITSELF = ("DistributedDataParallel", "FullyShardedDataParallel", "DataParallel")


def check_process_group() -> None:
    """Refuse to go on alone by mistake.

    Raises:
        UserError: There is no process group.
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise UserError(
            "there is no process group to gossip in",
            'call torch.distributed.init_process_group("gloo") first, and start the script with '
            "torchrun",
        )


def check_model(model: nn.Module) -> None:
    """Refuse models that others average or spread already.

    Raises:
        UserError: The model is wrapped by torch's own parallel training.
    """
    wrapper = type(model).__name__
    if wrapper in AVERAGES_ITSELF:
        raise UserError(
            f"the model is in {wrapper}, whose place gossip takes", "give Gossip the model alone"
        )


def check_optimizer(
    optimizer: torch.optim.Optimizer, model: nn.Module, name: str, kind: type[Algorithm]
) -> None:
    """Refuse optimizers that cannot step a replica.

    Args:
        optimizer: As the user made it.
        model: Whose parameters it must have.
        name: Of the algorithm.
        kind: The algorithm.

    Raises:
        UserError: It is none, needs a closure, has foreign parameters, or a second momentum.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise UserError(f"the optimizer is a {type(optimizer).__name__}, not torch's Optimizer")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise UserError(
            "LBFGS evaluates the loss many times in a step, which gossip does not",
            "choose an optimizer whose step() takes no closure",
        )
    own = set(map(id, model.parameters()))
    foreign = sum(id(one) not in own for group in optimizer.param_groups for one in group["params"])
    if foreign:
        raise UserError(
            f"the optimizer has {foreign} tensors that are no parameters of the model",
            "make it from model.parameters(), after model.to(...)",
        )
    if kind.own_momentum and not is_plain_sgd(optimizer):
        raise UserError(
            f"{name} has a momentum of its own and needs plain SGD",
            "use torch.optim.SGD(model.parameters(), lr=...) with one learning rate for all",
        )


def is_plain_sgd(optimizer: torch.optim.Optimizer) -> bool:
    """Return whether every parameter moves by one learning rate times its gradient."""
    groups = optimizer.param_groups
    return (
        type(optimizer) is torch.optim.SGD
        and not any(group["momentum"] for group in groups)
        and len({float(group["lr"]) for group in groups}) == 1
    )
