"""Processes that rank 0 leads: no directory, no speech, but for an error of their own."""

import signal
from pathlib import Path
from typing import Any

import pytest

from mlscale.cli import main
from mlscale.cli.studies import Study
from mlscale.core import torchrun
from mlscale.core.errors import WorkFailed
from mlscale.core.results import Result
from mlscale.core.runs import Run
from mlscale.core.torchrun import ToldElsewhereError

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def rank_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = {"RANK": 1, "WORLD_SIZE": 2, "LOCAL_RANK": 1, "LOCAL_WORLD_SIZE": 2}
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setattr(main, "LEADS_FIRST_S", 0.0)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.chdir(tmp_path)


def train(monkeypatch: pytest.MonkeyPatch, run: Any, *arguments: str) -> int:
    def load(reference: str) -> Any:
        assert reference == "mlscale.decentral.train:run"
        return run

    monkeypatch.setattr("mlscale.cli.follow.load", load)
    return main.run_command(["decentral", "train", *arguments])


def test_a_follower_works_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    def run(config: Any, run: Run) -> Result:
        assert config.gpus == 2  # of torchrun, over the preset's
        assert run.path is None
        run.note("not to be heard")
        return Result(study=run.study)

    assert train(monkeypatch, run, "--preset", "tiny", "--out", "here") == 0
    assert tuple(capsys.readouterr()) == ("", "")
    assert not any(tmp_path.iterdir())


def test_what_the_user_sets_is_not_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(config: Any, run: Run) -> Result:
        assert config.gpus == 3
        return Result(study=run.study)

    assert train(monkeypatch, run, "--gpus", "3") == 0


def test_an_error_of_its_own_is_heard(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def run(config: Any, run: Run) -> Result:
        raise WorkFailed("the disk is full", "free some space")

    assert train(monkeypatch, run) == 1
    said = "error: rank 1: the disk is full\nhint: free some space\n"
    assert tuple(capsys.readouterr()) == ("", said)


def test_what_is_told_elsewhere_is_not(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def run(config: Any, run: Run) -> Result:
        raise ToldElsewhereError("it lost rank 0")

    assert train(monkeypatch, run) == 1
    assert tuple(capsys.readouterr()) == ("", "")


def test_rank_0_and_studies_for_one_process_are_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {"config": "", "run": "", "render": ""}
    assert not Study(name="atari.games", **fields).leads
    monkeypatch.setenv("RANK", "0")
    assert torchrun.follows() == 0
