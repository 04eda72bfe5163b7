"""A model of what each action does to the latent of a state.

Shape letters: L lanes; B transitions; A actions; D features of a latent; H hidden units.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.atari.drifting import Drifting
from mlscale.rl.dqn.networks import glorot_bound, load_weights, tensors_of
from mlscale.rl.dqn.optimizer import FusedAdam

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor, nn

    FloatArray = NDArray[np.float32]
STATISTICS_DECAY = 0.99
"""Per fit."""
SMALLEST_SCALE = np.float32(1e-6)
"""Of changes, in standard deviations of the latents: nothing may have moved in a batch."""


class LatentDynamics:
    """Predicts the next latent of every action from the latent of a state.

    A perceptron with one hidden layer sees standardised features, and gives the changes in units
    of those standard deviations times the running root mean square of such changes. Without that
    it would learn next to nothing of an untrained encoder, whose features hardly vary beside what
    is constant in them. The first layer is a product with the latent plus a row per action, so
    that all actions of a state share one product.

    Args:
        num_features: D.
        num_actions: A.
        hidden: H.
        lr: Learning rate of Adam.
        rng: Draws the first weights.
    """

    def __init__(
        self, num_features: int, num_actions: int, hidden: int, lr: float, rng: np.random.Generator
    ) -> None:
        self._network = _make_network(num_features, num_actions, hidden, rng)
        self._adam = FusedAdam(self._network, lr)
        # NumPy on the very memory of the weights, which Adam updates in place.
        self._weights = {
            name: parameter.detach().numpy() for name, parameter in self._network.named_parameters()
        }
        self._latents = Drifting(num_features, STATISTICS_DECAY)
        self._changes = Drifting(1, STATISTICS_DECAY)

    @property
    def num_fits(self) -> int:
        """Updates so far."""
        return self._latents.num_added

    def fit(self, z_tm1_BD: Tensor, a_B: Tensor, z_t_BD: Tensor) -> float:
        """Take one step of Adam and return the loss before it.

        Args:
            z_tm1_BD: (B, D) latents before; no gradient reaches what they came from.
            a_B: (B,) actions taken, as indices.
            z_t_BD: (B, D) latents after.

        Returns:
            The mean squared error of the changes, in squares of their root mean square: about 1
            is what predicting no change would give.

        Raises:
            WorkFailed: The loss is NaN or infinite; nothing was changed.
        """
        import torch

        z_BD, next_BD = z_tm1_BD.detach().numpy(), z_t_BD.detach().numpy()
        with np.errstate(invalid="ignore", over="ignore"):  # the loss shows them
            latents = self._latents.with_batch(z_BD)
            changes_BD = (next_BD - z_BD) / latents.std
            changes = self._changes.with_batch(changes_BD.reshape(-1, 1))
            scale = max(changes.root_mean_square, SMALLEST_SCALE)
            target_BD = torch.from_numpy(changes_BD / scale)
        x_BD = torch.from_numpy((z_BD - latents.mean) / latents.std)
        network: Any = self._network
        hidden_BH = torch.relu(network.of_latent(x_BD) + network.of_action(a_B))
        loss = (network.out(hidden_BH) - target_BD).square().mean()
        value = float(loss.item())
        if not math.isfinite(value):
            raise WorkFailed(f"the latent model diverged: its loss became {value}")
        self._adam.step(torch.autograd.grad(loss, list(self._network.parameters())))
        self._latents, self._changes = latents, changes
        return value

    def predict(self, z_LD: FloatArray) -> FloatArray:
        """Return the next latents (L, A, D) of all actions, of latents (L, D).

        Before the first fit these are the latents as they are.
        """
        weights, latents = self._weights, self._latents
        x_LD = (z_LD - latents.mean) / latents.std
        of_latent_LH = x_LD @ weights["of_latent.weight"].T + weights["of_latent.bias"]
        hidden_LAH = of_latent_LH[:, None] + weights["of_action.weight"]
        np.maximum(hidden_LAH, 0.0, out=hidden_LAH)
        num_lanes, num_actions, hidden = hidden_LAH.shape
        change_ND = hidden_LAH.reshape(-1, hidden) @ weights["out.weight"].T
        change_ND += weights["out.bias"]
        change_ND *= latents.std * self._changes.root_mean_square
        next_LAD: FloatArray = change_ND.reshape(num_lanes, num_actions, -1)
        next_LAD += z_LD[:, None]
        return next_LAD

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return weights, the optimizer's state and the statistics, for a checkpoint."""
        tensors = {
            **tensors_of(self._network, "latent_model"),
            **self._adam.saved("latent_adam"),
        }
        statistics = {"latents": self._latents.saved(), "changes": self._changes.saved()}
        return tensors, statistics

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        load_weights(self._network, "latent_model", tensors)
        self._adam.load("latent_adam", tensors)
        self._latents = Drifting.loaded(state["latents"])
        self._changes = Drifting.loaded(state["changes"])


def _make_network(
    num_features: int, num_actions: int, hidden: int, rng: np.random.Generator
) -> nn.Module:
    """Return layers of_latent (D to H), of_action (a row of H per action) and out (H to D)."""
    import torch
    from torch import nn

    network = nn.ModuleDict(
        {
            "of_latent": nn.Linear(num_features, hidden),
            "of_action": nn.Embedding(num_actions, hidden),
            "out": nn.Linear(hidden, num_features),
        }
    )
    first = glorot_bound(num_features + num_actions, hidden)
    bounds = {"of_latent": first, "of_action": first, "out": glorot_bound(hidden, num_features)}
    with torch.no_grad():
        for name, layer in network.items():
            weight: Any = layer.weight
            bound = bounds[name]
            weight.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(weight.shape))))
            if isinstance(layer, nn.Linear):
                layer.bias.zero_()
    return network
