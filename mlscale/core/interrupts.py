"""Ctrl-C held back until the work is at a point where its state can be saved."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)
ONE_PRESS_S = 0.5  # wrappers such as `timeout` pass a signal on that came to the whole group


class Interrupts:
    """What has come in while interrupts are held back.

    Attributes:
        pending: Whether the work is asked to stop; it does so at its next safe point.
    """

    def __init__(self) -> None:
        self.pending = False
        self._came_s = 0.0

    def take(self, number: int, frame: Any) -> None:
        """Take in a signal: the first one waits, Ctrl-C again stops at once.

        Raises:
            KeyboardInterrupt: Ctrl-C a second time.
        """
        now_s = time.monotonic()
        if not self.pending:
            self.pending, self._came_s = True, now_s
        elif number == signal.SIGINT and now_s - self._came_s >= ONE_PRESS_S:
            raise KeyboardInterrupt


@contextmanager
def deferred_interrupts() -> Iterator[Interrupts]:
    """Hold Ctrl-C and SIGTERM back inside the block, and interrupt at its end.

    The block looks at `pending` between its steps, and saves and leaves when it is set. Outside
    the main thread, where Python has no signals, nothing is held back.

    Raises:
        KeyboardInterrupt: At the end of the block, when a signal came; within it for Ctrl-C again.
    """
    interrupts = Interrupts()
    with ExitStack() as handlers:
        for number in SIGNALS:
            before = signal.getsignal(number)
            if before in (None, signal.SIG_IGN):  # as in a shell's background: it stays ignored
                continue
            try:
                signal.signal(number, interrupts.take)
            except ValueError:  # not in the main thread
                break
            handlers.callback(signal.signal, number, before)
        yield interrupts
    if interrupts.pending:
        raise KeyboardInterrupt
