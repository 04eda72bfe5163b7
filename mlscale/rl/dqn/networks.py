"""Multi-layer perceptrons for flat observations, and their first weights.

Shape letters: B rows of a batch; I inputs; O outputs; A actions.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from mlscale.rl.dqn.config import FirstWeights, LearnConfig

    FloatArray = NDArray[np.float32]


def make_value_network(
    num_values: int, num_actions: int, config: LearnConfig, rng: np.random.Generator
) -> nn.Sequential:
    """Return a network from observations (B, I) to action values (B, A).

    Args:
        num_values: Values of an observation.
        num_actions: A.
        config: Hidden layers, and the head; the last hidden layer of a duelling network is that
            of each of its streams.
        rng: Draws the first weights.
    """
    first = config.first_weights
    if config.head == "plain":
        return make_mlp((num_values, *config.hidden, num_actions), rng, first)
    from torch import nn

    from mlscale.rl.dqn.duelling import DuellingHead

    *shared, num_hidden = config.hidden
    layers: list[nn.Module] = []
    if shared:
        layers = [*make_mlp((num_values, *shared), rng, first), nn.ReLU()]
    head = DuellingHead((num_values, *shared)[-1], num_hidden, num_actions)
    for layer in head.modules():
        if isinstance(layer, nn.Linear):
            START[first](layer, rng)
    return nn.Sequential(*layers, head)


def make_mlp(
    sizes: Sequence[int], rng: np.random.Generator, first: FirstWeights = "glorot"
) -> nn.Sequential:
    """Return linear layers of the given sizes with ReLU between them.

    Args:
        sizes: Units of every layer, input and output included.
        rng: Draws the first weights.
        first: How.
    """
    from torch import nn

    layers: list[nn.Module] = []
    for num_in, num_out in itertools.pairwise(sizes):
        layer = nn.Linear(num_in, num_out)
        START[first](layer, rng)
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def glorot_bound(num_in: int, num_out: int) -> float:
    """Return the bound b of the uniform distribution on [-b, b] that first weights come from.

    Source: Glorot and Bengio 2010, equation 16.
    """
    return math.sqrt(6.0 / (num_in + num_out))


def _start_glorot(layer: nn.Linear, rng: np.random.Generator) -> None:
    """Draw weights by `glorot_bound`; biases are zero, so every ReLU has its kink at the origin."""
    import torch

    _draw(layer.weight, glorot_bound(layer.in_features, layer.out_features), rng)
    with torch.no_grad():
        layer.bias.zero_()


def _start_spread(layer: nn.Linear, rng: np.random.Generator) -> None:
    """Draw weights and biases within 1 / sqrt(inputs), as torch does: kinks lie everywhere."""
    for parameter in (layer.weight, layer.bias):
        _draw(parameter, 1 / math.sqrt(layer.in_features), rng)


START: dict[FirstWeights, Callable[[nn.Linear, np.random.Generator], None]] = {
    "glorot": _start_glorot,
    "spread": _start_spread,
}


def _draw(parameter: Tensor, bound: float, rng: np.random.Generator) -> None:
    import torch

    with torch.no_grad():
        parameter.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(parameter.shape))))


class Mirror:
    """A network of `make_value_network` or `make_mlp` in NumPy, on the very memory of its weights.

    For a handful of rows this takes a fraction of torch's time, most of which is not arithmetic.
    Updates in place are seen at once; the network must stay on the CPU.

    Args:
        network: The network to mirror.
    """

    def __init__(self, network: nn.Sequential) -> None:
        self._layers = [_mirrored(layer) for layer in network]

    def __call__(self, x_BI: FloatArray) -> FloatArray:
        """Return the network's outputs (B, O) for inputs (B, I)."""
        for layer in self._layers:
            x_BI = layer(x_BI)
        return x_BI


def _mirrored(layer: nn.Module) -> Callable[[FloatArray], FloatArray]:
    from torch import nn

    from mlscale.rl.dqn.duelling import DuellingHead

    if isinstance(layer, nn.ReLU):
        return lambda x_BI: np.maximum(x_BI, 0.0)
    if isinstance(layer, nn.Linear):
        weight_IO, bias_O = layer.weight.detach().numpy().T, layer.bias.detach().numpy()
        return lambda x_BI: x_BI @ weight_IO + bias_O
    if isinstance(layer, DuellingHead):
        value, advantage = Mirror(layer.value), Mirror(layer.advantage)
        return lambda x_BI: _duelled(value(x_BI), advantage(x_BI))
    raise TypeError(f"no mirror of {layer}")


def _duelled(value_B1: FloatArray, advantage_BA: FloatArray) -> FloatArray:
    q_BA: FloatArray = value_B1 + advantage_BA - advantage_BA.mean(axis=1, keepdims=True)
    return q_BA


def tensors_of(network: nn.Module, name: str) -> dict[str, Tensor]:
    """Return the weights of a network under `name/...`, for a checkpoint."""
    return {f"{name}/{key}": value for key, value in network.state_dict().items()}


def load_weights(network: nn.Module, name: str, tensors: dict[str, Tensor]) -> None:
    """Put the weights that `tensors_of` gave back into a network, in place."""
    network.load_state_dict({key: tensors[f"{name}/{key}"] for key in network.state_dict()})
