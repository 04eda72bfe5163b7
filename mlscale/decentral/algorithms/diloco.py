"""DiLoCo: local steps, whose mean is the gradient of an outer optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer

PERIOD_STEPS = 32
OUTER_LR = 0.7
OUTER_MOMENTUM = 0.9


class DiLoCo(Algorithm):
    """Takes an outer step with Nesterov momentum in every so many steps; no graph is used.

    d = mean of (x_old - x); m+ = 0.9 m + d; x_old <- x_old - 0.7 (d + 0.9 m+).

    Source: Douillard et al. 2023.
    """

    summary: ClassVar[str] = f"an outer Nesterov step every {PERIOD_STEPS} local steps"
    needs_all: ClassVar[bool] = True
    vectors_per_step: ClassVar[float] = 0.0

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._old = x.clone()
        self._momentum = x.new_zeros(x.shape)

    def after(self, lr: float) -> None:
        """Take the outer step when it is due."""
        self.step += 1
        if self.step % PERIOD_STEPS == 0:
            change = self.mixer.mean(self._old - self.x)
            self._momentum.mul_(OUTER_MOMENTUM).add_(change)
            self._old.sub_(change.add_(self._momentum, alpha=OUTER_MOMENTUM), alpha=OUTER_LR)
            self.x.copy_(self._old)

    def tensors(self) -> dict[str, Tensor]:
        """Return the outer parameters and momentum."""
        return {"old": self._old, "outer_momentum": self._momentum}
