"""Consoles, progress and JSON: the result on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mlscale.core.files import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

LINE_EVERY_S = 15.0
PIPE_WIDTH = 1000  # tables take what they need, and no line of a pipe is folded


def make_console(*, stderr: bool = False) -> Console:
    """Return a console that draws at the terminal's width, or plainly into a pipe.

    It takes text as it is: brackets and colons in names are neither markup nor emoji.
    """
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def print_document(document: Mapping[str, Any]) -> None:
    """Print a result as JSON on stdout."""
    sys.stdout.write(to_json(document, encoding=sys.stdout.encoding or "utf-8") + "\n")
    sys.stdout.flush()


def print_error(message: str, hint: str | None) -> None:
    """Print an error, and the way out, on stderr; when nobody reads it, the exit code tells."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"error: {message}\n")
        if hint:
            sys.stderr.write(f"hint: {hint}\n")


class TerminalReporter:
    """Draws a run's progress: a bar on a terminal, now and then a line elsewhere.

    Args:
        quiet: Draw nothing.
        plain: Lines even on a terminal.
    """

    def __init__(self, *, quiet: bool, plain: bool) -> None:
        self._quiet = quiet
        self._console = make_console(stderr=True)
        self._bar: Progress | None = None
        self._draws_bar = sys.stderr.isatty() and not plain and not quiet
        self._last_line_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def note(self, text: str) -> None:
        """Print one sentence about something skipped, defaulted or lost."""
        if not self._quiet:
            self._console.print(f"note: {text}")

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Show how far the work is."""
        if self._quiet:
            return
        if self._draws_bar:
            self._draw(done, total, text)
        elif time.monotonic() - self._last_line_s >= LINE_EVERY_S:
            self._last_line_s = time.monotonic()
            share = f"{done:.0f}/{total:.0f}" if total else f"{done:.0f}"
            self._console.print(f"{share} {text}")

    def _draw(self, done: float, total: float | None, text: str) -> None:
        if self._bar is None:
            self._bar = Progress(
                BarColumn(bar_width=20),
                MofNCompleteColumn(),
                TextColumn("{task.description}", markup=False),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._bar.add_task(text, total=total)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=text)
