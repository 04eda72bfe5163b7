"""Gossip around a loop of one's own, on four ranks over gloo."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("gossip_ranks.py")
TIMEOUT_S = 600


@pytest.fixture(scope="module")
def ranks() -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert len(found) == 4
    return found


def worst(ranks: list[dict[str, Any]], name: str) -> float:
    return max(abs(found[name]) for found in ranks)


@pytest.mark.parametrize("order", ["atc", "awc"])
def test_steps_are_those_of_the_matrix(ranks: list[dict[str, Any]], order: str) -> None:
    assert worst(ranks, order) < 1e-6


@pytest.mark.parametrize("bucket_bytes", [1, 100, 10**6])
def test_overlapping_changes_nothing(ranks: list[dict[str, Any]], bucket_bytes: int) -> None:
    assert worst(ranks, f"overlap-{bucket_bytes}") < 1e-7


def test_the_mean_and_the_distance_to_it(ranks: list[dict[str, Any]]) -> None:
    assert worst(ranks, "mean") < 1e-6
    assert worst(ranks, "mean_statistics") < 1e-6
    assert worst(ranks, "disagreement") < 1e-5


def test_every_neighbour_is_sent_the_model_once_a_step(ranks: list[dict[str, Any]]) -> None:
    assert {found["sent_bytes"] for found in ranks} == {2.0}  # exp at 4 ranks: 1 and 2 before


def test_all_reduce_keeps_ranks_alike(ranks: list[dict[str, Any]]) -> None:
    assert worst(ranks, "allreduce_apart") == 0


@pytest.mark.parametrize("algorithm", ["awc", "sgp", "choco", "tracking"])
def test_a_checkpoint_goes_on_as_if_never_stopped(
    ranks: list[dict[str, Any]], algorithm: str
) -> None:
    assert worst(ranks, f"resumed-{algorithm}") < 1e-7


def test_batches_of_messages_carry_the_same(ranks: list[dict[str, Any]]) -> None:
    assert worst(ranks, "batched") == 0


def test_ranks_with_different_models_are_told(ranks: list[dict[str, Any]]) -> None:
    said = "the ranks' models have from 20 to 35 trainable parameters"
    assert {found["sizes"] for found in ranks} == {said}
