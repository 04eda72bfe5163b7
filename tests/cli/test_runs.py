"""`mlscale runs`: list, show and resume."""

import json
from pathlib import Path

import pytest

from mlscale.cli import main

TABLE = "agent,game,seed,score\na,pong,0,1\na,breakout,0,10\n"

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(TABLE)
    return tmp_path


def score(out: str) -> None:
    assert main.run_command(["atari", "score", "s.csv", "--no-report", "-q", "--out", out]) == 0


def set_status(out: str, status: str) -> None:
    file = Path(out) / "result.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "status": status}))


def test_no_runs_yet_is_no_error(capsys: Capture) -> None:
    assert main.run_command(["runs", "list"]) == 0
    assert capsys.readouterr() == ("no runs here\n", "")


def test_a_folder_that_is_not_there_is_one(capsys: Capture) -> None:
    assert main.run_command(["runs", "list", "nosuch"]) == 2
    assert capsys.readouterr() == ("", "error: nosuch: no such directory\n")


@pytest.mark.parametrize("name", ["runs/plain", "runs/[/x]", "runs/[bold]:smile:"])
def test_list_and_show_take_any_name(capsys: Capture, name: str) -> None:
    score(name)
    shown = capsys.readouterr().out
    assert main.run_command(["runs", "list"]) == 0
    out, err = capsys.readouterr()
    header, row = (line.split() for line in out.splitlines())
    assert err == ""
    assert header == ["study", "status", "seconds", "run"]
    assert (row[0], row[1], row[3]) == ("atari.score", "complete", name)
    assert main.run_command(["runs", "show", name]) == 0
    assert capsys.readouterr() == (shown, "")


def test_list_counts_nested_runs_and_passes_over_what_is_none(capsys: Capture) -> None:
    score("w/a/20260102T000000Z-x-s0")
    score("w/b/20260101T000000Z-x-s0")
    set_status("w/a/20260102T000000Z-x-s0", "interrupted")
    Path("w/c").mkdir()
    Path("w/c/result.json").write_text("{")
    capsys.readouterr()
    assert main.run_command(["runs", "list", "w", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["runs"]
    assert [(row["run"], row["status"], row["seed"]) for row in rows] == [
        ("w/b/20260101T000000Z-x-s0", "complete", 0),
        ("w/a/20260102T000000Z-x-s0", "interrupted", 0),
    ]


@pytest.mark.parametrize("status", ["interrupted", "unfinished", "failed"])
def test_show_of_a_run_that_is_not_complete_says_how_to_go_on(capsys: Capture, status: str) -> None:
    score("r")
    set_status("r", status)
    capsys.readouterr()
    assert main.run_command(["runs", "show", "r"]) == 0
    shown = capsys.readouterr().out
    assert "HWRNS mean" in shown  # what was measured before it stopped
    assert shown.endswith(f"\natari.score: {status}\ngo on with: mlscale runs resume r\n")


def test_resume_completes_a_run_in_its_own_directory(capsys: Capture) -> None:
    score("r")
    complete = json.loads(Path("r/result.json").read_text())
    set_status("r", "unfinished")
    capsys.readouterr()
    assert main.run_command(["runs", "resume", "r", "--json"]) == 0
    out, _ = capsys.readouterr()
    assert out == Path("r/result.json").read_text()
    resumed = json.loads(out)
    for key in ("status", "config", "metrics", "tables", "protocol", "seed"):
        assert resumed[key] == complete[key], key
    assert not Path("runs").exists()


def test_resume_goes_nowhere_else(capsys: Capture) -> None:
    score("r")
    capsys.readouterr()
    assert main.run_command(["runs", "resume", "r", "--out", "r/../r", "-q"]) == 0
    capsys.readouterr()
    assert main.run_command(["runs", "resume", "r", "--out", "other"]) == 2
    assert capsys.readouterr() == (
        "", "error: a run goes on in its own directory\nhint: leave --out away\n",
    )  # fmt: skip
    assert not Path("other").exists()


@pytest.mark.parametrize("command", ["show", "resume"])
@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (None, "error: nosuch: no such directory"),
        (("result.json", "{"), "error: r/result.json is damaged: "),
        (("config.json", "[]"), "error: r/config.json is damaged: not a JSON object"),
    ],
)
def test_a_run_that_cannot_be_read_is_exit_2(
    capsys: Capture, command: str, spoil: tuple[str, str] | None, error: str
) -> None:
    score("r")
    if spoil:
        (Path("r") / spoil[0]).write_text(spoil[1])
    capsys.readouterr()
    assert main.run_command(["runs", command, "r" if spoil else "nosuch"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(error)
    assert len(err.splitlines()) == 2


def test_a_run_of_a_study_this_version_lacks(capsys: Capture) -> None:
    score("r")
    document = json.loads(Path("r/result.json").read_text())
    Path("r/result.json").write_text(json.dumps({**document, "study": "walk.ppo"}))
    capsys.readouterr()
    for command in ("show", "resume"):
        assert main.run_command(["runs", command, "r"]) == 2
        err = capsys.readouterr().err.splitlines()
        assert err[0] == "error: this mlscale has no study 'walk.ppo'"
        assert err[1].startswith("hint: studies: atari.games, ")


def test_a_config_with_a_key_this_version_lacks_is_named_with_its_file(capsys: Capture) -> None:
    score("r")
    config = json.loads(Path("r/config.json").read_text())
    Path("r/config.json").write_text(json.dumps({**config, "resample": 5}))
    capsys.readouterr()
    assert main.run_command(["runs", "resume", "r"]) == 2
    assert capsys.readouterr().err == (
        "error: r/config.json: unknown key 'resample'\nhint: did you mean 'resamples'?\n"
    )


def test_a_run_goes_on_from_any_folder(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score("r")
    set_status("r", "interrupted")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # its table s.csv is named from where it began
    assert main.run_command(["runs", "resume", "../r", "-q"]) == 0
    assert json.loads((tmp_path / "r" / "result.json").read_text())["status"] == "complete"
    assert not list((tmp_path / "elsewhere").iterdir())
