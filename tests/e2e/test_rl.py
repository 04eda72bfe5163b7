"""`mlscale rl` as a user runs it: every command's tiny preset, killed, interrupted, diverged."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlscale.core.checkpoints import checkpoint_steps
from mlscale.core.metrics_log import read_records

pytestmark = pytest.mark.slow

TRAIN = ["rl", "train", "--preset", "tiny", "--checkpoint-every-steps", "500"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlscale", *arguments]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["train"], {"config.json", "metrics.jsonl", "result.json", "checkpoints"}),
        (["explore"], {"config.json", "metrics.jsonl", "result.json"}),
        (["study", "--seeds", "1"], {"report.html", "figures"}),
    ],
)
def test_tiny_runs(arguments: list[str], files: set[str], tmp_path: Path) -> None:
    done = run("rl", *arguments, "--preset", "tiny", "--json", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "complete"
    assert files <= {path.name for path in (tmp_path / "run").iterdir()}
    assert run("runs", "show", "run", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_stopped_training_resumes_to_the_result_of_an_unbroken_one(
    number: int, code: int, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        command(*TRAIN, "--out", "stopped"), cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while not checkpoint_steps(tmp_path / "stopped" / "checkpoints"):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == code
    if number == signal.SIGINT:
        assert "mlscale runs resume stopped" in stderr
    assert run("runs", "resume", "stopped", cwd=tmp_path).returncode == 0
    assert run(*TRAIN, "--out", "whole", cwd=tmp_path).returncode == 0
    stopped, whole = (read_records(tmp_path / n / "metrics.jsonl") for n in ("stopped", "whole"))
    assert stopped == whole
    results = [json.loads((tmp_path / n / "result.json").read_text()) for n in ("stopped", "whole")]
    assert results[0]["metrics"] == results[1]["metrics"]


def test_a_training_that_diverges_fails_with_its_checkpoint_kept(tmp_path: Path) -> None:
    huge = ["--learn.lr", "1e30", "--learn.loss", "mse", "--checkpoint-every-steps", "50"]
    done = run(
        "rl", "train", "--agent", "dqn", *huge, "--steps", "2000", "--out", "run", cwd=tmp_path
    )
    assert done.returncode == 1
    assert "training diverged: the loss became" in done.stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "failed"
    assert checkpoint_steps(tmp_path / "run" / "checkpoints") == [50]


def test_an_unknown_environment_is_one_line(tmp_path: Path) -> None:
    done = run("rl", "train", "--env", "MountianCar-v0", "--out", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: unknown environment 'MountianCar-v0'\nhint: did you mean")
    assert not (tmp_path / "run").exists()
