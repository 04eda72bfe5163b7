"""Local SGD: replicas on their own, averaged now and then."""

from __future__ import annotations

from typing import ClassVar

from mlscale.decentral.algorithms.base import Algorithm

PERIOD_STEPS = 16


class LocalSGD(Algorithm):
    """Takes the mean of all replicas in every so many steps; no graph is used.

    Source: Stich 2019.
    """

    summary: ClassVar[str] = f"each on its own, the mean of all every {PERIOD_STEPS} steps"
    needs_all: ClassVar[bool] = True
    vectors_per_step: ClassVar[float] = 0.0

    def after(self, lr: float) -> None:
        """Take everybody's average when it is due."""
        self.step += 1
        if self.step % PERIOD_STEPS == 0:
            self.x.copy_(self.mixer.mean(self.x))
