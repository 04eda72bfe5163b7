"""The number format and memory layout a network acts in.

In bfloat16 a Nature CNN acts about twice as fast on CPUs that have the instructions. Its
outputs stay in float32: action values often differ by less than bfloat16 can tell apart.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Literal

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

NumberFormat = Literal["float32", "bfloat16"]


def acting_network(network: nn.Module, number_format: str) -> Callable[[Tensor], Tensor]:
    """Return a copy of a network that acts on uint8 frames in the given format.

    Args:
        network: From (N, ...) frames in 0..1 to (N, A) values; its last linear layer gives them.
        number_format: "float32", or "bfloat16" for all layers but the last.

    Raises:
        UserError: The network has no linear layer to end with.
    """
    import torch

    acting = copy.deepcopy(network).eval()
    dtype = torch.float32
    if number_format == "bfloat16":
        dtype = torch.bfloat16
        linears = [part for part in acting.modules() if isinstance(part, torch.nn.Linear)]
        if not linears:
            raise UserError("a network without a linear layer cannot act in bfloat16")
        exact = copy.deepcopy(linears[-1].state_dict())
        acting.to(dtype)
        linears[-1].float().load_state_dict(exact)  # its weights were rounded with the others
        linears[-1].register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))

    def act(frames: Tensor) -> Tensor:
        values: Tensor = acting(frames.to(dtype).div_(255))
        return values

    return act
