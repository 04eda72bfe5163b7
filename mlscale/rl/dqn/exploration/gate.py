"""The authors' gate: a model is not used before one check has found it good enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Gate:
    """Opens at the first check that passes, and stays open.

    Args:
        threshold: Error below which it opens, in the unit of what is checked; None for a gate
            that is always open.
        every_steps: Environment steps between checks.

    Source: Gou and Liu 2019's code.
    """

    def __init__(self, threshold: float | None, every_steps: int) -> None:
        self._threshold, self._every_steps = threshold, every_steps
        self.is_open = threshold is None

    def check(self, step: int, error: Callable[[], float]) -> None:
        """Look at the error when a check is due."""
        if self._threshold is None or self.is_open or step % self._every_steps:
            return
        self.is_open = error() < self._threshold
