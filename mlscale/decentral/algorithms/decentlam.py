"""DecentLaM: momentum that does not magnify the bias of decentralised SGD."""

from __future__ import annotations

from typing import ClassVar

from mlscale.decentral.algorithms.momentum import MomentumOfMixed

BETA = 0.9


class DecentLaM(MomentumOfMixed):
    """Momentum of the change that a step and mixing make together.

    m+ = beta m + (x - W (x - lr g)) / lr; x+ = x - lr m+. Stable with symmetric W only.

    Source: Yuan et al. 2021.
    """

    summary: ClassVar[str] = "momentum without its bias, for symmetric graphs (DecentLaM)"

    def after(self, lr: float) -> None:
        """Mix, take up what changed, and go along the momentum instead."""
        mixed = self.mixer.start(self.x, self.step)()
        if lr:
            self._momentum.mul_(BETA).add_(self._before - mixed, alpha=1 / lr)
        self.x.copy_(self._before).sub_(self._momentum, alpha=lr)
        self.step += 1
