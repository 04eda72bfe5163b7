"""Gradient tracking: replicas follow the mean gradient, so data may differ between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer


class GradientTracking(Algorithm):
    """Mixes estimates of the mean gradient beside the parameters.

    y+ = W y + g(x+) - g(x), from y = g; x+ = W (x - lr y).

    Source: Di Lorenzo and Scutari 2016; Nedic, Olshevsky and Shi 2017, in the ATC order for x.
    """

    summary: ClassVar[str] = "replicas follow an estimate of the mean gradient"
    needs_all: ClassVar[bool] = True
    vectors_per_step: ClassVar[float] = 2.0

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._tracked = x.new_zeros(x.shape)
        self._gradient = x.new_zeros(x.shape)

    def gradient(self, g: Tensor) -> None:
        """Give the optimizer the estimate in place of the gradient."""
        if self.step:  # along the round that moved the parameters here
            self._tracked.copy_(self.mixer.start(self._tracked, self.step - 1)())
        self._tracked.add_(g).sub_(self._gradient)
        self._gradient.copy_(g)
        g.copy_(self._tracked)

    def after(self, lr: float) -> None:
        """Mix the parameters."""
        self.x.copy_(self.mixer.start(self.x, self.step)())
        self.step += 1

    def tensors(self) -> dict[str, Tensor]:
        """Return the estimate and the last gradient."""
        return {"tracked": self._tracked, "gradient": self._gradient}
