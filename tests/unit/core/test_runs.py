"""Run directories: created, reopened, refused, withdrawn, listed; never a NaN in them."""

import errno
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core import runs
from mlscale.core.config import Seeded, opt, to_dict
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.results import Metric, Result
from mlscale.core.runs import changed_fields, list_runs, open_run, read_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Optim:
    lr: float = opt(0.1, help="Step size.")
    threads: int = opt(1, help="Threads.", may_change=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Seeded):
    steps: int = opt(5, help="Steps.", may_change=True)
    width: int = opt(8, help="Width.")
    names: tuple[str, ...] = opt(("a",), help="Names.")
    where: Path = opt(Path("x"), help="A path.")
    optim: Optim = opt(Optim(), help="Optimizer.")


class Listener:
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, done: float, total: float | None, text: str) -> None: ...


def read(path: Path) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in {path}")

    document: dict[str, Any] = json.loads(path.read_text(), parse_constant=refuse)
    return document


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def finished(path: Path, config: Config | None = None, study: str = "t.study") -> Path:
    run = open_run(study, config or Config(), out=path)
    run.log({"step": 1})
    run.finish(Result(study=study, metrics={"x": Metric(1.0, "s", 1)}))
    return path


def test_a_new_run_says_what_it_was_asked_before_any_work(tmp_path: Path) -> None:
    config = Config(seed=3)
    run = open_run("t.study", config, out=tmp_path / "deep" / "run")
    assert run.path == tmp_path / "deep" / "run"
    assert names(run.path) == ["config.json", "metrics.jsonl", "result.json"]
    assert read(run.path / "config.json") == to_dict(config)
    before = read(run.path / "result.json")
    assert (before["status"], before["seed"], before["study"]) == ("unfinished", 3, "t.study")
    run.log({"step": 1, "loss": 0.5})
    assert (run.path / "metrics.jsonl").read_text() == '{"step": 1, "loss": 0.5}\n'  # flushed
    run.note("said once")
    run.note("said once")
    document = run.finish(
        Result(study="t.study", metrics={"x": Metric(1.0, "s", 1)}, notes=("said once", "twice"))
    )
    assert read(run.path / "result.json") == document
    assert document["notes"] == ["said once", "twice"]
    assert document["status"] == "complete"


def test_the_default_directory_is_named_after_the_study_the_work_and_the_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = open_run("t.study", Config(seed=7), name="my/agent: v2!")
    assert run.path is not None
    assert run.path.parent == Path("runs/t.study")
    assert run.path.match("????????T??????Z-my-agent-v2-s7")
    unnamed = open_run("t.study", Config(), name="///").path
    assert unnamed is not None
    assert unnamed.match("*Z-run-s0")


def test_runs_of_the_same_second_never_share_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(runs.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Clock":
            return cls(2026, 1, 2, 3, 4, 5, tzinfo=tz)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "datetime", Clock)
    monkeypatch.setattr(Path, "exists", lambda self: False)  # as another process has it
    made = [open_run("t.study", Config(), name="a").path for _ in range(3)]
    base = "runs/t.study/20260102T030405Z-a-s0"
    assert made == [Path(base), Path(f"{base}-2"), Path(f"{base}-3")]


def test_the_same_configuration_goes_on_with_its_records(tmp_path: Path) -> None:
    finished(tmp_path / "run")
    run = open_run("t.study", Config(), out=tmp_path / "run")
    assert run.records == [{"step": 1}]
    assert read_run(tmp_path / "run").status == "unfinished"
    run.log({"step": 2})
    run.finish(Result(study="t.study"))
    assert open_run("t.study", Config(), out=tmp_path / "run").records == [{"step": 1}, {"step": 2}]


def test_a_torn_last_line_is_dropped_and_said(tmp_path: Path) -> None:
    finished(tmp_path / "run")
    with (tmp_path / "run" / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 2, "lo')
    listener = Listener()
    run = open_run("t.study", Config(), out=tmp_path / "run", reporter=listener)
    assert run.records == [{"step": 1}]
    assert listener.notes == [
        "the last line of metrics.jsonl was cut short by a crash and is dropped"
    ]
    assert run.finish(Result(study="t.study"))["notes"] == listener.notes
    assert (tmp_path / "run" / "metrics.jsonl").read_text() == '{"step": 1}\n'


def test_a_changed_configuration_is_refused_by_field_and_nothing_is_touched(
    tmp_path: Path,
) -> None:
    path = finished(tmp_path / "run")
    before = {name: (path / name).read_bytes() for name in names(path)}
    changed = Config(width=9, names=("b",), seed=1, steps=50, optim=Optim(lr=0.2, threads=4))
    with pytest.raises(UserError) as caught:
        open_run("t.study", changed, out=path)
    assert caught.value.message == (f"{path} holds a run with another seed, width, names, optim.lr")
    assert "--out DIR" in (caught.value.hint or "")
    assert {name: (path / name).read_bytes() for name in names(path)} == before


def test_budgets_may_change_also_below_a_nested_configuration(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    more = Config(steps=50, optim=Optim(threads=4))
    open_run("t.study", more, out=path)
    assert read(path / "config.json") == to_dict(more)


def test_changed_fields_counts_a_field_that_was_not_there() -> None:
    earlier = to_dict(Config())
    assert changed_fields(Config(), earlier) == []
    assert changed_fields(Config(), json.loads(json.dumps(earlier))) == []
    assert changed_fields(Config(), {**earlier, "width": None, "steps": 9}) == ["width"]
    del earlier["width"], earlier["steps"]
    assert changed_fields(Config(), earlier) == ["width"]
    assert changed_fields(Config(), {**to_dict(Config()), "optim": 3}) == ["optim"]


def test_a_run_of_another_study_is_refused(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    with pytest.raises(UserError, match=f"^{path} holds a run of t.study, not of t.other$"):
        open_run("t.other", Config(), out=path)


def put(name: str, content: str) -> Callable[[Path], None]:
    return lambda path: (path / name).write_text(content) and None


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (put("config.json", '{"seed": 0,'), "config.json is damaged: Expecting"),
        (put("result.json", ""), "result.json is damaged: Expecting value"),
        (put("result.json", "[]"), "result.json is damaged: not a JSON object"),
        (put("result.json", "{}"), "result.json is not a result of mlscale"),
        (put("result.json", '{"study": "t.study", "status": NaN}'), "damaged: NaN is not JSON"),
        (lambda path: (path / "result.json").unlink(), "not a run directory: it has no result"),
        (lambda path: (path / "config.json").unlink(), "not a run directory: it has no config"),
        (lambda path: (path / "config.json").write_bytes(b"\xff"), "is damaged: 'utf-8' codec"),
        (put("metrics.jsonl", "oops\n{}\n"), "metrics.jsonl: line 1 is not a JSON object"),
    ],
)
def test_a_damaged_run_directory_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], None], says: str
) -> None:
    path = finished(tmp_path / "run")
    damage(path)
    before = {name: (path / name).read_bytes() for name in names(path)}
    with pytest.raises(UserError) as caught:
        open_run("t.study", Config(), out=path)
    assert says in caught.value.message
    assert caught.value.hint
    assert {name: (path / name).read_bytes() for name in names(path)} == before


def test_places_that_are_no_run_directory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    refused = {
        tmp_path / "file": "is a file",
        tmp_path / "file" / "run": "Not a directory",
        tmp_path / "mine": "is not a run directory: it has no result.json",
        tmp_path / ("a" * 300): "File name too long",
        Path("/proc/mlscale/run"): "cannot write /proc/mlscale/run: ",
    }
    for path, says in refused.items():
        with pytest.raises(UserError) as caught:
            open_run("t.study", Config(), out=path)
        assert says in caught.value.message
        assert "--out DIR" in (caught.value.hint or "")
    assert (tmp_path / "file").read_text() == "mine"
    assert names(tmp_path / "mine") == ["thesis.tex"]


def test_the_default_folder_in_the_way_is_a_user_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(UserError, match=r"^cannot write runs/t\.study/.*: Not a directory"):
        open_run("t.study", Config())


def test_a_full_disk_at_the_start_is_no_user_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkFailed, match="No space left on device"):
        open_run("t.study", Config(), out=tmp_path / "run")


def test_no_nan_reaches_any_file(tmp_path: Path) -> None:
    run = open_run("t.study", Config(), out=tmp_path / "run")
    run.log({"loss": math.nan, "norm": np.float32("inf"), "fine": np.int64(3)})
    tables = {"curve": np.array([1.0, np.nan]), "deep": [{"x": (math.inf,)}]}
    document = run.finish(
        Result(
            study="t.study",
            metrics={"loss": Metric(math.nan, "nats", 1, (math.nan, 1.0))},
            tables=tables,
            protocol={"scale": math.nan},
        )
    )
    for name in ("result.json", "metrics.jsonl", "config.json"):
        read(tmp_path / "run" / name)
    assert document["status"] == "failed"
    assert document["tables"] == {"curve": [1.0, None], "deep": [{"x": [None]}]}


def test_records_in_memory_are_what_a_resumed_run_reads(tmp_path: Path) -> None:
    run = open_run("t.study", Config(), out=tmp_path / "run")
    run.log({"loss": math.nan, "n": np.int64(3), "pair": (1, 2)})
    run.finish(Result(study="t.study", status="interrupted"))
    again = open_run("t.study", Config(), out=tmp_path / "run")
    assert again.records == run.records == [{"loss": None, "n": 3, "pair": [1, 2]}]


def test_rewinding_cuts_the_log_and_what_follows_is_appended(tmp_path: Path) -> None:
    run = open_run("a.b", Config(), out=tmp_path / "run")
    for number in range(4):
        run.log({"number": number, "text": "line\r\u2028end"})
    run.rewind(9)
    assert len(run.records) == 4
    run.rewind(2)
    run.log({"number": 9})
    assert [record["number"] for record in run.records] == [0, 1, 9]
    run.finish(Result(study="a.b"))
    assert open_run("a.b", Config(), out=tmp_path / "run").records == run.records


def test_artifacts_are_written_below_the_run_and_listed_once(tmp_path: Path) -> None:
    run = open_run("t.study", Config(), out=tmp_path / "run")
    run.write("figures/a.svg", "<svg/>")
    run.write("figures/a.svg", b"<svg />")
    assert (tmp_path / "run" / "figures" / "a.svg").read_text() == "<svg />"
    assert run.finish(Result(study="t.study"))["artifacts"] == ["figures/a.svg"]


def test_a_run_without_a_directory_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = runs.Run("t.study", Config(seed=4))
    run.log({"a": 1})
    run.write("a.svg", "x")
    run.withdraw()
    document = run.finish(Result(study="t.study"))
    assert (document["seed"], document["artifacts"], run.records) == (4, [], [{"a": 1}])
    assert names(tmp_path) == []


def test_withdraw_removes_a_new_directory_and_no_file_of_the_users(tmp_path: Path) -> None:
    open_run("t.study", Config(), out=tmp_path / "run").withdraw()
    assert not (tmp_path / "run").exists()
    run = open_run("t.study", Config(), out=tmp_path / "run")
    (tmp_path / "run" / "mine.txt").write_text("x")
    run.withdraw()
    assert names(tmp_path / "run") == ["mine.txt"]


def test_withdraw_keeps_what_was_measured_or_written(tmp_path: Path) -> None:
    run = open_run("t.study", Config(), out=tmp_path / "measured")
    run.log({"a": 1})
    run.withdraw()
    assert read_run(tmp_path / "measured").status == "unfinished"
    assert (tmp_path / "measured" / "metrics.jsonl").read_text() == '{"a": 1}\n'
    run = open_run("t.study", Config(), out=tmp_path / "written")
    run.write("figures/a.svg", "x")
    run.withdraw()
    assert read_run(tmp_path / "written").status == "unfinished"


def test_withdraw_gives_a_reopened_run_its_result_back(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    before = (path / "result.json").read_bytes()
    open_run("t.study", Config(), out=path).withdraw()
    assert (path / "result.json").read_bytes() == before
    assert (path / "metrics.jsonl").read_text() == '{"step": 1}\n'
    run = open_run("t.study", Config(), out=path)
    run.log({"step": 2})
    run.withdraw()
    assert read_run(path).status == "unfinished"  # the old result is not that of these records


def test_runs_are_listed_last_written_last_and_others_are_passed_over(tmp_path: Path) -> None:
    for time_s, name in enumerate(("c/run", "b/run", "a/run")):
        finished(tmp_path / name)
        os.utime(tmp_path / name / "result.json", (time_s, time_s))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "result.json").write_text("{")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "result.json").write_text('{"mine": 1}')
    assert [run.path.parent.name for run in list_runs(tmp_path)] == ["c", "b", "a"]
    assert {run.study for run in list_runs(tmp_path)} == {"t.study"}
    assert list_runs(tmp_path / "none") == []


def test_reading_a_run_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"^nosuch: no such directory$") as caught:
        read_run(Path("nosuch"))
    assert caught.value.hint == "`mlscale runs list` shows the runs here"


@pytest.mark.parametrize("content", [{}, {"result.json": "{}", "config.json": "{}"}])
def test_reading_what_is_no_run_does_not_speak_of_writing(
    tmp_path: Path, content: dict[str, str]
) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=r"is not a (run directory|result)") as caught:
        read_run(tmp_path)
    assert caught.value.hint == "`mlscale runs list` shows the runs here"
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError) as caught:
        open_run("t.study", Config(), out=tmp_path)
    assert caught.value.hint == "choose an empty or new directory with --out DIR"


def test_a_second_process_cannot_write_to_the_same_run(tmp_path: Path) -> None:
    run = open_run("a.study", Config(), out=tmp_path / "run")
    with pytest.raises(UserError, match="another process is writing to"):
        open_run("a.study", Config(), out=tmp_path / "run")
    run.log({"step": 1})
    run.finish(Result(study="a.study"))
    again = open_run("a.study", Config(), out=tmp_path / "run")
    assert again.records == [{"step": 1}]
    again.finish(Result(study="a.study"))


def test_elapsed_seconds_add_up_over_starts(tmp_path: Path) -> None:
    path = finished(tmp_path / "run")
    earlier = {**read(path / "result.json"), "elapsed_s": 1000.0, "status": "interrupted"}
    (path / "result.json").write_text(json.dumps(earlier))
    again = open_run("t.study", Config(), out=path)
    assert 1000 <= again.finish(Result(study="t.study"))["elapsed_s"] < 1060


@pytest.mark.parametrize("name", ["result.json", "config.json"])
def test_reading_a_damaged_run_does_not_speak_of_writing(tmp_path: Path, name: str) -> None:
    path = finished(tmp_path / "run")
    put(name, "{")(path)
    with pytest.raises(UserError, match=f"{name} is damaged: ") as caught:
        read_run(path)
    assert caught.value.hint == (
        "put a copy of that file back, or name another run: `mlscale runs list` shows the runs here"
    )
    with pytest.raises(UserError, match=f"{name} is damaged: ") as caught:
        open_run("t.study", Config(), out=path)
    assert caught.value.hint == "start again in another directory with --out DIR"
