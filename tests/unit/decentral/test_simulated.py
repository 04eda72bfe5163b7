"""Exchanges of a simulation, and whole trainings by it: products, bytes, interruptions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.metrics_log import read_records
from mlscale.core.runs import Run, open_run
from mlscale.decentral import train
from mlscale.decentral.board import Board
from mlscale.decentral.compression.registry import CODECS
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.observer import disagreement
from mlscale.decentral.simulated import SimulatedMixer

if TYPE_CHECKING:
    from pathlib import Path

TINY = TrainConfig(gpus=3, epochs=3, batch=16, max_train=96, engine="simulate", graph="ring")


@pytest.mark.parametrize("name", ["ring", "exp", "onepeer", "complete", "star"])
@pytest.mark.parametrize("num_ranks", [8, 40])
def test_rows_are_mixed_by_the_matrix(name: str, num_ranks: int) -> None:
    graph = make_graph(name, num_ranks)
    mixer = SimulatedMixer(graph.at)
    x_NP = torch.randn(num_ranks, 5, dtype=torch.float64)
    for step in range(2):
        expected = torch.from_numpy(graph.at(step).dense()) @ x_NP
        assert torch.allclose(mixer.start(x_NP, step)(), expected, atol=1e-12)
    degrees = graph.at(0).degrees.mean() + graph.at(1).degrees.mean()
    assert mixer.traffic.sent_bytes == pytest.approx(40 * degrees)


def test_the_mean_is_sent_as_all_reduce_sends_it() -> None:
    mixer = SimulatedMixer(make_graph("ring", 4).at)
    x_NP = torch.arange(8.0).view(4, 2)
    assert mixer.mean(x_NP).tolist() == [[3, 4]] * 4
    assert mixer.traffic.sent_bytes == 2 * 8 * 3 / 4


def test_encoded_rows_depend_on_seed_rank_and_step() -> None:
    graph = make_graph("ring", 4)
    x_NP = torch.randn(1, 600).expand(4, 600)
    codec = CODECS["quantise"]
    q_NP, _ = SimulatedMixer(graph.at, seed=1).start_encoded(x_NP, 0, codec)
    same_NP, _ = SimulatedMixer(graph.at, seed=1).start_encoded(x_NP, 0, codec)
    assert torch.equal(q_NP, same_NP)
    assert not torch.equal(q_NP[0], q_NP[1])
    later_NP, _ = SimulatedMixer(graph.at, seed=1).start_encoded(x_NP, 1, codec)
    other_NP, _ = SimulatedMixer(graph.at, seed=2).start_encoded(x_NP, 0, codec)
    assert not torch.equal(q_NP, later_NP)
    assert not torch.equal(q_NP, other_NP)


def test_disagreement_by_hand() -> None:
    x_NP = np.array([[0, 0], [2, 0], [1, 3]], np.float32)
    assert disagreement(x_NP) == pytest.approx((2 + 2 + 4) / 3)


def test_the_board_keeps_rows_apart(tmp_path: Path) -> None:
    ours, theirs = (Board(tmp_path / "board", 3, 2, 1) for _ in range(2))
    theirs.post(2, np.array([1, 2], np.float32), np.array([3], np.float32))
    theirs.post(0, np.array([4, 5], np.float32), np.array([6], np.float32))
    x_NP, norms_NK = ours.take([0, 2])
    assert (x_NP.tolist(), norms_NK.tolist()) == ([[4, 5], [1, 2]], [[6], [3]])
    assert theirs.taken == 0
    ours.taken = 7
    assert theirs.taken == 7


class Stopped(Run):
    """A run in which Ctrl-C comes in some epoch's middle."""

    def stop_in(self, epoch: int) -> Stopped:
        outer = self.reporter

        class Reporter:
            def note(self, text: str) -> None:
                outer.note(text)

            def progress(self, done: float, total: float | None, text: str) -> None:
                if epoch < done < epoch + 1:
                    raise KeyboardInterrupt

        self.reporter = Reporter()
        return self


def numbers(folder: Path) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in record.items() if name != "seconds"}
        for record in read_records(folder / "metrics.jsonl")
    ]


def test_an_interrupted_simulation_goes_on_where_it_was_saved(tmp_path: Path) -> None:
    whole = open_run("decentral.train", TINY, out=tmp_path / "whole")
    whole.finish(train.run(TINY, whole))
    stopped = Stopped("decentral.train", TINY, tmp_path / "stopped")
    (tmp_path / "stopped").mkdir()
    stopped.begin()
    with pytest.raises(KeyboardInterrupt):
        train.run(TINY, stopped.stop_in(2))
    stopped.finish(train.result_of(train.make_setup(TINY), stopped, "interrupted"))
    assert len(read_records(tmp_path / "stopped" / "metrics.jsonl")) == 2
    resumed = open_run("decentral.train", TINY, out=tmp_path / "stopped")
    resumed.finish(train.run(TINY, resumed))
    assert "goes on from the checkpoint of epoch 2" in resumed.notes
    assert numbers(tmp_path / "stopped") == numbers(tmp_path / "whole")
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("stopped", "whole")]
    assert models[0] == models[1]


def test_a_seed_gives_the_same_records_and_another_one_others(tmp_path: Path) -> None:
    found = []
    for name, seed in (("one", 0), ("same", 0), ("other", 1)):
        config = TrainConfig(
            gpus=3, epochs=2, batch=16, max_train=96, engine="simulate", graph="exp", seed=seed
        )
        run = Run("decentral.train", config, None)
        train.run(config, run)
        found.append(json.dumps([{**one, "seconds": 0} for one in run.records]))
        assert name
    assert found[0] == found[1] != found[2]


def test_ada_sends_less_as_it_shrinks() -> None:
    config = TrainConfig(
        gpus=8, epochs=4, batch=4, max_train=96, engine="simulate", graph="ada", k0=7, gamma="2"
    )
    run = Run("decentral.train", config, None)
    result = train.run(config, run)
    assert [record["neighbours"] for record in run.records] == [7, 4, 2, 2]
    num_bytes = 4 * train.make_setup(config).task.make_model(0)[1].weight.numel()
    assert run.records[0]["sent_bytes_per_step"] > 7 * num_bytes
    ratio = run.records[0]["sent_bytes_per_step"] / run.records[-1]["sent_bytes_per_step"]
    assert ratio == pytest.approx(7 / 2)
    graphs = [(stage["epoch"], stage["graph"]) for stage in result.protocol["graphs"]]
    assert graphs == [(1, "complete"), (2, "lattice-4"), (3, "lattice-2")]
