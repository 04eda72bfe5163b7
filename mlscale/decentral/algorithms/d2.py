"""D2: cancels the differences between replicas' data by their last steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer


class D2(Algorithm):
    """Adds what the last step had moved before mixing and takes away where it led.

    x+ = W (2 x - x- - lr (g - g-)), the first step adapt-then-combine. With h = x - lr g that is
    W (h + x - h-), which holds for any optimizer. Needs symmetric W, no eigenvalue below -1/3.

    Source: Tang et al. 2018.
    """

    summary: ClassVar[str] = "for replicas with different data, symmetric graphs (D2)"
    needs_all: ClassVar[bool] = True

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._before = x.clone()
        self._stepped = x.clone()  # so that the first step is adapt-then-combine

    def before(self) -> None:
        """Keep where this step begins."""
        self._before.copy_(self.x)

    def after(self, lr: float) -> None:
        """Correct the step by the last one, and mix."""
        corrected = self._before.sub_(self._stepped).add_(self.x)
        self._stepped.copy_(self.x)
        self.x.copy_(self.mixer.start(corrected, self.step)())
        self.step += 1

    def tensors(self) -> dict[str, Tensor]:
        """Return where the last step led before mixing."""
        return {"stepped": self._stepped}
