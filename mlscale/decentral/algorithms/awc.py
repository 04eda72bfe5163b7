"""Decentralised SGD, combine-while-adapt: x <- W x - step, D-PSGD's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer, Wait


class CombineWhileAdapt(Algorithm):
    """Averages the parameters while the gradient is computed at them.

    Source: Lian et al. 2017; x <- W x - lr g(x).
    """

    summary: ClassVar[str] = "average while the gradient is computed, then step (D-PSGD)"

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._sent = x.clone()

    def before(self) -> None:
        """Begin the exchange, which the gradient hides."""
        self._sent.copy_(self.x)
        self._wait: Wait = self.mixer.start(self._sent, self.step)

    def after(self, lr: float) -> None:
        """Add what the optimizer changed to the average."""
        self.x.sub_(self._sent).add_(self._wait())
        self.step += 1
