"""Multi-layer perceptrons for flat observations, started as Glorot and Bengio say.

Shape letters: B rows of a batch; I inputs; O outputs.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor, nn

    FloatArray = NDArray[np.float32]


def make_mlp(sizes: Sequence[int], rng: np.random.Generator) -> nn.Sequential:
    """Return linear layers of the given sizes with ReLU between them.

    Args:
        sizes: Units of every layer, input and output included.
        rng: Draws the first weights; biases start at zero.
    """
    from torch import nn

    layers: list[nn.Module] = []
    for num_in, num_out in itertools.pairwise(sizes):
        layer = nn.Linear(num_in, num_out)
        _start(layer, rng)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def glorot_bound(num_in: int, num_out: int) -> float:
    """Return the bound b of the uniform distribution on [-b, b] that first weights come from.

    Source: Glorot and Bengio 2010, equation 16.
    """
    return math.sqrt(6.0 / (num_in + num_out))


def _start(layer: nn.Linear, rng: np.random.Generator) -> None:
    import torch

    bound = glorot_bound(layer.in_features, layer.out_features)
    weight_OI = rng.uniform(-bound, bound, (layer.out_features, layer.in_features))
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(weight_OI))
        layer.bias.zero_()


class Mirror:
    """A perceptron of `make_mlp` evaluated by NumPy on the very memory of its weights.

    For a handful of rows this takes a fraction of torch's time, most of which is not arithmetic.
    Updates in place are seen at once; the network must stay on the CPU.

    Args:
        network: The network to mirror.
    """

    def __init__(self, network: nn.Sequential) -> None:
        parameters = [parameter.detach().numpy() for parameter in network.parameters()]
        self._layers = [(w.T, b) for w, b in zip(parameters[::2], parameters[1::2], strict=True)]

    def __call__(self, x_BI: FloatArray) -> FloatArray:
        """Return the network's outputs (B, O) for inputs (B, I)."""
        *hidden, (weight_IO, bias_O) = self._layers
        for weight, bias in hidden:
            x_BI = x_BI @ weight
            x_BI += bias
            x_BI.clip(0.0, None, out=x_BI)
        y_BO: FloatArray = x_BI @ weight_IO + bias_O
        return y_BO


def tensors_of(network: nn.Module, name: str) -> dict[str, Tensor]:
    """Return the weights of a network under `name/...`, for a checkpoint."""
    return {f"{name}/{key}": value for key, value in network.state_dict().items()}


def load_weights(network: nn.Module, name: str, tensors: dict[str, Tensor]) -> None:
    """Put the weights that `tensors_of` gave back into a network, in place."""
    network.load_state_dict({key: tensors[f"{name}/{key}"] for key in network.state_dict()})
