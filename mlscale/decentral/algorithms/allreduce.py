"""Centralised training, the baseline: every replica takes the mean gradient of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mlscale.decentral.algorithms.base import Algorithm

if TYPE_CHECKING:
    from torch import Tensor


class AllReduce(Algorithm):
    """Large-batch SGD; no graph is used."""

    summary: ClassVar[str] = "centralised: the mean gradient of all (baseline)"
    needs_all: ClassVar[bool] = True
    vectors_per_step: ClassVar[float] = 0.0

    def gradient(self, g: Tensor) -> None:
        """Give the optimizer the mean gradient."""
        g.copy_(self.mixer.mean(g))

    def after(self, lr: float) -> None:
        """Do nothing: all have taken the same step."""
        self.step += 1
