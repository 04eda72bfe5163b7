"""What algorithms with a momentum of the mixed parameters share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer


class MomentumOfMixed(Algorithm):
    """Keeps a momentum and where the step began, which the change by mixing is counted from."""

    own_momentum: ClassVar[bool] = True

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._momentum = x.new_zeros(x.shape)
        self._before = x.clone()

    def gradient(self, g: Tensor) -> None:
        """Keep where the step begins."""
        self._before.copy_(self.x)

    def tensors(self) -> dict[str, Tensor]:
        """Return the momentum."""
        return {"momentum": self._momentum}
