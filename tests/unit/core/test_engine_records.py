"""The records of a run by the job they are of."""

import pytest

from mlscale.core.engine.jobs import Job
from mlscale.core.engine.records import finished_records
from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.rl.dqn.config import StudyConfig

JOBS = [Job("a/0", {}), Job("a/1", {})]


def run(*records: dict[str, object]) -> Run:
    one = Run("rl.study", StudyConfig())
    one.records = list(records)
    return one


def test_records_keep_their_order_and_those_of_other_jobs_are_left_out() -> None:
    first, other, second = (
        {"agent": "a", "seed": seed, "step": step} for seed, step in ((0, 5), (7, 1), (0, 2))
    )
    found = finished_records(
        run(first, other, second),
        JOBS,
        ("agent", "seed"),
        lambda record: f"{record['agent']}/{record['seed']}",
    )
    assert found == {"a/0": [first, second], "a/1": []}


def test_a_foreign_line_is_named() -> None:
    with pytest.raises(UserError, match=r"metrics\.jsonl: line 2 is not the record of a training"):
        finished_records(
            run({"agent": "a", "seed": 0}, {"agent": "a"}), JOBS, ("agent", "seed"), str
        )
