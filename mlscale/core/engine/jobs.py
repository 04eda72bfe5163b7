"""What a job is, what it yields, and what an engine tells its caller about it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mlscale.core.errors import MlscaleError

Scalar = str | int | float | bool | None
Record = dict[str, Scalar]
"""One finished unit of work, such as one episode: a flat object of JSON scalars."""


@dataclass(frozen=True, slots=True)
class Job:
    """One independent piece of work.

    Attributes:
        key: Names the job; unique among the jobs of a run and the same in every run.
        payload: What the work needs to know: plain data, picklable, of no class that was
            defined in a script.
    """

    key: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """Passing numbers for a progress display; unlike a record, never kept."""

    values: Record


Work = Callable[[Mapping[str, Any], Sequence[Record]], Iterator[Record | Progress | None]]
"""(payload, finished) -> what the job yields, given to an engine by name: "module:function".

`finished` holds the job's records that exist already, from an earlier run or from a worker that
died; the job must not redo them. Yielding None is a sign of life and nothing else. A job must
yield something well within the engine's silence limit.
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A job finished a unit of work."""

    job: Job
    record: Record


@dataclass(frozen=True, slots=True)
class Progressed:
    """A job says how far it is."""

    job: Job
    values: Record


@dataclass(frozen=True, slots=True)
class Finished:
    """A job is complete."""

    job: Job


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker of a job died; the job goes on in another one after its last record.

    Attributes:
        job: The job.
        attempt: Which of the job's workers died, counted from 1.
        reason: How it died, in words.
    """

    job: Job
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A job was given up; the other jobs go on.

    Attributes:
        job: The job.
        error: What to tell the user.
        traceback: Where the job raised, formatted, when the error or its cause was not meant
            for the user; empty otherwise.
    """

    job: Job
    error: MlscaleError
    traceback: str = ""


Event = Recorded | Progressed | Finished | Lost | Failed


class Engine(Protocol):
    """Runs jobs and reports on them in one stream of events."""

    def run(
        self, work: str, jobs: Sequence[Job], finished: Mapping[str, Sequence[Record]]
    ) -> Generator[Event]:
        """Run every job and yield what happens, until each job is `Finished` or `Failed`.

        The records of a job arrive in its order and once each. Closing the iterator stops all
        jobs, so hold it in `contextlib.closing` where an exception may leave the loop.

        Args:
            work: The `Work` function, as "module:function".
            jobs: The jobs; their keys must differ.
            finished: The records that exist already, by the key of their job.

        Raises:
            UserError: The engine cannot be used here.
        """
        ...
