"""What a worker does with one job, whichever engine started it."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from mlscale.core.engine.jobs import Progress, Record
from mlscale.core.errors import MlscaleError, WorkFailed, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mlscale.core.engine.jobs import Work

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True, slots=True)
class Done:
    """The job's last word: it is complete."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The job's last word: it raised an error."""

    error: MlscaleError
    traceback: str = ""


Message = Record | Progress | None | Done | Failure


def perform(
    work: str, payload: Mapping[str, Any], finished: Sequence[Record], num_threads: int
) -> Iterator[Message]:
    """Run one job and yield what it yields, then `Done` or `Failure`; never raise.

    Args:
        work: The `Work` function, as "module:function".
        payload: The job's payload.
        finished: The records that the job must not redo.
        num_threads: Threads that numerical libraries may use.
    """
    yield None  # the worker is up; what follows may be a slow import
    try:
        limit_threads(num_threads)
        for item in load_work(work)(payload, finished):
            _check(item)
            yield item
        yield Done()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the caller reports it
        yield describe(error)


def load_work(work: str) -> Work:
    """Import the function that "module:function" names."""
    module, _, function = work.partition(":")
    return cast("Work", getattr(importlib.import_module(module), function))


def thread_environment(num_threads: int) -> dict[str, str]:
    """Return the environment variables that limit numerical libraries loaded later."""
    return dict.fromkeys(THREAD_VARIABLES, str(num_threads))


def limit_threads(num_threads: int) -> None:
    """Limit the threads of numerical libraries, torch even when it is loaded already."""
    os.environ.update(thread_environment(num_threads))
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(num_threads)


def describe(error: BaseException) -> Failure:
    """Return what the caller is told of an error, with its traceback where it was a surprise."""
    trace = "".join(traceback.format_exception(error))
    if isinstance(error, MlscaleError) and _survives_pickling(error):
        return Failure(error, trace if error.__cause__ else "")
    return Failure(WorkFailed(one_line(error)), trace)


def _survives_pickling(error: MlscaleError) -> bool:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes, made on this line
    except Exception:  # noqa: BLE001 - a subclass may break it in any way
        return False
    return True


def _check(item: object) -> None:
    """Reject here what the caller could not write as JSON, so that only this job fails."""
    if item is None:
        return
    values = item.values if isinstance(item, Progress) else item
    if not isinstance(values, dict):
        raise TypeError(f"a job must yield a record, Progress or None, not {item!r}")
    for key, value in values.items():
        if not isinstance(key, str) or not isinstance(value, str | int | float | None):
            raise TypeError(f"{key!r}: {value!r} in a record is not a JSON scalar")
