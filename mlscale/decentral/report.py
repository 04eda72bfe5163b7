"""`mlscale decentral report`: stored benchmarks and trainings side by side, in a new report."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core.config import from_dict, to_dict
from mlscale.core.errors import UserError
from mlscale.core.metrics_log import read_records
from mlscale.core.runs import read_run
from mlscale.decentral.algorithms.fits import GRAPHLESS
from mlscale.decentral.bench_cells import Cell
from mlscale.decentral.bench_config import BenchConfig
from mlscale.decentral.bench_outcome import graphs_to_draw, side_by_side
from mlscale.decentral.bench_report import write_report
from mlscale.decentral.bench_summary import Bootstrap
from mlscale.decentral.config import Recipe, TrainConfig
from mlscale.decentral.trainings import Training, trainings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.core.results import Result
    from mlscale.core.runs import Run
    from mlscale.decentral.report_config import ReportConfig

BENCH, TRAIN = "decentral.bench", "decentral.train"
NO_SETTING = {"seed", "data_dir", "device", "silence_limit_s"}
"""What two runs may differ in and still be seeds of the same."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A run as read back.

    Args:
        path: Where.
        settings: What was learned and how, to tell runs apart by.
        trainings: What it trained.
        drawn: Settings whose graphs are worth a drawing.
    """

    path: Path
    settings: dict[str, Any]
    trainings: list[Training]
    drawn: list[TrainConfig]


def run(config: ReportConfig, run: Run) -> Result:
    """Read the runs and write a report on all of their trainings.

    Settings in which runs differ become part of the names of what they trained.

    Raises:
        UserError: A run is none of `bench` or `train`, has no epoch, or two hold the same.
    """
    stored = [read_stored(path, run) for path in config.runs]
    trainings = _named_apart(stored)
    result = side_by_side(
        run.study,
        trainings,
        Bootstrap(config.resamples, config.seed),
        protocol=_protocol(stored),
    )
    if run.path is not None:
        graphs = graphs_to_draw([training for one in stored for training in one.drawn])
        tasks = " and ".join(dict.fromkeys(str(one.settings["task"]) for one in stored))
        write_report(run, result, graphs, title=f"Decentralised training on {tasks}")
    return result


def read_stored(path: Path, run: Run) -> Stored:
    """Read a run of `bench` or `train`.

    Args:
        path: Its directory.
        run: Told where it is not complete.

    Raises:
        UserError: It is another study's, or has no epoch yet.
    """
    found = read_run(path)
    if found.study not in (BENCH, TRAIN):
        raise UserError(
            f"{path} is a run of {found.study}, not of {BENCH} or {TRAIN}",
            "train with `mlscale decentral bench` or `mlscale decentral train`",
        )
    if found.status != "complete":
        run.note(f"{path} is {found.status}: what is there is taken")
    records = read_records(path / "metrics.jsonl")
    if not any("epoch" in record for record in records):
        raise UserError(f"{path} has no epoch yet", f"go on with: mlscale runs resume {path}")
    where = str(path / "config.json")
    if found.study == BENCH:
        bench = from_dict(BenchConfig, found.config, where=where)
        fewest = min(bench.n)
        drawn = [
            bench.training("atc", graph, fewest, seed=bench.seed, epochs=bench.epochs)
            for graph in bench.graphs
        ]
        return Stored(
            path=path,
            settings=_settings(bench),
            trainings=trainings_of(records, bench),
            drawn=drawn,
        )
    config = from_dict(TrainConfig, found.config, where=where)
    graph = None if config.algorithm in GRAPHLESS else config.graph
    # What a training cut short has learned is compared as it is, and the note above says so.
    training = Training(
        cell=Cell(config.algorithm, graph, config.gpus),
        seed=config.seed,
        epochs=records,
        outcome="trained",
    )
    return Stored(
        path=path,
        settings=_settings(config),
        trainings=[training],
        drawn=[config] if graph else [],
    )


def _settings(config: BenchConfig | TrainConfig) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(Recipe)} | {"weights", "form"}
    return {name: value for name, value in to_dict(config).items() if name in names - NO_SETTING}


def _named_apart(stored: Sequence[Stored]) -> list[Training]:
    """Return all trainings, their cells named after what sets their runs apart."""
    differing = [
        name
        for name in stored[0].settings
        if any(one.settings[name] != stored[0].settings[name] for one in stored)
    ]
    found: dict[tuple[Cell, int], Path] = {}
    trainings = []
    for one in stored:
        variant = ", ".join(f"{name} {one.settings[name]}" for name in differing)
        for training in one.trainings:
            cell = training.cell._replace(variant=variant)
            key = cell, training.seed
            if key in found:
                raise UserError(
                    f"{found[key]} and {one.path} both hold {cell.algorithm} on {cell.label}, "
                    f"n = {cell.n}, seed {training.seed}",
                    "leave one of them out",
                )
            found[key] = one.path
            trainings.append(dataclasses.replace(training, cell=cell))
    return trainings


def _protocol(stored: Sequence[Stored]) -> dict[str, Any]:
    """Return the settings that all runs share, and where they lie."""
    first = stored[0].settings
    shared = {
        name: value
        for name, value in first.items()
        if value is not None and all(one.settings[name] == value for one in stored)
    }
    return {**shared, "runs": ", ".join(str(one.path) for one in stored)}
