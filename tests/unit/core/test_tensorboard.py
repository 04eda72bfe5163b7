"""TensorBoard files: what a run logs is what TensorBoard reads, also after a run has gone back."""

import sys
from pathlib import Path
from typing import Any

import pytest

from mlscale.core.config import Seeded
from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.core.runs import Run, open_run
from mlscale.core.tensorboard import FOLDER, TensorBoard, check_tensorboard


def open_shown(path: Path) -> Run:
    run = open_run("test", Seeded(), out=path)
    run.listeners.append(TensorBoard(path))
    return run


def read(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Return every curve as TensorBoard reads it, (step, value) each."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(path / FOLDER), size_guidance={"scalars": 0})
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def record(step: int, value: float, **others: Any) -> dict[str, Any]:
    return {"step": step, "return": value, **others}


@pytest.fixture(autouse=True)
def needs_the_extra(request: pytest.FixtureRequest) -> None:
    if "absent" not in request.node.name:
        pytest.importorskip("tensorboard")


def test_every_number_becomes_a_curve_over_steps(tmp_path: Path) -> None:
    run = open_shown(tmp_path / "run")
    run.log(record(10, -200.0, success=False, loss=None, agent="dqn", length=200))
    run.log(record(25, -150.5, success=True, loss=0.25, agent="dqn", length=150))
    run.finish(Result(study="test"))
    assert read(tmp_path / "run") == {
        "return": [(10, -200.0), (25, -150.5)],
        "success": [(10, 0.0), (25, 1.0)],
        "length": [(10, 200.0), (25, 150.0)],
        "loss": [(25, 0.25)],
    }


def test_records_without_a_step_are_counted(tmp_path: Path) -> None:
    run = open_shown(tmp_path / "run")
    for value in (3.0, 1.0, 2.0):
        run.log({"score": value})
    run.finish(Result(study="test"))
    assert read(tmp_path / "run") == {"score": [(0, 3.0), (1, 1.0), (2, 2.0)]}


def test_records_are_there_at_once(tmp_path: Path) -> None:
    run = open_shown(tmp_path / "run")
    run.log(record(10, 1.0))
    assert read(tmp_path / "run") == {"return": [(10, 1.0)]}
    run.finish(Result(study="test"))


def test_going_back_voids_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run"
    killed = open_shown(path)
    for step in (10, 20, 20, 30, 40):  # two episodes may end with one step
        killed.log(record(step, float(step)))
    killed.finish(Result(study="test", status="unfinished"))
    resumed = open_shown(path)
    resumed.rewind(3)
    resumed.log(record(35, -1.0))
    resumed.log(record(50, -2.0))
    resumed.finish(Result(study="test"))
    assert read(path) == {"return": [(10, 10.0), (20, 20.0), (20, 20.0), (35, -1.0), (50, -2.0)]}


def test_starting_over_voids_everything(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run = open_shown(path)
    run.log(record(10, 1.0))
    run.rewind(0)
    run.log(record(12, 2.0))
    run.finish(Result(study="test"))
    assert read(path) == {"return": [(12, 2.0)]}


def test_asked_for_late_it_holds_the_records_of_before_too(tmp_path: Path) -> None:
    path = tmp_path / "run"
    plain = open_run("test", Seeded(), out=path)
    plain.log(record(10, 1.0))
    plain.log(record(20, 2.0))
    plain.finish(Result(study="test", status="interrupted"))
    assert not (path / FOLDER).exists()
    resumed = open_shown(path)
    resumed.rewind(2)
    resumed.log(record(30, 3.0))
    resumed.finish(Result(study="test"))
    assert read(path) == {"return": [(10, 1.0), (20, 2.0), (30, 3.0)]}


def test_left_out_for_a_while_it_holds_the_records_between_too(tmp_path: Path) -> None:
    path = tmp_path / "run"
    for step, is_shown in ((10, True), (20, False), (30, True)):
        run = open_shown(path) if is_shown else open_run("test", Seeded(), out=path)
        run.log(record(step, float(step)))
        run.finish(Result(study="test", status="interrupted"))
    assert read(path) == {"return": [(10, 10.0), (20, 20.0), (30, 30.0)]}


def test_a_run_that_logs_nothing_leaves_no_folder(tmp_path: Path) -> None:
    open_shown(tmp_path / "run").finish(Result(study="test"))
    assert not (tmp_path / "run" / FOLDER).exists()


def test_an_absent_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(UserError) as caught:
        check_tensorboard()
    assert caught.value.message == "--tensorboard needs the extra 'tensorboard'"
    assert caught.value.hint == "pip install 'mlscale[tensorboard]'"
