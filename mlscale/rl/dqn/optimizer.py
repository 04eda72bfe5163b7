"""Adam over all tensors at once, and its state for a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Adam


def make_adam(network: nn.Module, lr: float, eps: float = 1e-8) -> Adam:
    """Return Adam in its fused form: one call of the library updates every tensor."""
    from torch.optim import Adam

    return Adam(network.parameters(), lr=lr, eps=eps, fused=True)


def tensors_of_adam(adam: Adam, name: str) -> dict[str, Tensor]:
    """Return an optimizer's moments and step counts under `name/...`, for a checkpoint."""
    return {
        f"{name}/{number}/{key}": value
        for number, state in adam.state_dict()["state"].items()
        for key, value in state.items()
    }


def load_adam(adam: Adam, name: str, tensors: dict[str, Tensor]) -> None:
    """Put back what `tensors_of_adam` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for path, value in tensors.items():
        if path.startswith(f"{name}/"):
            number, key = path.removeprefix(f"{name}/").split("/")
            state.setdefault(int(number), {})[key] = value
    adam.load_state_dict({**adam.state_dict(), "state": state})
