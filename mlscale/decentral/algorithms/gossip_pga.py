"""Gossip with a global average now and then."""

from __future__ import annotations

from typing import ClassVar

from mlscale.decentral.algorithms.base import Algorithm

PERIOD_STEPS = 16


class GossipPGA(Algorithm):
    """Adapt-then-combine, with the mean of all replicas in every so many steps.

    Source: Chen et al. 2021.
    """

    summary: ClassVar[str] = f"gossip, and the mean of all every {PERIOD_STEPS} steps"
    needs_all: ClassVar[bool] = True

    def after(self, lr: float) -> None:
        """Take the neighbours' average, or everybody's."""
        self.step += 1
        if self.step % PERIOD_STEPS:
            self.x.copy_(self.mixer.start(self.x, self.step - 1)())
        else:
            self.x.copy_(self.mixer.mean(self.x))
