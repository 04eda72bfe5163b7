"""`mlscale atari train` as a user runs it: a quick run, killed, given more frames, refused."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint
from mlscale.core.metrics_log import read_records

pytestmark = pytest.mark.slow

TRAIN = ["atari", "train", "--preset", "tiny", "--game", "breakout", "--agent", "dqn_mbe"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlscale", *arguments]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=240, check=False
    )


def assert_equal_runs(one: Path, other: Path, step: int) -> None:
    records = [read_records(path / "metrics.jsonl") for path in (one, other)]
    assert records[0] == records[1]
    assert records[0]
    (tensors, state), (their_tensors, their_state) = (
        load_checkpoint(path / "checkpoints", step) for path in (one, other)
    )
    assert state == their_state
    for name, tensor in tensors.items():
        assert tensor.equal(their_tensors[name]), name


def test_a_killed_training_resumes_to_the_same_weights(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(*TRAIN, "--out", "killed"), cwd=tmp_path, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 120
    while not checkpoint_steps(tmp_path / "killed" / "checkpoints"):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    resumed = run("runs", "resume", "killed", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "goes on from the checkpoint of step 500" in resumed.stderr
    whole = run(*TRAIN, "--out", "whole", "--json", cwd=tmp_path)
    assert json.loads(whole.stdout)["status"] == "complete"
    assert_equal_runs(tmp_path / "killed", tmp_path / "whole", 1_000)


def test_more_frames_go_on_where_fewer_ended(tmp_path: Path) -> None:
    for frames in ("2k", "4k"):
        done = run(*TRAIN, "--frames", frames, "--out", "longer", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert run(*TRAIN, "--out", "whole", cwd=tmp_path).returncode == 0
    assert_equal_runs(tmp_path / "longer", tmp_path / "whole", 1_000)


def test_a_game_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    done = run("atari", "train", "--game", "pongg", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown game 'pongg'\nhint: did you mean")
    assert not (tmp_path / "run").exists()


def test_a_game_may_be_named_as_papers_do_and_lanes_may_be_many(tmp_path: Path) -> None:
    arguments = ["--game", "ALE/Breakout-v5", "--lanes", "48", "--frames", "2k"]
    done = run("atari", "train", *arguments, "--out", "run", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["protocol"]["game"] == "breakout"
