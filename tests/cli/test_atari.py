"""`mlscale atari` as it is typed: bad input, published figures, tables, the documentation."""

import contextlib
import csv
import fcntl
import itertools
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
from mlscale.core.metrics_log import read_records

ROOT = Path(__file__).parents[2]
MLSCALE = [sys.executable, "-m", "mlscale"]
SCHEMA = json.loads((resources.files("mlscale.core") / "result.schema.json").read_text())
LONG = "agent,game,seed,score\na,pong,0,1.5\na,breakout,0,10\nb,pong,0,-3\nb,breakout,0,864\n"
WIDE = "game,a,b\nPong,1.5,-3\nBreakout,10,864\n"
AGENTS_ACROSS = "agent,ALE/Pong-v5,BreakoutNoFrameskip-v4\na,1.5,10\nb,-3,864\n"

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def run(capsys: Capture) -> Callable[..., dict[str, Any]]:
    """Return a function that runs a command with --json: its document, checked and complete."""

    def run(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        assert main.run_command(["atari", *arguments, "--json"]) == 0
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        jsonschema.validate(document, SCHEMA)
        assert document["status"] == "complete"
        return document

    return run


def score(run: Callable[..., dict[str, Any]], *arguments: str) -> dict[str, Any]:
    return run(*arguments, "--no-report", "--resamples", "100")


def values(document: dict[str, Any]) -> dict[str, float]:
    return {name: metric["value"] for name, metric in document["metrics"].items()}


# Bad input: exit 2, one line that names it, a hint where there is one, and nothing left behind


def refused(capsys: Capture, folder: Path, *arguments: str) -> tuple[str, str | None]:
    """Run a command that must be refused; return its error and its hint."""
    before = sorted(folder.rglob("*"))
    assert main.run_command(["atari", *arguments]) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert "Traceback" not in err
    assert lines[0].startswith("error: ")
    assert [line.partition(":")[0] for line in lines[1:]] in ([], ["hint"])
    left = [path for path in folder.rglob("*") if path not in before]
    assert [path for path in left if path.parts[len(folder.parts) :][0] != "runs"] == []
    assert [path for path in left if path.is_file() or "-s" in path.name] == []
    hint = lines[1].removeprefix("hint: ") if len(lines) > 1 else None
    return lines[0].removeprefix("error: "), hint


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("games --games pogn", "unknown game 'pogn'", "did you mean 'pong'?"),
        ("games --games pong,,xyzzy", "unknown game 'xyzzy'", "mlscale atari games lists them"),
        ("games --games ,", "no game is named", "write atari57"),
        ("games --games freddy", "unknown game 'freddy'", "did you mean 'freeway'?"),
        ("games --games kaboom", "game 'kaboom' is not one of the 57", "no random, human"),
        ("eval --agent noop --games pogn", "unknown game 'pogn'", "did you mean 'pong'?"),
        ("eval --agent randm", "unknown agent 'randm'", "did you mean 'random'?"),
        (
            "eval --agent dqn --games alien",
            "agent 'dqn' does not cover alien",
            "mlscale atari train",
        ),
        ("eval --agent nosuch:make", "agent 'nosuch:make' cannot be imported", "name it module"),
        ("eval --agent nosuch.pt2", "nosuch.pt2: no such file", None),
        ("eval --agent s.pt2", "loading s.pt2 may run code", "if you trust where it comes from"),
        ("eval --agent noop --device tpu", "unknown device 'tpu'", None),
        ("eval --agent noop --protocol sabre", "protocol", "did you mean"),
        ("eval --agent noop --episodes 0", "episodes", None),
        ("eval --agent noop --max-frames 3", "--max-frames must be at least 4, got 3", None),
        ("eval --agent noop --preset huge", "unknown preset 'huge'", "presets: tiny"),
        ("eval --agent noop --records saber2019", "unknown record list", "did you mean 'saber-"),
        ("eval", "--agent is required", "Agent: "),
        ("score", "FILE is required", "Score table"),
        ("score s.csv --records saber2019", "unknown record list 'saber2019'", "did you mean"),
        ("score s.csv --records nosuch.csv", "nosuch.csv: no such file", None),
        ("score s.csv --records bad.csv", "bad.csv, line 2: record 'x' is not a finite", "write"),
        ("score s.csv --metric hrw", "metric", "did you mean 'hwr'?"),
        ("score s.csv --resamples 5", "resamples", None),
        ("score t.csv", "t.csv: no such file", "did you mean 's.csv'?"),
        ("score data", "data: is a folder", "name the table inside it"),
        ("compare", "AGENTS is required", "Published agents"),
        ("compare agnet57", "unknown agent 'agnet57'", "did you mean 'agent57'?"),
        ("compare agent57 agent57", "the same agent is named twice", "name each once"),
        ("compare agent57 Agent57", "two of the agents are called 'agent57'", "give one another"),
        ("compare random", "agent 'random' has no published scores", "`mlscale atari eval"),
        ("compare data", "data is not a run directory", "`mlscale runs list`"),
    ],
)
def test_bad_arguments(
    capsys: Capture, folder: Path, arguments: str, error: str, hint: str | None
) -> None:
    (folder / "s.csv").write_text(LONG)
    (folder / "bad.csv").write_text("game,record\npong,x\n")
    (folder / "s.pt2").write_bytes(b"x")
    (folder / "data").mkdir()
    found, way_out = refused(capsys, folder, *arguments.split())
    assert error in found
    assert hint is None or str(way_out).startswith(hint) or hint in str(way_out)


@pytest.mark.parametrize(
    ("content", "error", "hint"),
    [
        ("", "s.csv: is empty", None),
        ("\n\n", "s.csv: is empty", None),
        ("agent,game,seed,score\n", "s.csv: holds no scores", "write rows"),
        ("agent,seed,score\na,0,1\n", "s.csv, line 1: no column 'game'", "long form"),
        ("agent,game,seed\na,pong,0\n", "s.csv, line 1: no column 'score'", "long form"),
        ("game,score\npong,1\npong\n", "s.csv, line 3: 1 cell where the header has 2", "write"),
        ("game,score\npong,1\nalien,high\n", "s.csv, line 3: score 'high' is not a number", ""),
        ("game,score\npong,nan\n", "s.csv, line 2: score 'nan' is not finite", "leave the row"),
        ("game,score\npong,-inf\n", "s.csv, line 2: score '-inf' is not finite", "leave"),
        ("game,score\npong,\n", "s.csv, line 2: blank score", "leave the row out"),
        ("game,score\npogn,1\n", "s.csv, line 2: unknown game 'pogn'", "did you mean 'pong'?"),
        ("game,seed,score\npong,x,1\n", "s.csv, line 2: seed 'x' is not a whole number", None),
        (
            "game,score\npong,1\nalien,2\nPong,3\n",
            "s.csv: lines 2 and 4 both give agent 's', game 'pong', seed 0",
            "number several seeds in a seed column",
        ),
        (b"game,score\npong,\xe9\n", "s.csv, line 2: byte 0xe9 is not UTF-8", "save it as UTF-8"),
        ("game,score\npong,1\n".encode("utf-16"), "s.csv: is UTF-16, not UTF-8", "save it as"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "s.csv: is a binary file, not a table", "a table is CSV"),
        ('{"pong": "x"}', "s.csv: 's', 'pong': not a number", "write ["),
        ('[{"game": "pong"', "s.csv, line 1: not JSON", None),
    ],
)
@pytest.mark.parametrize("command", ["score", "compare"])
def test_bad_tables(
    capsys: Capture,
    folder: Path,
    command: str,
    content: str | bytes,
    error: str,
    hint: str | None,
) -> None:
    (folder / "s.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    found, way_out = refused(capsys, folder, command, "s.csv", "--no-report")
    assert found.startswith(error)
    assert (way_out or "").startswith(hint or "")


def test_a_run_directory_that_is_a_file(capsys: Capture, folder: Path) -> None:
    (folder / "s.csv").write_text(LONG)
    for arguments in (["score", "s.csv"], ["compare", "agent57"], ["eval", "--agent", "noop"]):
        assert refused(capsys, folder, *arguments, "--out", "s.csv") == (
            "s.csv is a file", "choose a directory with --out DIR",
        )  # fmt: skip
        found, _ = refused(capsys, folder, *arguments, "--out", "s.csv/run")
        assert "s.csv/run" in found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder root cannot write to")
def test_a_run_directory_that_cannot_be_written(capsys: Capture, folder: Path) -> None:
    (folder / "s.csv").write_text(LONG)
    found, _ = refused(capsys, folder, "score", "s.csv", "--out", "/proc/self/run")
    assert "/proc/self/run" in found


def test_a_run_directory_with_something_else_in_it(capsys: Capture, folder: Path) -> None:
    (folder / "s.csv").write_text(LONG)
    found, hint = refused(capsys, folder, "score", "s.csv", "--out", ".")
    assert found == ". is not a run directory: it has no result.json"
    assert hint == "choose an empty or new directory with --out DIR"


def evaluation_of(folder: Path, metrics: str) -> Path:
    """Write an interrupted evaluation with this metrics.jsonl, as a killed command leaves it."""
    path = folder / "run"
    assert main.run_command(["atari", "eval", "--agent", "agent57", "--no-report", "-q",
                             "--out", str(path)]) == 0  # fmt: skip
    config = json.loads((path / "config.json").read_text())
    config |= {"agent": "noop", "games": "pong", "episodes": 2}
    (path / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    result = json.loads((path / "result.json").read_text())
    (path / "result.json").write_text(json.dumps({**result, "status": "interrupted"}))
    (path / "metrics.jsonl").write_text(metrics)
    return path


GOOD_LINE = json.dumps(
    {"game": "pong", "seed": 0, "episode": 0, "score": -21, "frames": 4000, "end": "game over"}
)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "line 2 is not a JSON object, the file is damaged"),
        ("[]", "line 2 is not a JSON object, the file is damaged"),
        ("{}", "line 2 is not the record of an episode"),
        (GOOD_LINE.replace("-21", '"-21"'), "line 2 is not the record of an episode"),
        (GOOD_LINE.replace(', "end": "game over"', ""), "line 2 is not the record of an episode"),
    ],
)
def test_a_corrupt_resume_file_is_left_as_it_is(
    capsys: Capture, folder: Path, line: str, error: str
) -> None:
    path = evaluation_of(folder, f"{GOOD_LINE}\n{line}\n")
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    capsys.readouterr()
    assert main.run_command(["runs", "resume", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert error in err.splitlines()[0]
    assert str(path / "metrics.jsonl") in err.splitlines()[0]
    assert err.splitlines()[1].startswith("hint: delete that line to go on without it")
    assert "Traceback" not in err
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before


# Good paths


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wide.csv", WIDE),
        ("across.csv", AGENTS_ACROSS),
        ("table.tsv", WIDE.replace(",", "\t")),
        (
            "table.json",
            '{"a": {"pong": 1.5, "breakout": [10]}, "b": {"pong": -3, "breakout": 864}}',
        ),
        (
            "rows.json",
            json.dumps([dict(row) for row in csv.DictReader(LONG.splitlines())]),
        ),
    ],
)
def test_every_form_of_a_table_gives_the_same_numbers(
    run: Callable[..., dict[str, Any]], folder: Path, name: str, content: str
) -> None:
    (folder / "long.csv").write_text(LONG)
    (folder / name).write_text(content)
    long, other = score(run, "score", "long.csv"), score(run, "score", name)
    assert long["metrics"] == other["metrics"]
    for expected, found in zip(long["tables"]["agents"], other["tables"]["agents"], strict=True):
        assert expected["games"] == found["games"]
    assert values(long)["b/records_broken"] == 1
    assert values(long)["a/hwrns_mean"] == pytest.approx(
        ((1.5 + 20.7) / (21 + 20.7) + (10 - 1.7) / (864 - 1.7)) / 2
    )


def test_scores_are_read_from_a_pipe(
    run: Callable[..., dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "s.csv").write_text(LONG)
    expected = score(run, "score", "s.csv")
    with (folder / "s.csv").open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert score(run, "score", "-")["metrics"] == expected["metrics"]


def test_games_and_agents_are_listed_whole(run: Callable[..., dict[str, Any]]) -> None:
    games = run("games")["tables"]["games"]
    assert len(games) == 57
    assert [row["game"] for row in games if row["record"] is None] == ["surround"]
    assert games == sorted(games, key=lambda row: row["game"])
    five = run("games", "--games", "atari5")["tables"]["games"]
    assert [row["game"] for row in five] == [
        "battle_zone", "double_dunk", "name_this_game", "phoenix", "qbert",
    ]  # fmt: skip
    agents = run("agents")["tables"]
    assert [row["agent"] for row in agents["runnable"]][:2] == ["random", "noop"]
    assert len(agents["published"]) == 16


@pytest.mark.parametrize(
    ("agent", "metric", "shown"),
    [
        ("agent57", "hns_mean", "4766"),
        ("agent57", "hns_median", "1933"),
        ("agent57", "records_broken", "18"),
        ("r2d2", "hns_mean", "4025"),
        ("r2d2", "hns_median", "1923"),
        ("impala", "hns_mean", "957.3"),
        ("impala", "hns_median", "191.8"),
        ("dreamerv2", "hwrns_mean", "43.8"),
        ("gdi_h3", "records_broken", "22"),
    ],
)
def test_published_figures(
    run: Callable[..., dict[str, Any]], agent: str, metric: str, shown: str
) -> None:
    scale = 1 if metric == "records_broken" else 100
    digits = len(shown.partition(".")[2])
    # 1,933.5 is cut to 1933 in the paper's text; the other figures are rounded.
    half = 0.51 if shown == "1933" else 0.5
    for command in (("compare", agent), ("eval", "--agent", agent)):
        found = scale * values(score(run, *command))[metric]
        assert found == pytest.approx(float(shown), abs=half * 10**-digits)


def test_ties_decide_on_four_of_gdi_h3s_records(run: Callable[..., dict[str, Any]]) -> None:
    strict = score(run, "compare", "gdi_h3", "--ties", "strict")
    assert values(strict)["records_broken"] == 18
    assert strict["protocol"]["ties"] == "strict"


@pytest.mark.parametrize(
    "agents", ["agent57", "agent57 muzero", "agent57 muzero r2d2 ngu gdi_h3 gdi_i3"]
)
def test_five_games_predict_the_median_of_57(capsys: Capture, folder: Path, agents: str) -> None:
    command = ["atari", "compare", *agents.split(), "--games", "atari5", "--no-report"]
    assert main.run_command(command) == 0
    assert "Atari-57 median HNS, predicted" in capsys.readouterr().out
    assert main.run_command([*command[:-3], "--games", "common", "--no-report"]) == 0
    assert "predicted" not in capsys.readouterr().out


def test_records_of_ones_own(run: Callable[..., dict[str, Any]], folder: Path) -> None:
    (folder / "s.csv").write_text(LONG)
    (folder / "mine.csv").write_text("game,record,random\nBreakout,10,0\n")
    document = score(run, "score", "s.csv", "--records", "mine.csv")
    assert values(document)["a/records_broken"] == 1
    assert values(document)["b/hwrns_mean"] == 86.4
    assert document["metrics"]["a/hwrns_mean"]["n"] == 1
    assert document["protocol"]["records"] == "mine.csv"
    assert "record: mine.csv (1 games)" in document["protocol"]["references"]
    assert "no record in mine.csv for Pong: left out of record metrics" in document["notes"]


def test_frames_give_learning_efficiency_and_game_time(
    capsys: Capture, run: Callable[..., dict[str, Any]], folder: Path
) -> None:
    (folder / "s.csv").write_text("game,seed,score,frames\npong,0,14.6,2e8\nbreakout,0,30.5,2e8\n")
    (agent,) = score(run, "score", "s.csv")["tables"]["agents"]
    assert agent["learning_efficiency"]["hns_mean"] == pytest.approx(1 / 2e8)
    assert agent["game_days"] == pytest.approx(38.58, abs=0.01)
    for metric, name in (("hns", "HNS"), ("hwr", "HWRNS")):
        capsys.readouterr()
        assert main.run_command(["atari", "score", "s.csv", "--no-report", "--metric", metric]) == 0
        out = capsys.readouterr().out
        assert re.search(rf"^{name} mean per frame +[\d.]+e-09", out, re.MULTILINE)
        assert re.search(r"^training, game time +38\.6 days", out, re.MULTILINE)


def test_three_seeds_give_intervals_and_two_do_not(
    run: Callable[..., dict[str, Any]], folder: Path
) -> None:
    rows = [f"pong,{seed},{seed * 3}" for seed in range(3)]
    (folder / "two.csv").write_text("\n".join(["game,seed,score", *rows[:2]]))
    (folder / "three.csv").write_text("\n".join(["game,seed,score", *rows]))
    two, three = score(run, "score", "two.csv"), score(run, "score", "three.csv")
    assert two["metrics"]["hns_mean"]["ci95"] is None
    low, high = three["metrics"]["hns_mean"]["ci95"]
    assert low < three["metrics"]["hns_mean"]["value"] < high


# Tables on a terminal of 80 columns, and in a pipe

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(*arguments: str, columns: int = 80) -> str:
    """Return what a command draws on a terminal, as text."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    with subprocess.Popen(
        [*MLSCALE, "atari", *arguments], stdout=follower, stderr=subprocess.DEVNULL, env=env
    ) as process:
        os.close(follower)
        parts = []
        with contextlib.suppress(OSError):  # how a terminal says that its other end is closed
            while part := os.read(leader, 65536):
                parts.append(part)
        os.close(leader)
    assert process.returncode == 0
    return b"".join(parts).decode()


WITH_SEEDS = "agent,game,seed,score\n" + "".join(
    f"{agent},{game},{seed},{seed}\n"
    for agent in ("my_own_agent", "another_agent", "a_third_agent_of_mine", "the_fourth_of_them")
    for game in ("pong", "montezuma_revenge")
    for seed in range(3)
)


@pytest.mark.parametrize(
    "arguments",
    [
        "games",
        "agents",
        "compare agent57 --metric all --no-report",
        "compare agent57 muzero --metric all --no-report",
        "compare agent57 muzero r2d2 ngu dreamerv2 --metric all --no-report",
        "compare agent57 muzero r2d2 ngu dreamerv2 go_explore gdi_h3 gdi_i3 laser_no_sweep"
        " muzero_res2 rainbow --metric all --no-report",
        "score s.csv --no-report --metric all --resamples 100",
    ],
)
def test_tables_fit_a_terminal_of_80_columns(folder: Path, arguments: str) -> None:
    (folder / "s.csv").write_text(WITH_SEEDS)
    drawn = on_terminal(*arguments.split())
    plain = CONTROL.sub("", drawn)
    lines = [line.rstrip() for line in plain.replace("\r\n", "\n").split("\n")]
    assert max(map(len, lines)) <= 80
    assert "\x1b[1m" in drawn  # headers stand out
    # A folded cell shows as a number without its sign, a sign alone, or a bare fragment.
    tables = itertools.takewhile(lambda line: not line.startswith("records "), lines)
    folded = [line for line in tables if re.fullmatch(r"[\s%]+|\s*\w{1,4}|(\s+%)+\s*", line)]
    assert [line for line in folded if line.strip()] == []
    for line in lines:
        if line.startswith(("HNS median ", "HWRNS median ", "SABER IQM ")):
            assert "%" in line


def test_a_pipe_has_no_control_codes_and_no_folded_lines(folder: Path) -> None:
    (folder / "s.csv").write_text(WITH_SEEDS)
    for arguments in ("games", "agents", "score s.csv --no-report --resamples 100 --metric all"):
        env = {**os.environ, "COLUMNS": "40", "TERM": "xterm-256color"}
        done = subprocess.run(
            [*MLSCALE, "atari", *arguments.split()],
            capture_output=True, text=True, env=env, check=True,
        )  # fmt: skip
        assert "\x1b" not in done.stdout + done.stderr
        assert "\r" not in done.stdout + done.stderr
        first = done.stdout.splitlines()[0]
        assert len(first.split()) >= 2 or arguments == "agents"
    assert re.search(r"^HNS mean( +[\d.-]+ %){4}$", done.stdout, re.MULTILINE)


# Episodes through the real command; each starts workers and emulators, so they are few


def test_the_example_of_the_documentation_runs(folder: Path) -> None:
    text = (ROOT / "docs" / "atari.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (folder / "my_module.py").write_text(block)
    assert "--agent my_module:make_agent" in text
    assert "--agent my_module:make_agent" in (ROOT / "README.md").read_text()
    arguments = (
        "atari eval --agent my_module:make_agent --protocol saber --games pong --episodes 2"
        " --max-frames 400 --no-report --json --out run"
    )
    done = subprocess.run(
        [Path(sys.executable).with_name("mlscale"), *arguments.split()],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    (row,) = document["tables"]["agents"][0]["games"]
    assert (row["game"], row["episodes"], row["frames"]) == ("pong", 2, 800)
    assert row["ends"] == {"frame cap": 2}


def test_the_tiny_preset_plays_two_games(run: Callable[..., dict[str, Any]], folder: Path) -> None:
    document = run("eval", "--preset", "tiny", "--no-report", "--out", "run")
    (agent,) = document["tables"]["agents"]
    assert agent["agent"] == "random"
    assert {row["game"]: row["episodes"] for row in agent["games"]} == {"breakout": 2, "pong": 2}
    assert all(row["frames"] <= 2 * 2_000 for row in agent["games"])
    assert "episodes are cut off at 2000 frames, not by the protocol" in document["notes"]
    records = read_records(folder / "run" / "metrics.jsonl")
    assert sorted((r["game"], r["episode"]) for r in records) == [
        ("breakout", 0), ("breakout", 1), ("pong", 0), ("pong", 1),
    ]  # fmt: skip


def test_a_bad_agent_file_leaves_no_run(capsys: Capture, folder: Path) -> None:
    (folder / "p.pt2").write_bytes(b"no program")
    arguments = "eval --agent p.pt2 --trust --games pong -q"
    found, hint = refused(capsys, folder, *arguments.split())
    assert found.startswith("pong/0: p.pt2 is not a torch.export program: ")
    assert hint == "save one with torch.export.save"


def test_what_rounds_to_zero_has_no_minus() -> None:
    from mlscale.cli.atari_tables import _interval, _percent

    assert _percent(-0.0001) == "0.0 %"
    assert _percent(-0.0016) == "-0.2 %"
    assert _interval("hwrns_mean", [-0.0004, -0.0002]) == "0.0 to 0.0 %"
