"""`mlscale decentral bench` and `report` as a user runs them, whole and killed."""

import json
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mlscale.core.metrics_log import read_records

pytestmark = pytest.mark.slow

SCHEMA = json.loads((resources.files("mlscale.core") / "result.schema.json").read_text())
BENCH = ["decentral", "bench", "--preset", "tiny"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlscale", *arguments]


def run(*arguments: str, cwd: Path) -> dict[str, Any]:
    done = subprocess.run(
        command(*arguments, "--json"),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(document, SCHEMA)
    return document


def accuracies(document: dict[str, Any]) -> dict[str, list[float]]:
    return {row["label"]: row["accuracy"]["values"] for row in document["tables"]["cells"]}


def test_tiny_runs_and_is_reported_again(tmp_path: Path) -> None:
    document = run(*BENCH, "--out", "run", cwd=tmp_path)
    assert document["status"] == "complete"
    assert list(accuracies(document)) == ["all-reduce", "complete", "ring", "ada"]
    # The exact mean of one step each is one step with the mean gradient.
    found = accuracies(document)
    assert found["complete"] == pytest.approx(found["all-reduce"], abs=0.01)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "config.json", "metrics.jsonl", "result.json", "report.html", "figures"
    }  # fmt: skip
    again = run("decentral", "report", "run", "--out", "again", cwd=tmp_path)
    assert again["tables"]["cells"] == document["tables"]["cells"]
    assert (tmp_path / "again" / "report.html").exists()


def test_a_killed_benchmark_resumes_to_the_result_of_an_unbroken_one(tmp_path: Path) -> None:
    arguments = [*BENCH, "--seeds", "1", "--epochs", "12", "--workers", "2"]
    process = subprocess.Popen(
        command(*arguments, "--out", "killed"), cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 240
    metrics = tmp_path / "killed" / "metrics.jsonl"
    while not metrics.exists() or len(read_records(metrics)) < 5:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    resumed = run("runs", "resume", "killed", cwd=tmp_path)
    whole = run(*arguments, "--out", "whole", cwd=tmp_path)
    assert accuracies(resumed) == accuracies(whole)
    assert not (tmp_path / "killed" / "unfinished").exists()


def test_replicas_in_processes_learn_what_simulated_ones_do(tmp_path: Path) -> None:
    arguments = [*BENCH, "--graphs", "ring", "--n", "2", "--seeds", "1", "--epochs", "2"]
    found = [
        accuracies(run(*arguments, "--replicas", replicas, "--out", replicas, cwd=tmp_path))
        for replicas in ("simulate", "processes")
    ]
    assert found[0].keys() == found[1].keys()
    for label, values in found[0].items():
        assert values == pytest.approx(found[1][label], abs=0.01)
