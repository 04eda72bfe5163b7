"""How a running study speaks to whoever watches it; the command line draws from these calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Reporter(Protocol):
    """Receives what a run says while it works. Nothing a reporter does changes the result."""

    def note(self, text: str) -> None:
        """Take one plain sentence about something skipped, defaulted or lost."""

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Take the state of the work: `done` of `total` (None when unknown) and a short text."""


class Listener(Protocol):
    """Takes in a run's records as they are logged. Nothing it does changes the result."""

    def logged(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Take in the last of the run's records; those before it may be of earlier processes."""

    def close(self) -> None:
        """Put away what was taken in: the run ends, or goes back to an earlier record."""


class Silent:
    """A reporter for tests and library use: it drops everything."""

    def note(self, text: str) -> None:
        """Drop the note."""

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Drop the progress."""
