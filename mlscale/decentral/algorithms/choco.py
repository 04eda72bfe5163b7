"""CHOCO-SGD: gossip of compressed differences, whose errors feed back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.compression.codec import Codec
    from mlscale.decentral.mixer import Mixer


class Choco(Algorithm):
    """Sends how a replica differs from what the others hold of it, in a shorter form.

    h = x - lr g; q = Q(h - x^), x^ += q everywhere; x+ = h + c (sum_j w_ij x^_j - x^_i). What is
    lost in q is still in the next difference. The sum is kept up by what comes, so no replica
    stores its neighbours' copies, and the weights must stay the same from step to step.

    Args:
        x: As for `Algorithm`.
        mixer: As for `Algorithm`.
        codec: The form, with the consensus step c.

    Source: Koloskova, Stich and Jaggi 2019, in the form that needs no copy of each neighbour.
    """

    summary: ClassVar[str] = "compressed differences with error feedback (CHOCO-SGD)"
    needs_all: ClassVar[bool] = True

    def __init__(self, x: Tensor, mixer: Mixer, codec: Codec) -> None:
        super().__init__(x, mixer)
        self._codec = codec
        self._own = x.clone()
        self._average = x.clone()

    def before(self) -> None:
        """Begin from whole copies: the first exchange is not compressed."""
        if self.step == 0:
            self._average.copy_(self.mixer.start(self.x, self.step)())

    def after(self, lr: float) -> None:
        """Exchange differences and move towards the average of the copies."""
        q, wait = self.mixer.start_encoded(self.x - self._own, self.step, self._codec)
        self._own.add_(q)
        self._average.add_(wait())
        self.x.add_(self._average - self._own, alpha=self._codec.consensus_step)
        self.step += 1

    def tensors(self) -> dict[str, Tensor]:
        """Return the copy that the others hold and the average of theirs."""
        return {"own": self._own, "average": self._average}
