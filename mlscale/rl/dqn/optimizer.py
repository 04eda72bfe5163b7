"""Adam over all tensors at once, its state for a checkpoint, and the limit on gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

BETA1, BETA2 = 0.9, 0.999


class FusedAdam:
    """Adam by one call of the library that updates every tensor, and next to nothing around it.

    It does what torch.optim.Adam(fused=True) does, given the gradients.

    Args:
        network: The network whose parameters are updated in place.
        lr: Learning rate.
        eps: Added to the root of the second moment.

    Source: Kingma and Ba 2015, algorithm 1.
    """

    def __init__(self, network: nn.Module, lr: float, eps: float = 1e-8) -> None:
        import torch

        self._parameters = [parameter.detach() for parameter in network.parameters()]
        self._exp_avgs = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._exp_avg_sqs = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._steps = torch.zeros(len(self._parameters), device=self._parameters[0].device)
        self._step_of = list(self._steps.unbind())  # views: one addition counts for all
        self._lr, self._eps = lr, eps

    def step(self, gradients: Sequence[Tensor]) -> None:
        """Update the parameters.

        Args:
            gradients: One for each parameter, in the network's order.
        """
        import torch

        self._steps.add_(1)
        torch._fused_adam_(
            self._parameters,
            list(gradients),
            self._exp_avgs,
            self._exp_avg_sqs,
            [],
            self._step_of,
            lr=self._lr,
            beta1=BETA1,
            beta2=BETA2,
            weight_decay=0.0,
            eps=self._eps,
            amsgrad=False,
            maximize=False,
        )

    def saved(self, name: str) -> dict[str, Tensor]:
        """Return moments and step counts under `name/...`, for a checkpoint."""
        return {
            f"{name}/{number}/{key}": value
            for key, values in self._state().items()
            for number, value in enumerate(values)
        }

    def load(self, name: str, tensors: dict[str, Tensor]) -> None:
        """Put back what `saved` gave."""
        for key, values in self._state().items():
            for number, value in enumerate(values):
                value.copy_(tensors[f"{name}/{number}/{key}"])

    def _state(self) -> dict[str, list[Tensor]]:
        return {"step": self._step_of, "exp_avg": self._exp_avgs, "exp_avg_sq": self._exp_avg_sqs}


def clip_norm(gradients: list[Tensor], limit: float) -> None:
    """Scale gradients down in place where their common Euclidean norm is above a limit.

    Args:
        gradients: Of all parameters.
        limit: Largest norm.

    Source: Pascanu, Mikolov and Bengio 2013, algorithm 1.
    """
    import torch

    norm = torch.stack(torch._foreach_norm(gradients)).norm()
    torch._foreach_mul_(gradients, norm.reciprocal_().mul_(limit).clamp_(max=1.0))
