"""Exit codes, the stdout/stderr split, one-line errors, and what a stopped run leaves."""

import json
import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlscale.cli import main, studies
from mlscale.cli.execute import execute
from mlscale.cli.options import Common
from mlscale.cli.studies import Study
from mlscale.core.config import Seeded
from mlscale.core.errors import Interrupted, UserError, WorkFailed
from mlscale.core.results import Metric, Result
from mlscale.core.runs import Run, read_run

MLSCALE = [sys.executable, "-m", "mlscale"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
TABLE = "agent,game,seed,score\na,pong,0,1\na,breakout,0,10\n"
STUDY = "fake.study"

Work = Callable[[Any, Run], Result]


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Return a function that runs `work` as a study through the real main: its exit code."""
    module = types.SimpleNamespace(
        Config=Seeded, draw=lambda document, console: console.print("drawn")
    )
    fake = Study(name=STUDY, config="fake:Config", run="fake:run", render="fake:draw")
    monkeypatch.setitem(sys.modules, "fake", module)
    monkeypatch.setattr(studies, "STUDIES", (*studies.STUDIES, fake))
    monkeypatch.chdir(tmp_path)

    def run(work: Work, *arguments: str) -> int:
        module.run = work
        common = Common(out=Path("run"), json="--json" in arguments)
        with monkeypatch.context() as patch:
            patch.setattr(main, "app", lambda *_, **__: execute(STUDY, Seeded(), common))
            return main.run_command(list(arguments))

    return run


def raises(error: BaseException, *, logged: bool = True) -> Work:
    def work(config: Any, run: Run) -> Result:
        if logged:
            run.log({"step": 1})
        raise error

    return work


def test_success_draws_on_stdout_and_says_where_on_stderr(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(lambda config, run: Result(study=STUDY)) == 0
    assert capsys.readouterr() == ("drawn\n", "run directory: run\n")
    assert read_run(Path("run")).status == "complete"


def test_a_user_error_is_exit_2_and_leaves_no_directory(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(raises(UserError("no such thing", "try another"), logged=False)) == 2
    assert capsys.readouterr() == ("", "error: no such thing\nhint: try another\n")
    assert not Path("run").exists()


def test_a_user_error_does_not_cost_a_complete_run_its_result(study: Callable[..., int]) -> None:
    assert study(lambda config, run: Result(study=STUDY, tables={"kept": [1]})) == 0
    assert study(raises(UserError("the file is gone"), logged=False)) == 2
    assert read_run(Path("run")).status == "complete"
    assert read_run(Path("run")).result["tables"] == {"kept": [1]}


def test_failed_work_is_exit_1_and_is_recorded(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(raises(WorkFailed("it broke"))) == 1
    assert capsys.readouterr() == ("", "error: it broke\n")
    assert read_run(Path("run")).status == "failed"


@pytest.mark.parametrize("json_out", [False, True])
def test_failed_work_shows_the_part_that_was_done(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str], json_out: bool
) -> None:
    error = UserError("one job failed", "look at it")
    error.partial = Result(study=STUDY, status="failed", tables={"games": [1]})
    assert study(raises(error), *(["--json"] if json_out else [])) == 2
    out, err = capsys.readouterr()
    assert err.endswith("error: one job failed\nhint: look at it\n")
    document = json.loads(Path("run/result.json").read_text())
    assert (document["status"], document["tables"]) == ("failed", {"games": [1]})
    assert json.loads(out) == document if json_out else out == "drawn\n"


@pytest.mark.parametrize(
    "result",
    [
        Result(study=STUDY, status="failed"),
        Result(study=STUDY, metrics={"loss": Metric(float("nan"), "nats", 1)}),
    ],
)
def test_a_failed_or_diverged_result_is_shown_and_exit_1(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str], result: Result
) -> None:
    assert study(lambda config, run: result) == 1
    assert capsys.readouterr().out == "drawn\n"
    assert read_run(Path("run")).status == "failed"


def test_ctrl_c_is_exit_130_with_the_way_on(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(raises(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == (
        "",
        "error: interrupted; what was done is kept\nhint: go on with: mlscale runs resume run\n",
    )
    assert read_run(Path("run")).status == "interrupted"
    assert Path("run/metrics.jsonl").read_text() == '{"step": 1}\n'


def test_a_bug_is_a_traceback_exit_1_and_a_failed_run(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(raises(ZeroDivisionError("a bug"))) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Traceback (most recent call last):")
    assert err.endswith("ZeroDivisionError: a bug\n")
    assert read_run(Path("run")).status == "failed"


def test_a_full_disk_is_no_bug(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(raises(OSError(28, "No space left on device"))) == 1
    assert capsys.readouterr().err == (
        "error: [Errno 28] No space left on device\nhint: free some space, then run it again\n"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UserError("x"), 2),
        (WorkFailed("x"), 1),
        (KeyboardInterrupt(), 130),
        (Interrupted("x"), 130),
    ],
)
def test_debug_shows_the_traceback_above_the_error(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    assert study(raises(error), "--debug") == code
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last):")
    assert "\nerror: " in err
    assert study(raises(error)) == code
    assert "Traceback" not in capsys.readouterr().err


def test_debug_shows_where_a_worker_raised(
    study: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    error = WorkFailed("job 3 failed")
    error.worker_traceback = "Traceback of the worker\n"
    assert study(raises(error), "--debug") == 1
    assert "Traceback of the worker\nerror: job 3 failed\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["atri"], "no such command 'atri'", "did you mean atari? `mlscale --help`"),
        (["atari", "gmaes"], "no such command 'gmaes'", "did you mean games? `mlscale atari"),
        (["atari", "games", "--gmaes", "x"], "no such option: --gmaes", "did you mean --games?"),
        (["atari", "games", "--games", "pogn"], "unknown game 'pogn'", "did you mean 'pong'"),
        (["atari", "score", "nosuch.csv"], "nosuch.csv: no such file", ""),
        (["atari", "eval"], "--agent is required", "Agent: "),
        (["--nosuch"], "no such option: --nosuch", "`mlscale --help` shows what there is"),
    ],
)
def test_real_commands_used_wrongly(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
    error: str,
    hint: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.run_command(arguments) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0].lower().startswith(f"error: {error.lower()}")
    assert len(lines) <= 2
    assert not hint or lines[1].lower().startswith(f"hint: {hint.lower()}")
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/*"))


@pytest.mark.parametrize("arguments", [[], ["atari"], ["runs"]])
def test_a_group_alone_shows_its_help_on_stderr(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main.run_command(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Usage: {' '.join(['mlscale', *arguments])} [OPTIONS] COMMAND")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["atari", "-h"]])
def test_asked_for_help_is_a_result(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main.run_command(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("mlscale 0." if arguments == ["--version"] else "Usage: mlscale")


def test_quiet_says_nothing_on_stderr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(TABLE)
    command = ["atari", "score", str(tmp_path / "s.csv"), "--no-report", "--out"]
    assert main.run_command([*command, str(tmp_path / "a")]) == 0
    loud = capsys.readouterr()
    assert main.run_command([*command, str(tmp_path / "b"), "-q"]) == 0
    assert capsys.readouterr() == (loud.out, "")
    assert loud.err.splitlines()[-1] == f"run directory: {tmp_path / 'a'}"
    assert loud.err.startswith("note: ")


def run_buffered(command: list[str], **streams: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as users do: Python holds its output back until the end."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.run(command, text=True, check=False, env=BUFFERED, **streams)


WRITES = ("atari games", "atari games --json", "--help")  # each by another way out


@pytest.mark.parametrize("arguments", WRITES)
def test_a_reader_that_has_gone_is_silent_and_the_exit_code_that_of_sigpipe(
    arguments: str,
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = run_buffered([*MLSCALE, *arguments.split()], stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_head_takes_its_line() -> None:
    done = run_buffered(["bash", "-c", f"{' '.join(MLSCALE)} atari games | head -1"])
    assert done.stdout.startswith("game ")
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", WRITES)
def test_a_full_disk_under_stdout_is_one_error(arguments: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = run_buffered([*MLSCALE, *arguments.split()], stdout=full)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: [Errno 28] No space left on device",
        "hint: free some space, then run it again",
    ]


@pytest.mark.parametrize(("arguments", "code"), [("atari games", 0), ("atari games --nosuch", 2)])
def test_closed_streams_do_not_change_the_exit_code(arguments: str, code: int) -> None:
    done = run_buffered(["bash", "-c", f"{' '.join(MLSCALE)} {arguments} >&- 2>&-"])
    assert done.returncode == code


FAKE = """
import signal, time
from dataclasses import dataclass
from pathlib import Path
from mlscale.cli import main, studies
from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.core.config import Seeded, opt
from mlscale.core.results import Result

@dataclass(frozen=True, slots=True, kw_only=True)
class Config(Seeded):
    num_steps: int = opt(5, help="Steps.")

def run(config, run):
    for step in range(len(run.records), config.num_steps):
        while step == 2 and not Path("go").exists():
            time.sleep(0.01)
        run.log({"step": step})
    return Result(study=run.study, tables={"steps": [record["step"] for record in run.records]})

def draw(document, console):
    console.print(document["tables"]["steps"])

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    fake = studies.Study(name="fake.slow", config="slow:Config", run="slow:run", render="slow:draw")
    studies.STUDIES += (fake,)

    @main.app.command("slow")
    @takes(Config)
    def slow(config, common):
        execute("fake.slow", config, common)

    main.main()
"""


@pytest.mark.parametrize(
    ("number", "code", "status"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 130, "interrupted"),
        (signal.SIGKILL, -signal.SIGKILL, "unfinished"),
    ],
)
def test_a_stopped_run_can_be_resumed(
    tmp_path: Path, number: signal.Signals, code: int, status: str
) -> None:
    (tmp_path / "slow.py").write_text(FAKE)
    metrics = tmp_path / "run" / "metrics.jsonl"
    command = [sys.executable, "slow.py", "slow", "--out", "run"]
    process = subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        give_up_s = time.monotonic() + 30
        while not metrics.exists() or metrics.read_text().count("\n") < 2:
            assert process.poll() is None
            assert time.monotonic() < give_up_s
            time.sleep(0.01)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (code, "")
    if status == "interrupted":
        assert err == (
            "error: interrupted; what was done is kept\nhint: go on with: mlscale runs resume run\n"
        )
    assert read_run(tmp_path / "run").status == status

    (tmp_path / "go").touch()
    resume = [sys.executable, "slow.py", "runs", "resume", "run"]
    done = subprocess.run(resume, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "[0, 1, 2, 3, 4]\n", "run directory: run\n",
    )  # fmt: skip
    assert read_run(tmp_path / "run").status == "complete"
