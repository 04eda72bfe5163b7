"""One model of a process: parameters and gradients in flat tensors.

Shape letters: P parameters; B examples of a batch; C classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early

from mlscale.decentral.flat import Layout, trainable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor, nn

    Loss = Callable[[Tensor, Tensor], Tensor]


class Replica:
    """A model whose parameters are views of a flat tensor.

    Args:
        model: Moved to the device; its parameters are made views.
        loss: From outputs and targets to a scalar.
        device: Where it computes.

    Attributes:
        model: As given.
        layout: Where each parameter lies.
        x: (P,) parameters.
        g: (P,) gradients; a parameter that the loss does not use has zeros.
        parameters: What an optimizer is given.
    """

    def __init__(self, model: nn.Module, loss: Loss, device: str = "cpu") -> None:
        self.model, self._loss = model.to(device), loss
        self.layout = Layout.of(self.model)
        self.x = self.layout.flatten(self.model)
        self.g = torch.zeros_like(self.x)
        self.parameters: list[Tensor] = [parameter for _, parameter in trainable(self.model)]
        for parameter, view in zip(self.parameters, self.layout.views(self.x), strict=True):
            parameter.data = view
        self._gradients = self.layout.views(self.g)
        self._lend_gradients()

    def _lend_gradients(self) -> None:
        for parameter, view in zip(self.parameters, self._gradients, strict=True):
            parameter.grad = view

    def compute(self, x_B: Tensor, y_B: Tensor) -> Tensor:
        """Fill `g` with the gradient of a batch's loss, and return the loss (1,)."""
        self.model.train()
        self.g.zero_()
        loss = self._loss(self.model(x_B), y_B)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach().reshape(1)

    def outputs(self, x_B: Tensor) -> Iterator[Tensor]:
        """Yield the outputs (B, C) of the one replica, as in evaluation."""
        self.model.eval()
        with torch.no_grad():
            yield self.model(x_B)

    def buffers(self) -> dict[str, Tensor]:
        """Return what the model keeps besides parameters, such as running statistics."""
        return dict(self.model.named_buffers())
