"""The benchmark's jobs, on equal samples and resumable; its report, also from stored runs."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mlscale.core.checkpoints import checkpoint_steps
from mlscale.core.engine.jobs import Progress
from mlscale.core.errors import UserError
from mlscale.core.runs import Run, open_run
from mlscale.decentral import report
from mlscale.decentral.bench import make_jobs
from mlscale.decentral.bench_cells import Cell, make_cells, scale_at
from mlscale.decentral.bench_config import BenchConfig
from mlscale.decentral.bench_job import train_job
from mlscale.decentral.bench_outcome import outcome
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.presets import tiny_bench
from mlscale.decentral.report_config import ReportConfig
from mlscale.decentral.setup import evenly, make_setup
from mlscale.decentral.trainings import trainings_of

SMALL = BenchConfig(
    graphs=("complete", "torus", "ring", "ada"), n=(4,), seeds=3, epochs=2, max_train=128,
    resamples=200,
)  # fmt: skip


def cells_of(config: BenchConfig, run: Run | None = None) -> list[Cell]:
    return make_cells(config, run or Run("decentral.bench", config))


def payload(folder: Path | None = None, **changed: Any) -> dict[str, Any]:
    config = dataclasses.replace(SMALL, **changed)
    cells = [Cell("atc", "ring", 4)]
    (first, *_) = make_jobs(config, cells, {4: scale_at(config, 4)}, folder)
    return dict(first.payload)


def run_job(job: dict[str, Any], finished: list[Any] | None = None) -> list[dict[str, Any]]:
    """Return a job's records without how long its epochs took."""
    told = [one for one in train_job(job, finished or []) if not isinstance(one, Progress)]
    return [
        {name: value for name, value in record.items() if name != "seconds"}
        for record in told
        if record is not None
    ]


def test_replicas_are_chosen_evenly() -> None:
    assert evenly(10, 4) == [0, 2, 5, 7]
    assert evenly(3, 64) == [0, 1, 2]
    assert evenly(1008, 64)[:3] == [0, 15, 31]
    assert len(set(evenly(1008, 64))) == 64


def test_replicas_are_judged_at_the_end_alone_when_asked() -> None:
    config = TrainConfig(gpus=4, epochs=5, judged=2, judged_every_epochs=2, max_train=64)
    setup = make_setup(config)
    assert [setup.judged(epoch) for epoch in range(5)] == [[], [0, 2], [], [0, 2], [0, 2]]


def test_every_number_of_replicas_sees_as_many_examples() -> None:
    config = BenchConfig(n=(8, 64), epochs=20)
    few, many = scale_at(config, 8), scale_at(config, 64)
    # Of 1,442 digits 8 replicas take 11 batches of 16, 64 replicas one.
    assert (few.steps_per_epoch, many.steps_per_epoch) == (11, 1)
    assert (few.epochs, many.epochs) == (20, 28)
    assert abs(few.examples - 20 * 1442) <= 8 * 16 * 11 / 2
    assert abs(many.examples - 20 * 1442) <= 64 * 16 / 2


def test_what_does_not_fit_is_left_out_and_said() -> None:
    config = BenchConfig(
        graphs=("ring", "hypercube", "exp"), n=(6,), algorithms=("decentlam", "local")
    )
    run = Run("decentral.bench", config)
    assert [cell.label for cell in cells_of(config, run)] == ["all-reduce", "ring", "local"]
    assert len(run.notes) == 2
    assert run.notes[0].startswith("decentlam on hypercube left out at n = 6: ")
    config = BenchConfig(graphs=("exp",), algorithms=("decentlam",))
    with pytest.raises(UserError, match="DecentLaM diverges on exp"):
        cells_of(config)


def test_jobs_differ_in_their_graph_alone(tmp_path: Path) -> None:
    cells = cells_of(SMALL)
    jobs = make_jobs(SMALL, cells, {4: scale_at(SMALL, 4)}, tmp_path)
    assert len({job.key for job in jobs}) == len(jobs) == 5 * 3
    assert len({job.payload["folder"] for job in jobs}) == len(jobs)
    own = {"algorithm", "graph", "k0", "gamma"}
    settings = [
        {name: value for name, value in job.payload["training"].items() if name not in own}
        for job in jobs
        if job.payload["cell"]["seed"] == 1
    ]
    assert all(one == settings[0] for one in settings)
    assert settings[0]["seed"] == 1


def test_a_job_cut_off_adds_the_epochs_that_are_missing(tmp_path: Path) -> None:
    whole = run_job(payload())
    assert [record.get("epoch") for record in whole] == [1, 2, None]
    assert whole[-1] == {
        "algorithm": "atc", "graph": "ring", "n": 4, "seed": 0, "outcome": "trained"
    }  # fmt: skip
    assert (whole[0]["local_accuracy"], whole[1]["local_accuracy"] is None) == (None, False)
    assert {"gini/1.weight", "qcd/3.bias"} <= whole[0].keys()
    assert run_job(payload(), whole[:1]) == whole[1:]
    kept = payload(tmp_path)
    Path(kept["folder"]).mkdir()  # an attempt that was killed before it began
    (Path(kept["folder"]) / "metrics.jsonl").write_text("")
    assert run_job(kept) == whole
    # As if killed after the second epoch's record, before its checkpoint; the caller has none.
    folder = Path(kept["folder"])
    assert checkpoint_steps(folder / "checkpoints") == [1, 2]
    shutil.rmtree(folder / "checkpoints" / "2")
    assert checkpoint_steps(folder / "checkpoints") == [1]
    assert run_job(kept) == whole


def test_a_training_that_diverges_is_a_finding_not_a_failure() -> None:
    records = run_job(payload(lr=1e30))
    assert records[-1]["outcome"] == "diverged"
    assert records[-1]["why"].startswith("training diverged: the loss became")


def logged(run: Run, config: BenchConfig) -> None:
    """Log made-up trainings: the more connections, the better."""
    for seed in range(config.seeds):
        for k, cell in enumerate(cells_of(config)):
            names = {"algorithm": cell.algorithm, "graph": cell.graph, "n": cell.n, "seed": seed}
            for epoch in (1, 2):
                run.log({**names, **epoch_of(epoch, 0.9 - 0.1 * k + 0.01 * seed, k)})
            run.log({**names, "outcome": "trained"})


def epoch_of(epoch: int, accuracy: float, k: int) -> dict[str, Any]:
    measures = dict.fromkeys(("gini", "cv", "iod", "qcd", "disagreement"), 0.01 * k / epoch)
    tensors = {f"{name}/weight": 0.1 for name in ("gini", "cv", "iod", "qcd")}
    return {
        "epoch": epoch, "accuracy": accuracy, "local_accuracy": accuracy, "test_loss": 1.0,
        "neighbours": 5 - k, "sent_bytes_per_step": 1e4 * (5 - k), "seconds": 1.0,
        **measures, **tensors,
    }  # fmt: skip


@pytest.mark.slow
def test_the_report_holds_findings_figures_and_graphs(tmp_path: Path) -> None:
    run = open_run("decentral.bench", SMALL, out=tmp_path / "run")
    logged(run, SMALL)
    result = outcome(
        run, trainings_of(run.records), SMALL, scales=[scale_at(SMALL, 4)], status="complete"
    )
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "More connections went with better accuracy" in page
    assert page.count("<img") == 5
    assert {"accuracy_gini.svg", "disagreement.png", "graphs.svg"} <= {
        path.name for path in (tmp_path / "run" / "figures").iterdir()
    }
    assert result.metrics["atc/ring/n4/accuracy"].value == pytest.approx(0.61)
    run.finish(result)

    config = ReportConfig(runs=(tmp_path / "run",), resamples=200)
    again = open_run("decentral.report", config, out=tmp_path / "again")
    told = report.run(config, again)
    assert told.tables["cells"] == result.tables["cells"]
    assert told.tables["verdict"] == result.tables["verdict"]
    assert (tmp_path / "again" / "report.html").exists()


def stored_training(path: Path, **settings: Any) -> Path:
    config = TrainConfig(graph="ring", gpus=4, epochs=2, **settings)
    run = open_run("decentral.train", config, out=path)
    for epoch in (1, 2):
        run.log(epoch_of(epoch, 0.8, 1))
    from mlscale.core.results import Result

    run.finish(Result(study="decentral.train"))
    return path


def test_trainings_side_by_side_are_named_by_what_sets_them_apart(tmp_path: Path) -> None:
    runs = (
        stored_training(tmp_path / "a"),
        stored_training(tmp_path / "b", seed=1),
        stored_training(tmp_path / "c", lr=0.1),
    )
    config = ReportConfig(runs=runs)
    result = report.run(config, Run("decentral.report", config))
    assert [(row["label"], row["seeds"]) for row in result.tables["cells"]] == [
        ("ring, lr 0.05", [0, 1]),
        ("ring, lr 0.1", [0]),
    ]
    assert "lr" not in result.protocol
    assert result.protocol["task"] == "digits"


def test_runs_that_cannot_be_set_side_by_side(tmp_path: Path) -> None:
    first, same = stored_training(tmp_path / "a"), stored_training(tmp_path / "b")
    config = ReportConfig(runs=(first, same))
    with pytest.raises(UserError, match="both hold atc on ring, n = 4, seed 0"):
        report.run(config, Run("decentral.report", config))
    document = json.loads((same / "result.json").read_text())
    (same / "result.json").write_text(json.dumps(document | {"study": "rl.train"}))
    with pytest.raises(UserError, match=r"is a run of rl\.train"):
        report.read_stored(same, Run("decentral.report", config))
    (first / "metrics.jsonl").write_text("")
    with pytest.raises(UserError, match="has no epoch yet"):
        report.read_stored(first, Run("decentral.report", config))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graphs": ("rng",)}, "unknown graph 'rng'"),
        ({"graphs": ("ada", "ada")}, "named twice"),
        ({"n": ()}, "--n must name"),
        ({"n": (1,)}, "--n must be at least 2"),
        ({"algorithms": ()}, "--algorithms must name"),
        ({"algorithms": ("act",)}, "cannot be 'act'"),
        ({"replicas": "processes", "engine": "ray"}, "not on Ray"),
    ],
)
def test_settings_that_are_wrong(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        BenchConfig(**settings)


def test_the_tiny_preset_is_small() -> None:
    config = tiny_bench()
    assert len(cells_of(config)) * config.seeds == 12
