"""Networks and their gradients: perceptrons by the chain rule written out, others by autograd.

For a small perceptron most of autograd's time is bookkeeping; written out, the gradient takes
about half of it.

Shape letters: B rows of a batch; I inputs; O outputs; H hidden units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

PullBack: TypeAlias = "Callable[[Tensor], list[Tensor]]"
"""From the gradient of a loss by the outputs (B, O) to its gradients by the parameters."""


class Differentiable(Protocol):
    """A network whose gradients are asked for, not recorded."""

    def __call__(self, x_BI: Tensor) -> Tensor:
        """Return the outputs (B, O)."""

    def linearise(self, x_BI: Tensor) -> tuple[Tensor, PullBack]:
        """Return the outputs (B, O) and what takes a gradient back from them."""


def differentiable(network: nn.Module) -> Differentiable:
    """Return a network with its gradients, the quickest way that it allows.

    Args:
        network: Any; its parameters are used where they lie, updates in place are seen.
    """
    from torch import nn

    if type(network) is nn.Sequential and [type(layer) for layer in network] == [
        nn.ReLU if number % 2 else nn.Linear for number in range(len(network) | 1)
    ]:
        return _Perceptron(network)
    return _Recorded(network)


class _Recorded:
    """Any network, by autograd."""

    def __init__(self, network: nn.Module) -> None:
        self._network, self._parameters = network, list(network.parameters())

    def __call__(self, x_BI: Tensor) -> Tensor:
        import torch

        with torch.no_grad():
            y_BO: Tensor = self._network(x_BI)
        return y_BO

    def linearise(self, x_BI: Tensor) -> tuple[Tensor, PullBack]:
        import torch

        with torch.enable_grad():
            y_BO: Tensor = self._network(x_BI)

        def pull_back(gradient_BO: Tensor) -> list[Tensor]:
            return list(torch.autograd.grad(y_BO, self._parameters, gradient_BO))

        return y_BO.detach(), pull_back


class _Perceptron:
    """Linear layers with ReLU between them.

    Source: Rumelhart, Hinton and Williams 1986, equations 4 to 7, for ReLU.
    """

    def __init__(self, network: nn.Sequential) -> None:
        parameters = [parameter.detach() for parameter in network.parameters()]
        weights, biases = parameters[::2], parameters[1::2]
        self._layers = [
            (bias_O, weight_OI.t()) for weight_OI, bias_O in zip(weights, biases, strict=True)
        ]
        self._weights = weights

    def __call__(self, x_BI: Tensor) -> Tensor:
        import torch

        *hidden, (bias_O, weight_IO) = self._layers
        for bias_H, weight_IH in hidden:
            x_BI = torch.addmm(bias_H, x_BI, weight_IH).relu_()
        return torch.addmm(bias_O, x_BI, weight_IO)

    def linearise(self, x_BI: Tensor) -> tuple[Tensor, PullBack]:
        import torch

        *hidden, (bias_O, weight_IO) = self._layers
        inputs = [x_BI]
        for bias_H, weight_IH in hidden:
            inputs.append(torch.addmm(bias_H, inputs[-1], weight_IH).relu_())
        y_BO = torch.addmm(bias_O, inputs[-1], weight_IO)
        return y_BO, lambda gradient_BO: self._pull_back(inputs, gradient_BO)

    def _pull_back(self, inputs: list[Tensor], gradient_BO: Tensor) -> list[Tensor]:
        import torch

        through_relu = torch.ops.aten.threshold_backward
        gradients = []
        for number in reversed(range(len(inputs))):
            gradients += [gradient_BO.sum(0), torch.mm(gradient_BO.t(), inputs[number])]
            if number:
                gradient_BH = torch.mm(gradient_BO, self._weights[number])
                gradient_BO = through_relu(gradient_BH, inputs[number], 0)
        return gradients[::-1]
