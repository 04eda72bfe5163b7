"""The errors a command turns into one clear line and an exit code, and near-miss suggestions."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mlscale.core.results import Result


class MlscaleError(Exception):
    """An error with a message for the user and, where one is known, the way out.

    Args:
        message: One line saying what is wrong.
        hint: One line saying what would be right.

    Attributes:
        partial: The result of the part of the work that was done, for the command line to show.
        worker_traceback: Where a job in another process raised, for --debug.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.partial: Result | None = None
        self.worker_traceback = ""

    def __reduce__(self) -> tuple[type[MlscaleError], tuple[str, str | None]]:
        """Pickle with the hint, since jobs raise in one process and are reported in another."""
        return type(self), (self.message, self.hint)


class UserError(MlscaleError):
    """Wrong usage or bad input: exit code 2."""

    exit_code = 2


class WorkFailed(MlscaleError):
    """The input was fine and the work was not done: exit code 1."""

    exit_code = 1


class Interrupted(MlscaleError):
    """The user stopped the work (Ctrl-C); what was done is on disk: exit code 130."""

    exit_code = 130


def one_line(error: BaseException) -> str:
    """Return an error that nobody wrote for the user in one line: its type, its first line."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice most like `name`, ignoring case, or None when nothing is close."""
    by_folded = {choice.casefold(): choice for choice in choices}
    matches = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def unknown_name(kind: str, name: str, choices: Iterable[str], *, listing: str) -> UserError:
    """Return the error for a name that is not among `choices`.

    Args:
        kind: What the name stands for, as in "game".
        name: The name as the user wrote it.
        choices: The names that would have been right.
        listing: Where all the right names can be seen, as in "mlscale atari games lists them".
    """
    close = nearest(name, choices)
    hint = f"did you mean {close!r}? {listing}" if close else listing
    return UserError(f"unknown {kind} {name!r}", hint)
