"""The caller's side of replicas in processes: who failed, who goes on, where a run begins again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mlscale.core.engine.jobs import Failed, Finished, Job, Progressed, Recorded
from mlscale.core.errors import MlscaleError, UserError, WorkFailed
from mlscale.core.runs import Run
from mlscale.decentral.board import Board
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.exchange import LostRankError
from mlscale.decentral.processes import _Gathering, starting_point
from mlscale.decentral.setup import make_setup
from mlscale.decentral.trainer import Diverged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mlscale.core.engine.jobs import Event
    from mlscale.decentral.observer import RankReport

KILLED = WorkFailed("its worker died once, at last because it was killed by SIGKILL")


class Observed:
    """Takes epochs down in place of an observer."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, list[int], list[float]]] = []

    def take(
        self, epoch: int, reports: Sequence[RankReport], x_NP: np.ndarray, norms_NK: np.ndarray
    ) -> None:
        self.epochs.append((epoch, [one.rank for one in reports], x_NP[:, 0].tolist()))


class Group:
    """Three replicas, a board and what the caller hears of them."""

    def __init__(self, folder: Path, on_failure: str = "stop", first: int = 0) -> None:
        config = TrainConfig(gpus=3, max_train=60, batch=4, on_failure=on_failure)  # type: ignore[arg-type]
        self.board = Board(folder / "board", 3, 2, 1)
        self.board.taken = first
        self.run, self.observed = Run("decentral.train", config, folder), Observed()
        self.gathering = _Gathering(
            make_setup(config), self.run, self.observed, self.board, first  # type: ignore[arg-type]
        )  # fmt: skip

    def follow(self, *events: Event) -> None:
        self.gathering.follow(iter(events))

    def failure(self, *events: Event) -> WorkFailed:
        with pytest.raises(WorkFailed) as raised:
            self.follow(*events)
        return raised.value

    def report(self, rank: int, epoch: int) -> Recorded:
        self.board.post(rank, np.full(2, 10 * epoch + rank, np.float32), np.ones(1, np.float32))
        numbers: dict[str, Any] = {
            "rank": rank, "loss": 1.0, "accuracy": 0.5, "sent_bytes": 8.0, "waited_s": 0.0,
            "seconds": 1.0,
        }  # fmt: skip
        return Recorded(job(rank), {"epoch": epoch, **numbers})


def job(rank: int) -> Job:
    return Job(f"rank-{rank}", {})


def failed(rank: int, error: MlscaleError = KILLED) -> Failed:
    return Failed(job(rank), error, f"traceback of {rank}")


def met(*ranks: int) -> list[Event]:
    return [Progressed(job(rank), {"step": 0}) for rank in ranks]


def test_an_epoch_is_measured_when_all_have_reported(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.follow(*met(0, 1, 2), *(group.report(rank, 0) for rank in (2, 0)))
    assert group.observed.epochs == []
    group.follow(group.report(1, 0))
    assert group.observed.epochs == [(0, [0, 1, 2], [0, 1, 2])]
    assert group.board.taken == 1
    group.follow(*(group.report(rank, 1) for rank in (0, 1, 2)), Finished(job(0)))
    assert group.observed.epochs[1] == (1, [0, 1, 2], [10, 11, 12])


def test_who_failed_is_named_and_not_who_noticed(tmp_path: Path) -> None:
    group = Group(tmp_path, first=2)
    error = group.failure(
        *met(0, 1, 2), failed(1, LostRankError(2)), failed(0, LostRankError(None)), failed(2)
    )
    assert error.message == f"rank 2: {KILLED.message}; the checkpoint of epoch 2 is kept"
    assert error.hint == f"go on with: mlscale runs resume {tmp_path}"
    assert error.worker_traceback == "traceback of 2"


def test_nobody_is_measured_after_a_rank_was_missed(tmp_path: Path) -> None:
    group = Group(tmp_path)
    group.failure(group.report(0, 0), group.report(1, 0), failed(1, LostRankError(2)))
    assert group.observed.epochs == []


def test_who_noticed_is_named_when_nobody_says_more(tmp_path: Path) -> None:
    error = Group(tmp_path).failure(failed(1, LostRankError(2)), Finished(job(0)))
    assert (error.message, error.hint) == ("rank 1: it lost rank 2; no epoch was finished", None)


def test_divergence_has_its_own_hint(tmp_path: Path) -> None:
    for on_failure in ("stop", "continue"):
        group = Group(tmp_path, on_failure)
        error = group.failure(*met(0, 1, 2), failed(0, Diverged("training diverged", "lower")))
        assert error.message == "rank 0: training diverged; no epoch was finished"
        assert error.hint == "lower"


def test_the_others_go_on_when_they_may(tmp_path: Path) -> None:
    group = Group(tmp_path, "continue")
    group.follow(*met(0, 1, 2), group.report(0, 0), group.report(1, 0), failed(2))
    assert group.run.notes == [
        f"rank 2 is gone in epoch 1: {KILLED.message}; its neighbours give its weight to their "
        "own, and 2 replicas go on"
    ]
    assert group.observed.epochs == [(0, [0, 1], [0, 1])]
    group.follow(group.report(1, 1), failed(0))
    assert group.observed.epochs[1:] == [(1, [1], [11])]
    assert "rank 1: " in group.failure(failed(1)).message


def test_nobody_goes_on_before_all_have_met(tmp_path: Path) -> None:
    group = Group(tmp_path, "continue")
    error = group.failure(*met(0, 1), failed(2, UserError("no such module")))
    assert error.message == "rank 2: no such module; no epoch was finished"


def run_with(folder: Path, records: int, *kept: Sequence[int]) -> Run:
    run = Run("decentral.train", TrainConfig(gpus=len(kept)), folder)
    run.records = [{"epoch": epoch + 1} for epoch in range(records)]
    for rank, epochs in enumerate(kept):
        for epoch in epochs:
            (folder / "checkpoints" / f"rank-{rank}" / str(epoch)).mkdir(parents=True)
    return run


@pytest.mark.parametrize(
    ("records", "kept", "expected", "notes"),
    [
        (0, [[1], [1]], (0, [0, 1]), []),  # killed before the epoch was logged
        (3, [[2, 3], [2, 3]], (3, [0, 1]), ["goes on from the checkpoint of epoch 3"]),
        (2, [[2, 3], [1, 2]], (2, [0, 1]), ["goes on from the checkpoint of epoch 2"]),
        (2, [[2, 3], [2, 3]], (2, [0, 1]), ["goes on from the checkpoint of epoch 2"]),
        (
            9,
            [[1, 2], [8, 9], [8, 9]],
            (9, [1, 1, 2]),
            [
                "goes on from the checkpoint of epoch 9",
                "rank 0 was lost and goes on as a copy of rank 1",
            ],
        ),
        (4, [[], []], (0, [0, 1]), ["begins again: there is no checkpoint"]),
    ],
)
def test_where_a_run_goes_on(
    records: int,
    kept: list[list[int]],
    expected: tuple[int, list[int]],
    notes: list[str],
    tmp_path: Path,
) -> None:
    run = run_with(tmp_path, records, *kept)
    assert starting_point(run, run.config) == expected  # type: ignore[arg-type]
    assert run.notes == notes
