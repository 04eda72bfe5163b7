"""DecentLaM: momentum that does not magnify the bias of decentralised SGD."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer

BETA = 0.9


class DecentLaM(Algorithm):
    """Momentum of the change that a step and mixing make together.

    m+ = beta m + (x - W (x - lr g)) / lr; x+ = x - lr m+. Stable with symmetric W only.

    Source: Yuan et al. 2021.
    """

    summary: ClassVar[str] = "momentum without its bias, for symmetric graphs (DecentLaM)"
    own_momentum: ClassVar[bool] = True

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._momentum = x.new_zeros(x.shape)
        self._before = x.clone()

    def gradient(self, g: Tensor) -> None:
        """Keep what the change is counted from."""
        self._before.copy_(self.x)

    def after(self, lr: float) -> None:
        """Mix, take up what changed, and go along the momentum instead."""
        mixed = self.mixer.start(self.x, self.step)()
        if lr:
            self._momentum.mul_(BETA).add_(self._before - mixed, alpha=1 / lr)
        self.x.copy_(self._before).sub_(self._momentum, alpha=lr)
        self.step += 1

    def tensors(self) -> dict[str, Tensor]:
        """Return the momentum."""
        return {"momentum": self._momentum}
