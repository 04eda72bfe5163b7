"""Quasi-global momentum: of the mixed parameters, so that replicas agree on the direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.momentum import MomentumOfMixed

if TYPE_CHECKING:
    from torch import Tensor

BETA = 0.9
MU = 0.9


class QuasiGlobalMomentum(MomentumOfMixed):
    """Adapt-then-combine with a momentum of what changed after mixing.

    x+ = W (x - lr (beta m + g)); m+ = mu m + (1 - mu) (x - x+) / lr.

    Source: Lin et al. 2021 (QG-DSGDm), with mu as in the authors' code.
    """

    summary: ClassVar[str] = "momentum of the mixed parameters (QG-DSGDm)"

    def gradient(self, g: Tensor) -> None:
        """Add the momentum."""
        super().gradient(g)
        g.add_(self._momentum, alpha=BETA)

    def after(self, lr: float) -> None:
        """Mix, and take up what changed."""
        self.x.copy_(self.mixer.start(self.x, self.step)())
        change = self._before.sub_(self.x)
        if lr:
            self._momentum.mul_(MU).add_(change, alpha=(1 - MU) / lr)
        self.step += 1
