"""`mlscale decentral` as it is typed: tables in a pipe and at 80 columns, JSON, bad input."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mlscale.cli import main

SCHEMA = json.loads((resources.files("mlscale.core") / "result.schema.json").read_text())
Capture = pytest.CaptureFixture[str]
PLAN = ["plan", "--params", "25557032", "--n", "8,1008", "--latency", "10us"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shown(capsys: Capture) -> Callable[..., str]:
    """Return a function that runs a command and returns its stdout."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        assert main.run_command(["decentral", *arguments]) == 0
        return capsys.readouterr().out

    return run


def document(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    jsonschema.validate(parsed, SCHEMA)
    return parsed


def row(text: str, name: str, occurrence: int = 0) -> list[str]:
    rows = [line for line in text.splitlines() if line.startswith(f"{name}  ")]
    return rows[occurrence].split()[1:]


def test_the_plan_shows_costs_and_says_what_they_mean(shown: Callable[..., str]) -> None:
    text = shown(*PLAN)
    assert text.startswith("25,557,032 parameters, 102.2 MB; 25Gb/s, 10us a message\n")
    assert row(text, "all-reduce") == ["-", "178.9", "100", "%", "57.39", "-"]
    assert row(text, "onepeer", 1) == ["1", "102.2", "50", "%", "32.72", "any"]
    assert row(text, "exp", 1) == ["10", "1,022", "500", "%", "327.1", "130", "us"]
    places = [text.index(f"\n{name}  ") for name in ("onepeer", "all-reduce", "ring", "exp")]
    assert places == sorted(places)
    assert "A static ring saves no bytes: 204.5 MB a step, 0.099 % more" in text
    assert "exp moves more bytes than all-reduce: 1,022 MB, 5 times" in text
    assert "onepeer saves half of the bytes: 102.2 MB." in text
    assert "ring by latency alone, not by bytes." in text
    assert "overlapped" not in text


def test_the_plan_takes_computing_in(shown: Callable[..., str]) -> None:
    text = shown(*PLAN, "--compute-ms", "100", "--graph", "exp")
    assert row(text, "exp")[-2:] == ["198.1", "100"]
    assert "step: computing, then sending; overlapped: the longer of the two\n" in text


def test_the_graphs_are_listed(shown: Callable[..., str]) -> None:
    text = shown("graphs", "--n", "8,64")
    assert row(text, "ring") == ["2", "0.1953", "32", "0.5112", "5.92", "yes", "-"]
    assert row(text, "ring", 1) == ["2", "0.00321", "2,149", "7.443", "6.632", "yes", "-"]
    assert row(text, "onepeer", 1) == ["1", "1", "6", "0.8906", "10.16", "no", "6"]
    assert "lattice-K  the K nearest on a circle" in text
    only = shown("graphs", "--n", "8", "--graph", "ring,exp")
    assert [line.split()[0] for line in only.splitlines()[1:3]] == ["ring", "exp"]
    assert "lattice-K" not in only


@pytest.mark.parametrize(
    ("arguments", "study"),
    [
        (["plan", "--n", "8"], "decentral.plan"),
        (["graphs", "--n", "4", "--graph", "ring"], "decentral.graphs"),
    ],
)
def test_json_is_the_result_and_nothing_else(
    shown: Callable[..., str], folder: Path, arguments: list[str], study: str
) -> None:
    found = document(shown(*arguments, "--json"))
    assert (found["study"], found["status"]) == (study, "complete")
    assert list(folder.iterdir()) == []
    assert shown(*arguments, "--json", "--out", "run") == Path("run/result.json").read_text()
    again = document(shown(arguments[0], "--config", "run/config.json", "--json"))
    assert again["tables"] == found["tables"]


def test_drawings_go_where_they_are_wanted(shown: Callable[..., str], folder: Path) -> None:
    found = document(shown("graphs", "--n", "3", "--graph", "star", "--out", "run", "--json"))
    assert found["artifacts"] == ["figures/star-n3.svg", "figures/star-n3.png"]
    shown("graphs", "--n", "3", "--graph", "star", "--draw", "-q")
    (run,) = (folder / "runs" / "decentral.drawings").iterdir()
    assert (run / "figures" / "star-n3.png").stat().st_size > 1000
    assert main.run_command(["runs", "resume", str(run), "-q"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["plan", "--bandwidth", "25"],
            "'25' is not a bandwidth",
            "a small b is bits, a large B bytes: 25Gb/s or 100GB/s",
        ),
        (["plan", "--latency", "10"], "'10' is not a duration", "with ns, us, ms or s: "),
        (["plan", "--params", "big"], "'big' is not a number of parameters", "a whole number"),
        (["plan", "--n", "8,x"], "--n: 'x' is not int", None),
        (["plan", "--n", "8", "--graph", "rings"], "unknown graph 'rings'", "did you mean 'ring'?"),
        (["graphs", "--graph", "lattice-3"], "graph 'lattice-3' needs an even number", "take "),
        (["graphs", "--graph", "file:no.txt"], "cannot read no.txt", None),
        (["graphs", "--form", "lasy"], "--form cannot be 'lasy'", "did you mean 'lazy'?"),
        (["grahps"], "no such command 'grahps'", "did you mean graphs?"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    capsys: Capture, folder: Path, arguments: list[str], message: str, hint: str | None
) -> None:
    assert main.run_command(["decentral", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0].startswith(f"error: {message}")
    assert len(lines) <= 2
    if hint:
        assert lines[1].startswith(f"hint: {hint}")
    assert list(folder.iterdir()) == []


def on_a_terminal(columns: int, *arguments: str) -> str:
    """Return what a command draws on a terminal of so many columns, without its colours."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    done = subprocess.Popen(
        [sys.executable, "-m", "mlscale", "decentral", *arguments],
        stdout=follower, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    os.close(follower)
    parts = []
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the command has ended
            break
        if not part:
            break
        parts.append(part)
    os.close(leader)
    assert done.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(parts).decode()).replace("\r\n", "\n")


@pytest.mark.parametrize(
    "arguments",
    [("graphs", "--n", "64"), ("plan", "--n", "1008"), ("plan", "--n", "8", "--compute-ms", "90")],
)
def test_tables_fit_eighty_columns(arguments: tuple[str, ...]) -> None:
    lines = on_a_terminal(80, *arguments).splitlines()
    assert max(map(len, lines)) <= 80
    (ring,) = [line.split() for line in lines if line.startswith("ring ") and "%" in line] or [
        line.split() for line in lines if line.startswith("ring ") and "yes" in line
    ]
    assert len(ring) >= 7, "every cell of a row is on its line"
