"""--json: one document on stdout, the one in result.json, valid, and nothing else."""

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mlscale.cli import main, render
from mlscale.core.config import from_dict
from mlscale.rl.atari.config import ScoreConfig

SCHEMA = json.loads((resources.files("mlscale.core") / "result.schema.json").read_text())
TABLE = "agent,game,seed,score\na,pong,0,1\na,breakout,0,10\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(TABLE)
    return tmp_path


def parse(text: str) -> dict[str, Any]:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} on stdout")

    document: dict[str, Any] = json.loads(text, parse_constant=refuse)
    jsonschema.validate(document, SCHEMA)
    return document


@pytest.mark.parametrize(
    ("arguments", "study"),
    [
        (["atari", "games", "--games", "pong"], "atari.games"),
        (["atari", "agents"], "atari.agents"),
        (["atari", "score", "s.csv", "--no-report"], "atari.score"),
        (["atari", "compare", "s.csv", "--no-report"], "atari.compare"),
        (["runs", "list"], "runs.list"),
        (["doctor"], "doctor"),
    ],
)
def test_stdout_is_result_json_and_nothing_else(
    capsys: pytest.CaptureFixture[str], arguments: list[str], study: str
) -> None:
    assert main.run_command([*arguments, "--json", "--out", "run", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    assert out == Path("run/result.json").read_text()
    document = parse(out)
    assert (document["study"], document["status"], document["seed"]) == (study, "complete", 5)
    assert document["config"] == json.loads(Path("run/config.json").read_text())


def test_runs_show_prints_the_same_document_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run_command(["atari", "score", "s.csv", "--no-report", "--out", "r", "-q"]) == 0
    capsys.readouterr()
    assert main.run_command(["runs", "show", "r", "--json"]) == 0
    assert capsys.readouterr() == (Path("r/result.json").read_text(), "")


def test_without_out_a_listing_leaves_nothing_behind_and_a_study_a_run(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert main.run_command(["atari", "games", "--json"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["s.csv"]
    assert main.run_command(["atari", "score", "s.csv", "--no-report", "-q"]) == 0
    (run,) = (folder / "runs" / "atari.score").iterdir()
    assert run.match("*Z-s-s0")
    capsys.readouterr()


def test_a_user_error_leaves_stdout_empty(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run_command(["atari", "score", "nosuch.csv", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_the_config_in_the_result_replays_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["atari", "score", "s.csv", "--no-report", "--metric", "hns", "--resamples", "200"]
    assert main.run_command([*command, "--json", "--out", "a"]) == 0
    first = parse(capsys.readouterr().out)
    replay = ["atari", "score", "--config", "a/config.json", "--json", "--out", "b"]
    assert main.run_command(replay) == 0
    second = parse(capsys.readouterr().out)
    for key in ("config", "metrics", "tables", "protocol"):
        assert first[key] == second[key], key
    assert from_dict(ScoreConfig, first["config"], where="x").resamples == 200


@pytest.mark.parametrize(
    "arguments",
    [
        ["atari", "games"],
        ["atari", "agents"],
        ["atari", "score", "s.csv", "--no-report"],
        ["atari", "score", "s.csv", "--no-report", "--metric", "all"],
        ["runs", "list"],
    ],
)
@pytest.mark.parametrize("json_out", [False, True])
def test_no_control_codes_off_a_terminal(
    capsys: pytest.CaptureFixture[str], arguments: list[str], json_out: bool
) -> None:
    assert main.run_command([*arguments, *(["--json"] if json_out else [])]) == 0
    out, err = capsys.readouterr()
    assert out
    assert not {c for c in out + err if not c.isprintable()} - {"\n"}


def run_with(encoding: str, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "mlscale", *arguments]
    return subprocess.run(command, capture_output=True, check=False, env=environment)


def test_a_file_name_that_is_not_unicode_and_a_stdout_that_is_ascii(folder: Path) -> None:
    name = b"caf\xe9.csv"
    Path(os.fsdecode(folder / "x")).with_name(os.fsdecode(name)).write_text(TABLE)
    command = ["atari", "score", name, "--no-report", "--out", "run", "-q"]
    done = run_with("ascii", *command)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Pong" in done.stdout
    done = run_with("ascii", *command, "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    document = parse(done.stdout.decode("ascii"))
    assert os.fsencode(document["config"]["file"]) == name


class Terminal:
    """A stderr that says it is a terminal and keeps what is written."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...


def test_the_bar_takes_unknown_totals_and_names_with_brackets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with render.TerminalReporter(quiet=False, plain=False) as reporter:
        reporter.progress(0, None, "scoring [/x]")
        reporter.note("left out [b] :smile:")
        reporter.progress(3, 7, "playing [red]")
    assert "0/?" in terminal.text
    assert "scoring [/x]" in terminal.text
    assert "3/7" in terminal.text
    assert "playing [red]" in terminal.text
    assert "note: left out [b] :smile:\n" in terminal.text.replace("\r", "")


@pytest.mark.parametrize(("quiet", "plain"), [(True, False), (False, True)])
def test_no_bar_under_quiet_or_json(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, plain: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with render.TerminalReporter(quiet=quiet, plain=plain) as reporter:
        reporter.progress(1, 2, "playing")
    assert terminal.text == ""


def test_off_a_terminal_a_line_comes_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # as CI sets it: still no bar
    clock = [100.0]
    monkeypatch.setattr(render.time, "monotonic", lambda: clock[0])
    with render.TerminalReporter(quiet=False, plain=False) as reporter:
        for done in range(40):
            clock[0] += 1.0
            reporter.progress(done, 40, "playing [x]")
        reporter.progress(40, None, "late")
    assert capsys.readouterr().err == "14/40 playing [x]\n29/40 playing [x]\n"
