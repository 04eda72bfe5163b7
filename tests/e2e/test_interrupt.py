"""Ctrl-C and SIGTERM in a training as a user sends them: nothing that was done is done again."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlscale.core.checkpoints import checkpoint_steps
from mlscale.core.metrics_log import read_records

pytestmark = pytest.mark.slow

TIMEOUT_S = 600
TRAIN = ["rl", "train", "--preset", "tiny"]
NO_OTHER_CHECKPOINT = ["--checkpoint-every-steps", "1000000"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlscale", *arguments]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def stop_after(num_records: int, number: int, folder: Path, *arguments: str) -> str:
    """Run a training, send it a signal after some records, and return what it said."""
    process = subprocess.Popen(
        command(*arguments, "--out", str(folder)), stderr=subprocess.PIPE, text=True
    )
    deadline_s = time.monotonic() + TIMEOUT_S
    while len(read_records(folder / "metrics.jsonl")) < num_records:
        assert time.monotonic() < deadline_s
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130, stderr
    return stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_training_goes_on_at_the_step_it_was_stopped_at(number: int, tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"
    said = stop_after(3, number, stopped, *TRAIN, *NO_OTHER_CHECKPOINT)
    (step,) = checkpoint_steps(stopped / "checkpoints")
    assert f"note: interrupted at step {step:,}: saving; Ctrl-C again stops without it" in said
    assert re.search(r"hint: go on with: mlscale runs resume \S+stopped", said)
    assert json.loads((stopped / "result.json").read_text())["status"] == "interrupted"
    done = read_records(stopped / "metrics.jsonl")
    assert len(done) >= 3
    assert step >= done[-1]["step"]

    resumed = run("runs", "resume", str(stopped), cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert f"note: goes on from the checkpoint of step {step:,}" in resumed.stderr
    whole = run(*TRAIN, *NO_OTHER_CHECKPOINT, "--out", "whole", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    records = read_records(stopped / "metrics.jsonl")
    assert records[: len(done)] == done  # none of them was played again
    assert records == read_records(tmp_path / "whole" / "metrics.jsonl")
    results = [json.loads((tmp_path / n / "result.json").read_text()) for n in ("stopped", "whole")]
    assert results[0]["metrics"] == results[1]["metrics"]
    assert results[0]["status"] == "complete"
