"""The parts of a training on an Atari game."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.devices import resolve_number_format
from mlscale.core.seeding import derive_seed, generator
from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.dqn.atari.emulators import Emulators
from mlscale.rl.dqn.atari.experience import FrameExperience
from mlscale.rl.dqn.atari.frames import FrameReplay
from mlscale.rl.dqn.atari.latent import LatentDynamics
from mlscale.rl.dqn.atari.latents import Latents
from mlscale.rl.dqn.atari.low_rank import LowRankGaussian
from mlscale.rl.dqn.atari.mbe import LatentModelBased
from mlscale.rl.dqn.atari.neighbours import Neighbours
from mlscale.rl.dqn.atari.networks import SIZES, make_network
from mlscale.rl.dqn.exploration.epsilon import Uniform
from mlscale.rl.dqn.exploration.rnd import Distilled
from mlscale.rl.dqn.learner import Learner
from mlscale.rl.dqn.parts import Parts
from mlscale.rl.dqn.success import Success

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from mlscale.rl.dqn.atari.config import AtariTrainConfig, LatentMbeConfig
    from mlscale.rl.dqn.atari.density import Density
    from mlscale.rl.dqn.atari.networks import ValueNetwork
    from mlscale.rl.dqn.exploration.base import Explorer

RIDGE = 0.1
NUM_NEIGHBOURS = 10


class NetworkValues:
    """Action values of frames, as NumPy.

    Args:
        network: The Q-network.
        device: Its torch device.
    """

    def __init__(self, network: ValueNetwork, device: str) -> None:
        self._network, self._device = network, device

    def __call__(self, frames_LFHW: NDArray[Any]) -> NDArray[np.float32]:
        """Return the values (L, A) of uint8 frames (L, 4, 84, 84)."""
        import torch

        with torch.no_grad():
            values_LA = self._network(torch.from_numpy(frames_LFHW).to(self._device))
        values: NDArray[np.float32] = values_LA.cpu().numpy()
        return values


def atari_parts(config: AtariTrainConfig, device: str, report: Callable[[int, int], None]) -> Parts:
    """Return the parts of a training.

    Args:
        config: The settings.
        device: Torch device of the networks.
        report: Told how far the steps of a checkpoint have been played again.

    Raises:
        UserError: The replay is too large for the memory there is.
    """
    learn, seed = config.learn, config.seed
    replay = FrameReplay(
        learn.replay_steps,
        config.lanes,
        discount=learn.discount,
        n_step=learn.n_step,
        bootstrap_at_limit=learn.time_limits == "bootstrap",
    )
    emulators = Emulators(config.game, PROTOCOLS[config.protocol], config.lanes, seed)
    num_actions = len(emulators.action_ids)
    online, target = (
        make_network(
            config.network,
            num_actions,
            derive_seed(seed, "network"),
            head=learn.head,
            bfloat16=resolve_number_format(config.number_format, device) == "bfloat16",
        )
        for _ in range(2)
    )
    return Parts(
        experience=FrameExperience(emulators, replay, report),
        learner=Learner(online, target, learn, device),
        values=NetworkValues(online, device),
        explorer=_make_explorer(config, num_actions, online, device),
        success=Success(None, is_goal=False),
    )


def _make_explorer(
    config: AtariTrainConfig, num_actions: int, network: ValueNetwork, device: str
) -> Explorer:
    """Return the exploration strategy of the agent."""
    rng = generator(config.seed, "explore")
    num_features = SIZES[config.network].num_features
    if config.agent == "dqn_mbe":
        settings = config.mbe
        dynamics = LatentDynamics(num_features, num_actions, settings.hidden, settings.lr, rng)
        density = make_density(settings, num_features)
        latents = Latents(network, device)
        hold_steps = config.explore.hold_steps
        return LatentModelBased(
            num_actions, num_features, latents, dynamics, density, settings, hold_steps, rng
        )
    if config.agent == "dqn_rnd":
        seed = derive_seed(config.seed, "rnd")
        encoder = make_network("small", num_actions, seed).to(device)
        width = SIZES["small"].num_features
        return Distilled(num_actions, width, config.rnd, rng, Latents(encoder, device))
    return Uniform(num_actions, rng)


def make_density(config: LatentMbeConfig, num_features: int) -> Density:
    """Return the measure of familiarity that the settings name."""
    if config.density == "neighbours":
        return Neighbours(config.window, num_features, NUM_NEIGHBOURS)
    return LowRankGaussian(config.window, num_features, RIDGE)
