"""How a running study speaks to whoever watches it; the command line draws from these calls."""

from __future__ import annotations

from typing import Protocol


class Reporter(Protocol):
    """Receives what a run says while it works. Nothing a reporter does changes the result."""

    def note(self, text: str) -> None:
        """Take one plain sentence about something skipped, defaulted or lost."""

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Take the state of the work: `done` of `total` (None when unknown) and a short text."""


class Silent:
    """A reporter for tests and library use: it drops everything."""

    def note(self, text: str) -> None:
        """Drop the note."""

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Drop the progress."""
