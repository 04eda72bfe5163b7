"""`mlscale decentral train` as a user runs it: both engines, faults, kills, and what is left.

Shape letters: N replicas; P parameters.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from safetensors.torch import load_file

from mlscale.cli import main
from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint
from mlscale.core.metrics_log import read_records
from mlscale.core.runs import Run
from mlscale.decentral import processes, train
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.flat import Layout
from mlscale.decentral.setup import make_setup
from mlscale.decentral.tasks.registry import make_task
from mlscale.decentral.trainer import evaluate

pytestmark = pytest.mark.slow

SCHEMA = json.loads((resources.files("mlscale.core") / "result.schema.json").read_text())
TIMEOUT_S = 900
TIMES = ("seconds", "waited_s")
LONG = ["--epochs", "200", "--batch", "32"]
Capture = pytest.CaptureFixture[str]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlscale", *arguments]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def begin(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("decentral", "train", *arguments), cwd=cwd, stderr=subprocess.PIPE, text=True
    )


def wait_for_records(count: int, process: subprocess.Popen[str], folder: Path) -> None:
    deadline_s = time.monotonic() + TIMEOUT_S
    while len(read_records(folder / "metrics.jsonl")) < count:
        assert time.monotonic() < deadline_s
        if process.poll() is not None:
            raise AssertionError(process.communicate()[1])
        time.sleep(0.05)


def said(process: subprocess.Popen[str], code: int) -> str:
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code, stderr
    return stderr


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def rank_pids(process: subprocess.Popen[str]) -> list[int]:
    """Return the processes of the ranks in order: the fork server's children."""
    (pids,) = [found for child in children(process.pid) if (found := children(child))]
    return sorted(pids)


def without_times(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in record.items() if k not in TIMES} for record in records]


def trained(config: TrainConfig, folder: Path) -> torch.Tensor:
    """Return the parameters (N, P) of all replicas after a training in this process."""
    train.run(config, Run("decentral.train", config, folder))
    checkpoints = folder / "checkpoints"
    if config.engine == "simulate":
        return load_checkpoint(checkpoints, config.epochs)[0]["x"]
    rows = [
        load_checkpoint(checkpoints / f"rank-{rank}", config.epochs)[0]["x"]
        for rank in range(config.gpus)
    ]
    return torch.stack(rows)


@pytest.mark.parametrize("algorithm", ["atc", "awc", "sgp", "tracking", "choco", "allreduce"])
def test_processes_and_a_simulation_come_to_the_same_parameters(
    algorithm: str, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "gpus": 4, "epochs": 1, "batch": 32, "algorithm": algorithm, "codec": "quantise"
    }  # fmt: skip
    apart = trained(TrainConfig(engine="processes", **settings), tmp_path / "apart")
    together = trained(TrainConfig(engine="simulate", **settings), tmp_path / "together")
    errors = (apart - together).abs()
    if algorithm == "choco":
        # A sum in another order moves a few values over the edge between two levels.
        assert (errors > 1e-6).float().mean() < 0.02
        assert errors.max() < 1e-3
    else:
        assert errors.max() < 1e-6


@pytest.mark.parametrize("engine", ["processes", "simulate"])
def test_a_complete_graph_is_training_with_the_large_batch(engine: str, tmp_path: Path) -> None:
    config = TrainConfig(graph="complete", gpus=4, epochs=2, batch=32, engine=engine)  # type: ignore[arg-type]
    mixed_NP = trained(config, tmp_path / "run")
    setup = make_setup(config)
    model = setup.task.make_model(config.seed)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=config.momentum, weight_decay=config.weight_decay
    )
    for epoch in range(config.epochs):
        batches = [setup.batches(rank, epoch) for rank in range(config.gpus)]
        for step in range(setup.steps_per_epoch):
            taken = [batch.take(step) for batch in batches]
            optimizer.param_groups[0]["lr"] = setup.lr(epoch * setup.steps_per_epoch + step)
            optimizer.zero_grad()
            output = model(torch.cat([x_B for x_B, _ in taken]))
            setup.task.loss(output, torch.cat([y_B for _, y_B in taken])).backward()
            optimizer.step()
    single_P = Layout.of(model).flatten(model)
    assert torch.allclose(mixed_NP, single_P.expand_as(mixed_NP), atol=1e-5)


SHORT = ["--gpus", "2", "--epochs", "8", "--batch", "32"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for engine in ("processes", "simulate"):
        done = run("decentral", "train", *SHORT, "--engine", engine, "--out", engine, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("engine", ["processes", "simulate"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_stopped_training_resumes_to_the_result_of_an_unbroken_one(
    engine: str, number: int, code: int, whole: Path, tmp_path: Path
) -> None:
    stopped = tmp_path / "stopped"
    process = begin(*SHORT, "--engine", engine, "--out", "stopped", cwd=tmp_path)
    wait_for_records(2, process, stopped)
    process.send_signal(number)
    stderr = said(process, code)
    if number == signal.SIGINT:
        assert "hint: go on with: mlscale runs resume stopped" in stderr
        assert json.loads((stopped / "result.json").read_text())["status"] == "interrupted"
    assert len(read_records(stopped / "metrics.jsonl")) < 8
    resumed = run("runs", "resume", "stopped", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "note: goes on from the checkpoint of epoch" in resumed.stderr
    records = [read_records(folder / "metrics.jsonl") for folder in (stopped, whole / engine)]
    assert without_times(records[0]) == without_times(records[1])
    models = [load_file(folder / "model.safetensors") for folder in (stopped, whole / engine)]
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[1])


def test_what_a_run_leaves(whole: Path) -> None:
    for engine in ("processes", "simulate"):
        folder = whole / engine
        result = json.loads((folder / "result.json").read_text())
        jsonschema.validate(result, SCHEMA)
        assert result["status"] == "complete"
        records = read_records(folder / "metrics.jsonl")
        assert [record["epoch"] for record in records] == list(range(1, 9))
        assert result["metrics"]["accuracy"]["value"] == records[-1]["accuracy"]
        task = make_task("digits")
        model = task.make_model(5)
        model.load_state_dict(load_file(folder / "model.safetensors"))
        model.eval()
        with torch.no_grad():
            losses, rights = evaluate(task, task.test, lambda x, net=model: iter([net(x)]), 1)
        assert rights[0] == records[-1]["accuracy"] > 0.5
        assert losses[0] == pytest.approx(records[-1]["test_loss"])
    kept = [checkpoint_steps(whole / "processes" / "checkpoints" / f"rank-{n}") for n in (0, 1)]
    assert kept == [[7, 8], [7, 8]]


def test_a_killed_rank_stops_the_others_with_one_line(tmp_path: Path) -> None:
    process = begin("--gpus", "4", *LONG, "--out", "run", cwd=tmp_path)
    wait_for_records(2, process, tmp_path / "run")
    os.kill(rank_pids(process)[2], signal.SIGKILL)
    stderr = said(process, 1)
    (error,) = [line for line in stderr.splitlines() if line.startswith("error: ")]
    done = len(read_records(tmp_path / "run" / "metrics.jsonl"))
    assert re.fullmatch(
        r"error: rank 2: .* was killed by SIGKILL .*; "
        rf"the checkpoint of epoch {done} is kept",
        error,
    )
    assert "hint: go on with: mlscale runs resume run" in stderr
    assert "Traceback" not in stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "failed"
    for rank in range(4):
        assert done in checkpoint_steps(tmp_path / "run" / "checkpoints" / f"rank-{rank}")


def test_the_others_go_on_without_a_killed_rank_and_agree(tmp_path: Path) -> None:
    process = begin(
        "--gpus", "4", "--epochs", "40", "--batch", "32", "--on-failure", "continue",
        "--out", "run", cwd=tmp_path,
    )  # fmt: skip
    wait_for_records(2, process, tmp_path / "run")
    os.kill(rank_pids(process)[2], signal.SIGKILL)
    stderr = said(process, 0)
    assert re.search(r"note: rank 2 is gone in epoch \d+: .*SIGKILL.*3 replicas go on", stderr)
    records = read_records(tmp_path / "run" / "metrics.jsonl")
    assert [record["replicas"] for record in (records[0], records[-1])] == [4, 3]
    assert len(records) == 40
    assert records[-1]["disagreement"] < 1e-5
    assert records[-1]["accuracy"] > 0.8


def test_a_lost_rank_comes_back_when_the_run_is_resumed(tmp_path: Path) -> None:
    arguments = ["--gpus", "3", "--epochs", "60", "--batch", "32", "--on-failure", "continue"]
    process = begin(*arguments, "--out", "run", cwd=tmp_path)
    wait_for_records(2, process, tmp_path / "run")
    os.kill(rank_pids(process)[1], signal.SIGKILL)
    wait_for_records(8, process, tmp_path / "run")
    process.kill()
    process.communicate()
    resumed = run("runs", "resume", "run", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert "note: rank 1 was lost and goes on as a copy of rank 0" in resumed.stderr
    records = read_records(tmp_path / "run" / "metrics.jsonl")
    assert len(records) == 60
    assert records[-1]["replicas"] == 3


def test_a_stalled_rank_only_delays(tmp_path: Path, whole: Path) -> None:
    process = begin(*SHORT, "--out", "run", cwd=tmp_path)
    wait_for_records(1, process, tmp_path / "run")
    pid = rank_pids(process)[0]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(pid, signal.SIGCONT)
    said(process, 0)
    models = [
        load_file(folder / "model.safetensors")
        for folder in (tmp_path / "run", whole / "processes")
    ]
    assert all(torch.equal(models[0][name], models[1][name]) for name in models[1])


@pytest.mark.parametrize("engine", ["processes", "simulate"])
def test_a_training_that_diverges_fails_in_a_line(engine: str, tmp_path: Path) -> None:
    done = run(
        "decentral", "train", "--gpus", "2", "--lr", "1e9", "--engine", engine, "--out", "run",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1
    assert re.search(
        r"^error: .*training diverged: the loss became (nan|inf) in step", done.stderr, re.M
    )
    assert "hint: try a lower --lr" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "failed"


def test_checkpoints_outlive_a_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlscale.core.errors import WorkFailed

    config = TrainConfig(gpus=2, epochs=5, batch=64, engine="simulate")
    monkeypatch.setattr(
        "mlscale.decentral.setup.Setup.lr", lambda self, step: 0.1 if step < 25 else 1e30
    )
    run_ = Run("decentral.train", config, tmp_path / "run")
    with pytest.raises(WorkFailed, match="training diverged") as raised:
        train.run(config, run_)
    assert raised.value.partial is not None
    assert raised.value.partial.status == "failed"
    assert len(checkpoint_steps(tmp_path / "run" / "checkpoints")) == 2


def test_a_rank_that_cannot_begin_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(processes, "WORK", "mlscale.decentral.no_such_module:work")
    for more in ([], ["--on-failure", "continue"]):
        arguments = ["decentral", "train", "--gpus", "2", *more, "--out", f"run{len(more)}"]
        assert main.run_command(arguments) == 1
        err = capsys.readouterr().err
        (error,) = [line for line in err.splitlines() if line.startswith("error: ")]
        assert re.fullmatch(
            r"error: rank \d: ModuleNotFoundError: No module named "
            r"'mlscale.decentral.no_such_module'; no epoch was finished",
            error,
        )
        assert "Traceback" not in err


def test_one_replica_is_enough(tmp_path: Path) -> None:
    for engine in ("processes", "simulate"):
        done = run(
            "decentral", "train", "--gpus", "1", "--epochs", "3", "--engine", engine, "--json",
            cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        jsonschema.validate(result, SCHEMA)
        assert result["metrics"]["disagreement"]["value"] == 0
        assert result["metrics"]["accuracy"]["value"] > 0.5


@pytest.mark.parametrize(
    ("arguments", "edges", "message"),
    [
        (["--gpus", "0"], "", "--gpus"),
        (["--gpus", "2000"], "", "1442 training examples cannot be split over 2000 ranks"),
        (["--graph", "rings"], "", "unknown graph 'rings'"),
        (
            ["--graph", "file:edges.txt", "--gpus", "2"],
            "0 1\n1 7\n",
            "edges.txt, line 2: there is no rank 7 among 2",
        ),
        (
            ["--graph", "file:edges.txt", "--gpus", "4"],
            "0 1\n2 3\n",
            "graph 'file:edges.txt' falls into 2 parts: 0-1; 2-3",
        ),
        (["--task", "digit"], "", "unknown task 'digit'"),
        (
            ["--engine", "simulate", "--on-failure", "continue"],
            "",
            "--on-failure is for processes: a simulation has one",
        ),
        (
            ["--algorithm", "allreduce", "--on-failure", "continue"],
            "",
            "allreduce cannot go on when a replica is gone",
        ),
        (["--algorithm", "local", "--on-failure", "continue"], "", "local cannot go on"),
        (["--algorithm", "pga", "--on-failure", "continue"], "", "pga cannot go on"),
        (["--algorithm", "d2"], "", "D2 diverges on exp, which is not symmetric"),
    ],
)
def test_what_cannot_work_is_said_in_a_line_and_leaves_nothing(
    arguments: list[str],
    edges: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("edges.txt").write_text(edges)
    assert main.run_command(["decentral", "train", *arguments, "--out", "run"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert message in lines[0]
    assert len(lines) <= 2
    assert not Path("run").exists()


def test_mean_parameters_are_the_mean_of_replicas(tmp_path: Path) -> None:
    config = TrainConfig(gpus=3, epochs=1, batch=64, graph="ring", engine="simulate")
    x_NP = trained(config, tmp_path / "run")
    model = load_file(tmp_path / "run" / "model.safetensors")
    layout = Layout.of(make_task("digits").make_model(0))
    mean_P = torch.cat([model[name].flatten() for name in layout.names])
    expected_P = x_NP.double().mean(dim=0).float()
    assert np.abs((mean_P - expected_P).numpy()).max() < 1e-7
