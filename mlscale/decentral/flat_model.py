"""A model of the user's own whose parameters are made views of one flat tensor.

Shape letters: P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early

from mlscale.core.errors import UserError
from mlscale.decentral.flat import Layout, trainable

if TYPE_CHECKING:
    from torch import Tensor, nn


class FlatModel:
    """Parameters in one tensor, to be sent at once; the model is used as before.

    Args:
        model: With floating-point parameters of one dtype on one device. Parameters keep their
            identity, so an optimizer made of them goes on working.

    Attributes:
        layout: Where each parameter lies.
        x: (P,) parameters.
        parameters: Those that are trained, shared ones once.

    Raises:
        UserError: The model has no trainable parameters, or they are not of one kind.
    """

    def __init__(self, model: nn.Module) -> None:
        self.layout = Layout.of(model)
        self.x = self.layout.flatten(model)
        self.parameters = [one for _, one in trainable(model)]
        self._frozen = [one for one in model.parameters() if not one.requires_grad]
        for parameter, view in zip(self.parameters, self.layout.views(self.x), strict=True):
            parameter.data = view
        self._places = [one.data_ptr() for one in self.parameters]
        self._g: Tensor | None = None
        self._gradients: list[Tensor] = []

    def check(self) -> None:
        """See that the parameters are still where they were put.

        Raises:
            UserError: The model was moved or cast, or more of it is trained now.
        """
        places = zip(self.parameters, self._places, strict=True)
        if any(one.data_ptr() != place for one, place in places):
            raise UserError(
                "the model's parameters were moved or cast after Gossip(...)",
                "call model.to(...) before it, and make the optimizer after that",
            )
        if any(one.requires_grad for one in self._frozen):
            raise UserError(
                "parameters that were frozen at Gossip(...) are trained now, and nobody is sent "
                "them",
                "unfreeze them before it",
            )

    def gather(self) -> Tensor:
        """Return the gradients as one tensor (P,), and make the parameters' own views of it.

        A parameter that has none, as after `zero_grad` or where the loss does not use it, has
        zeros.
        """
        if self._g is None:
            self._g = torch.zeros_like(self.x)
            self._gradients = self.layout.views(self._g)
        for parameter, view in zip(self.parameters, self._gradients, strict=True):
            gradient = parameter.grad
            if gradient is None:
                view.zero_()
            elif gradient.data_ptr() != view.data_ptr():
                view.copy_(gradient)
            parameter.grad = view
        return self._g
