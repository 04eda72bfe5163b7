"""Decentralised SGD, adapt-then-combine: x <- W (x - step)."""

from __future__ import annotations

from typing import ClassVar

from mlscale.decentral.algorithms.base import Algorithm


class AdaptThenCombine(Algorithm):
    """Steps, then averages with the neighbours.

    Source: Cattivelli and Sayed 2010, the ATC form of diffusion; x <- W (x - lr g).
    """

    summary: ClassVar[str] = "step, then average with the neighbours"

    def after(self, lr: float) -> None:
        """Take the neighbours' average."""
        self.x.copy_(self.mixer.start(self.x, self.step)())
        self.step += 1
