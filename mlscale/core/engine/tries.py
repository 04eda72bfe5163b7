"""What the caller's side knows of one job: its attempts, its records, its silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.engine.jobs import (
    Failed,
    Finished,
    Lost,
    Progress,
    Progressed,
    Recorded,
)
from mlscale.core.engine.work import Done, Failure
from mlscale.core.errors import WorkFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.engine.jobs import Event, Job, Record
    from mlscale.core.engine.work import Message


def tick_s(silence_limit_s: float) -> float:
    """Return the seconds an engine may listen before it looks at the silence of its jobs.

    Silence is counted in ticks spent listening, not read off the clock: a caller that was
    suspended (Ctrl-Z) or busy must not take its own absence for the job's.
    """
    return min(1.0, silence_limit_s / 4)


class Tries:
    """One job on its way through one or more workers.

    Attributes:
        job: The job.
        records: All its records so far, those of earlier runs first.
        over: Whether the job's last event (`Finished` or `Failed`) was made.
        heard: Whether the present attempt has said anything yet.
        silent_s: How long the engine has listened to the present attempt in vain.
    """

    def __init__(self, job: Job, records: Sequence[Record], max_attempts: int) -> None:
        self.job = job
        self.records = list(records)
        self.over = False
        self.heard = False
        self.silent_s = 0.0
        self._attempt = 0
        self._max_attempts = max_attempts

    def begin(self) -> None:
        """Note that a worker was given the job."""
        self._attempt += 1
        self.heard = False
        self.silent_s = 0.0

    def take(self, message: Message) -> Event | None:
        """Turn a worker's message into an event, if it makes one."""
        self.heard = True
        self.silent_s = 0.0
        if self.over or message is None:
            return None
        if isinstance(message, Progress):
            return Progressed(self.job, message.values)
        if isinstance(message, Done):
            self.over = True
            return Finished(self.job)
        if isinstance(message, Failure):
            self.over = True
            return Failed(self.job, message.error, message.traceback)
        self.records.append(message)
        return Recorded(self.job, message)

    def lose(self, reason: str) -> Lost | Failed:
        """Note that the worker died: the job is tried again, or given up after too many."""
        if self._attempt < self._max_attempts:
            return Lost(self.job, self._attempt, reason)
        self.over = True
        times = "once" if self._attempt == 1 else f"{self._attempt} times"
        return Failed(self.job, WorkFailed(f"its worker died {times}, at last because it {reason}"))

    def give_up_silent(self, limit_s: float) -> Failed:
        """Note that the worker gave no sign of life within the limit."""
        self.over = True
        return Failed(
            self.job,
            WorkFailed(
                f"no sign of life for {limit_s:g} s",
                "it hangs, or one step of it takes longer than the limit",
            ),
        )


def tries_of(
    jobs: Sequence[Job], finished: Mapping[str, Sequence[Record]], max_attempts: int
) -> list[Tries]:
    """Return a fresh `Tries` for each job.

    Raises:
        ValueError: Two jobs have the same key.
    """
    if len({job.key for job in jobs}) != len(jobs):
        raise ValueError("two jobs have the same key")
    return [Tries(job, finished.get(job.key, ()), max_attempts) for job in jobs]
