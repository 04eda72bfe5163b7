"""Latents of frames: what exploration from pixels looks at in place of states.

Letters: N rows, F = 4 stacked frames, H = W = 84, D features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.atari.networks import ValueNetwork


class Latents:
    """A network's features, always in float32; no gradient leads back into it.

    In bfloat16 what a small moving thing changes in the features is rounded away: exploration
    alone then never crossed the road in Freeway.

    Args:
        network: Its encoder gives the features.
        device: Torch device of the network.
    """

    def __init__(self, network: ValueNetwork, device: str = "cpu") -> None:
        self._network, self._device = network, device

    def of(self, frames_NFHW: Tensor) -> Tensor:
        """Return the latents (N, D) of uint8 frames, on the CPU."""
        import torch

        with torch.no_grad():
            x_NFHW = self._network.scaled(frames_NFHW.to(self._device), torch.float32)
            features_ND: Tensor = self._network.encoder(x_NFHW)
        return features_ND.cpu()

    def __call__(self, frames_NFHW: NDArray[Any]) -> NDArray[np.float32]:
        """Return the latents (N, D) of uint8 frames (N, 4, 84, 84)."""
        import torch

        latents_ND: NDArray[np.float32] = self.of(torch.from_numpy(frames_NFHW)).numpy()
        return latents_ND
