"""The records that a run has already, sorted by the job that each is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from mlscale.core.engine.jobs import Job, Record
    from mlscale.core.runs import Run


def finished_records(
    run: Run,
    jobs: Sequence[Job],
    names: Collection[str],
    key_of: Callable[[Mapping[str, Any]], str],
) -> dict[str, list[Record]]:
    """Return the records of a run by the key of their job; those of other jobs are left out.

    Args:
        run: The run.
        jobs: Its jobs.
        names: What each record must have.
        key_of: From a record to the key of its job.

    Raises:
        UserError: A record has not all of the names.
    """
    finished: dict[str, list[Record]] = {job.key: [] for job in jobs}
    for number, record in enumerate(run.records, start=1):
        if not set(names) <= record.keys():
            raise UserError(
                f"{run.path}/metrics.jsonl: line {number} is not the record of a training",
                "start again in another directory",
            )
        key = key_of(record)
        if key in finished:
            finished[key].append(record)
    return finished
