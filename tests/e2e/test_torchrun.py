"""`mlscale decentral train` under torchrun: many processes, one run, on one machine or two."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from mlscale.core.checkpoints import checkpoint_steps

pytestmark = pytest.mark.slow

TIMEOUT_S = 900
TRAIN = ["-m", "mlscale", "decentral", "train", "--max-train", "256", "--batch", "16"]
TIMES = ("seconds", "waited_s")


def torchrun(*arguments: str, processes: int = 2) -> list[str]:
    local = [] if "--nnodes" in arguments else ["--standalone"]
    return [
        sys.executable, "-m", "torch.distributed.run", *local,
        "--nproc-per-node", str(processes), *arguments,
    ]  # fmt: skip


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def records(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [
        {name: value for name, value in json.loads(line).items() if name not in TIMES}
        for line in lines
    ]


def result(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return document


def test_torchrun_trains_as_processes_do(tmp_path: Path) -> None:
    launched = run(torchrun(*TRAIN, "--epochs", "2", "--out", "launched", "--json"), tmp_path)
    assert launched.returncode == 0, launched.stderr
    assert json.loads(launched.stdout)["config"]["gpus"] == 2  # one document: rank 0's
    alone = run([sys.executable, *TRAIN, "--epochs", "2", "--gpus", "2", "--out", "own"], tmp_path)
    assert alone.returncode == 0, alone.stderr
    assert records(tmp_path / "launched") == records(tmp_path / "own")
    models = [load_file(tmp_path / name / "model.safetensors") for name in ("launched", "own")]
    for name, values in models[0].items():
        np.testing.assert_array_equal(values, models[1][name])


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_two_machines_share_one_run(tmp_path: Path) -> None:
    meeting = [
        "--nnodes", "2", "--rdzv-backend", "c10d", "--rdzv-id", "test",
        "--rdzv-endpoint", f"127.0.0.1:{free_port()}", "--local-addr", "127.0.0.1",
    ]  # fmt: skip
    command = torchrun(*meeting, *TRAIN, "--epochs", "2", "--out", "shared", processes=1)
    agents = [
        subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [agent.communicate(timeout=TIMEOUT_S) for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], said
    assert sorted(bool(out) for out, _ in said) == [False, True]
    assert [record["epoch"] for record in records(tmp_path / "shared")] == [1, 2]
    for rank in range(2):
        assert checkpoint_steps(tmp_path / "shared" / "checkpoints" / f"rank-{rank}") == [1, 2]


def test_a_refusal_is_said_once(tmp_path: Path) -> None:
    done = run(torchrun(*TRAIN, "--gpus", "8"), tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1
    assert "error: --gpus 8 is not the 2 processes that torchrun has started\n" in done.stderr
    assert not (tmp_path / "runs" / "decentral.train").exists() or not any(
        (tmp_path / "runs" / "decentral.train").iterdir()
    )


def test_a_divergence_is_heard_and_recorded(tmp_path: Path) -> None:
    done = run(torchrun(*TRAIN, "--lr", "1e30", "--out", "wild"), tmp_path)
    assert done.returncode != 0
    assert "training diverged: the loss became" in done.stderr
    assert result(tmp_path / "wild")["status"] == "failed"


def worker(folder: Path, rank: int) -> int:
    """Return the process of a rank that has its own checkpoint folder below `folder`."""
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, NotADirectoryError):
            continue
        if f"RANK={rank}".encode() in environment and str(folder).encode() in command:
            return int(entry.name)
    raise AssertionError(f"no process of rank {rank}")


def test_a_killed_rank_ends_the_run_which_goes_on_anywhere(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    training = [*TRAIN, "--epochs", "40", "--out", str(folder)]
    launch = subprocess.Popen(
        torchrun(*training, processes=3),
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (folder / "metrics.jsonl").exists() or len(records(folder)) < 2:
        assert time.monotonic() < deadline_s
        assert launch.poll() is None
        time.sleep(0.02)
    os.kill(worker(folder, 2), signal.SIGKILL)
    _, said = launch.communicate(timeout=TIMEOUT_S)
    assert launch.returncode != 0
    # torchrun, which says who was killed, may end rank 0 before it has noticed or spoken.
    assert "SIGKILL" in said
    assert result(folder)["status"] in ("failed", "interrupted")
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) <= 1
    for line in errors:
        assert re.match("error: (rank 2|another rank) is gone; the checkpoint of epoch", line)

    resumed = run([sys.executable, "-m", "mlscale", "runs", "resume", str(folder)], tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "note: goes on from the checkpoint of epoch" in resumed.stderr
    whole = run([sys.executable, *TRAIN, "--epochs", "40", "--gpus", "3", "--out", "w"], tmp_path)
    assert whole.returncode == 0, whole.stderr
    assert records(folder) == records(tmp_path / "w")
