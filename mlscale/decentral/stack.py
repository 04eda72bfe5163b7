"""All models of a simulation: the parameters of replica i are row i of a matrix.

Shape letters: N replicas; P parameters; B examples of a batch; C classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
from torch import nn  # noqa: TID253
from torch.func import functional_call, grad_and_value, vmap  # noqa: TID253

from mlscale.decentral.flat import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    Loss = Callable[[Tensor, Tensor], Tensor]

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Stack:
    """N replicas of a model in one process, all beginning with its weights.

    Dense models compute side by side by vmap. Convolutions with weights of their own for every
    replica become grouped ones, which are slower than one after another.

    Args:
        model: Lends its code; moved to the device.
        num_replicas: N.
        loss: From outputs and targets to a scalar.
        device: Where it computes.
        vmap_safe: Whether vmap can run the model.

    Attributes:
        model: As given.
        layout: Where each parameter lies in a row.
        x: (N, P) parameters.
        g: (N, P) gradients.
        parameters: What an optimizer is given: (N, *shape) each. It must treat every number by
            itself, as SGD and Adam do, to do the same as N optimizers.
    """

    def __init__(
        self,
        model: nn.Module,
        num_replicas: int,
        loss: Loss,
        device: str = "cpu",
        *,
        vmap_safe: bool = False,
    ) -> None:
        self.model, self._loss = model.to(device), loss
        self.layout = Layout.of(self.model)
        self.x = self.layout.flatten(self.model).expand(num_replicas, -1).clone()
        self.g = torch.zeros_like(self.x)
        self.parameters = [view.requires_grad_() for view in self.layout.views(self.x)]
        for parameter, view in zip(self.parameters, self.layout.views(self.g), strict=True):
            parameter.grad = view
        self._buffers = {
            name: buffer.expand(num_replicas, *buffer.shape).clone()
            for name, buffer in self.model.named_buffers()
        }
        has_convolutions = any(isinstance(part, CONVOLUTIONS) for part in self.model.modules())
        self._compute = self._by_vmap if vmap_safe and not has_convolutions else self._one_by_one
        self._side_by_side = vmap(grad_and_value(self._loss_of), randomness="different")

    def _loss_of(self, parameters: dict[str, Tensor], x_B: Tensor, y_B: Tensor) -> Tensor:
        loss: Tensor = self._loss(functional_call(self.model, parameters, (x_B,)), y_B)
        return loss

    def compute(self, x_NB: Tensor, y_NB: Tensor) -> Tensor:
        """Fill `g` with the gradients of each replica's batch, and return the losses (N,)."""
        self.model.train()
        return self._compute(x_NB, y_NB)

    def _by_vmap(self, x_NB: Tensor, y_NB: Tensor) -> Tensor:
        parameters = self.layout.named(self.x.detach())
        gradients, loss_N = self._side_by_side(parameters, x_NB, y_NB)
        for name, view in self.layout.named(self.g).items():
            view.copy_(gradients[name])
        losses_N: Tensor = loss_N.detach()
        return losses_N

    def _one_by_one(self, x_NB: Tensor, y_NB: Tensor) -> Tensor:
        losses = []
        for replica, (x_B, y_B) in enumerate(zip(x_NB, y_NB, strict=True)):
            leaves = [one.detach().requires_grad_() for one in self.layout.views(self.x[replica])]
            state = dict(zip(self.layout.names, leaves, strict=True)) | self._own(replica)
            loss = self._loss(functional_call(self.model, state, (x_B,)), y_B)
            found = torch.autograd.grad(loss, leaves, allow_unused=True)
            for view, gradient in zip(self.layout.views(self.g[replica]), found, strict=True):
                view.zero_() if gradient is None else view.copy_(gradient)
            losses.append(loss.detach())
        return torch.stack(losses)

    def outputs(self, x_B: Tensor, ranks: Sequence[int] | None = None) -> Iterator[Tensor]:
        """Yield the outputs (B, C) of each replica for the same examples, as in evaluation.

        Args:
            x_B: (B, ...) inputs.
            ranks: Of these replicas only; of all when None.
        """
        self.model.eval()
        with torch.no_grad():
            for replica in range(len(self.x)) if ranks is None else ranks:
                state = self.layout.named(self.x[replica].detach()) | self._own(replica)
                yield functional_call(self.model, state, (x_B,))

    def buffers(self) -> dict[str, Tensor]:
        """Return what the models keep besides parameters, (N, ...) each."""
        return dict(self._buffers)

    def _own(self, replica: int) -> dict[str, Tensor]:
        return {name: buffer[replica] for name, buffer in self._buffers.items()}
