"""Stochastic gradient push: a weight mixes along and takes the bias of directed graphs away."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm
from mlscale.decentral.graphs.mixing import Mixing

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from mlscale.decentral.mixer import Mixer


class PushSum(Algorithm):
    """Every replica splits its value evenly among those that hear it, and a weight with it.

    The parameters are the values divided by the weights.

    Source: Assran et al. 2019 (SGP).
    """

    summary: ClassVar[str] = "stochastic gradient push, for directed graphs (SGP)"

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        super().__init__(x, mixer)
        self._pushed = x.clone()
        self._weight = x.new_ones((*x.shape[:-1], 1))
        self._before = x.clone()

    @classmethod
    def prepared(cls, mixing: Mixing) -> Mixing:
        """Return the same edges with columns that sum to 1: a sender's share is even."""
        counts = _count(mixing)
        return Mixing(mixing.starts, mixing.sources_E, 1.0 / counts[mixing.sources_E])

    def before(self) -> None:
        """Keep what the optimizer's change is counted from."""
        self._before.copy_(self.x)

    def after(self, lr: float) -> None:
        """Push the stepped value and its weight."""
        import torch

        self._pushed.add_(self.x.sub_(self._before))
        both = torch.cat((self._pushed, self._weight), dim=-1)
        mixed = self.mixer.start(both, self.step)()
        self._pushed.copy_(mixed[..., :-1])
        self._weight.copy_(mixed[..., -1:])
        torch.div(self._pushed, self._weight, out=self.x)
        self.step += 1

    def tensors(self) -> dict[str, Tensor]:
        """Return values and weights."""
        return {"pushed": self._pushed, "weight": self._weight}


def _count(mixing: Mixing) -> np.ndarray:
    import numpy as np

    return np.bincount(mixing.sources_E, minlength=mixing.num_ranks).astype(np.float64)
