"""From a training to weights in a package and back, as a developer and a user run it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlscale.core.metrics_log import read_records
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.atari.jobs import make_jobs, play_job
from mlscale.rl.dqn.atari import shipped

pytestmark = pytest.mark.slow


def run(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


def evaluate(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    return run("mlscale", "atari", "eval", *arguments, "--no-report", cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a training run T and an evaluation E of it."""
    folder = tmp_path_factory.mktemp("weights")
    train = ("mlscale", "atari", "train", "--preset", "tiny", "--agent", "dqn", "--out", "T")
    done = run(*train, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = evaluate("--ckpt", "T", "--episodes", "2", "--out", "E", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def scores(records: list) -> list[tuple]:
    return sorted((record["episode"], record["score"], record["frames"]) for record in records)


def test_shipped_weights_play_the_episodes_of_their_evaluation(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("mlscale.rl.dqn.atari.ship", "T", "--evaluations", "E", "--folder", "W")
    done = run(*command, "--allow-dirty", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "| dqn | Pong | " in done.stdout
    entry = shipped.read_manifest(folder / "W")["dqn"]["pong"]
    assert entry["frames"] == 4_000
    assert entry["evaluation"]["command"] == (
        "mlscale atari eval --agent dqn --games pong --episodes 2"
    )
    monkeypatch.setattr(shipped, "DQN", shipped.shipped_agent("dqn", folder / "W"))
    (job,) = make_jobs(EvalConfig(agent="dqn", episodes=2), ["pong"])
    played = [event for event in play_job(job.payload, []) if isinstance(event, dict)]
    assert scores(played) == scores(read_records(folder / "E" / "metrics.jsonl"))


def test_an_evaluation_does_not_go_on_after_more_training(folder: Path, tmp_path: Path) -> None:
    for name in "TE":
        shutil.copytree(folder / name, tmp_path / name)
    more = ("mlscale", "atari", "train", "--config", "T/config.json", "--frames", "5k")
    assert run(*more, "--out", "T", cwd=tmp_path).returncode == 0
    before = (tmp_path / "E" / "metrics.jsonl").read_text()
    again = ("--ckpt", "T", "--episodes", "3", "--out", "E")
    done = evaluate(*again, cwd=tmp_path)
    assert done.returncode == 2
    assert "E was begun with other weights for pong" in done.stderr
    assert json.loads((tmp_path / "E" / "result.json").read_text())["status"] == "complete"
    earlier = ("--ckpt", "T/checkpoints/1000", *again[2:])
    done = evaluate(*earlier, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "E" / "metrics.jsonl").read_text().startswith(before)


def test_a_run_is_an_agent_too_and_keeps_its_actions(folder: Path, tmp_path: Path) -> None:
    where = str(folder / "T")
    quick = ("--episodes", "1", "--max-frames", "400", "--out", str(tmp_path / "run"))
    done = evaluate("--agent", where, *quick, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "dqn plays its training runs: pong after 4,000 frames" in done.stderr
    done = evaluate("--agent", where, *quick[:-1], "v5", "--protocol", "v5", cwd=tmp_path)
    assert done.returncode == 2
    assert "hint: play with --protocol saber or machado" in done.stderr
    assert not (tmp_path / "v5").exists()
