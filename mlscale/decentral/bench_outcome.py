"""The result of a benchmark, or of stored trainings side by side."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.core.results import Metric, Result
from mlscale.decentral.bench_summary import Bootstrap, cell_rows, correlations, tensor_rows
from mlscale.decentral.bench_verdict import verdicts
from mlscale.decentral.topology import topology_of
from mlscale.decentral.trainings import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.decentral.bench_cells import Scale
    from mlscale.decentral.bench_config import BenchConfig
    from mlscale.decentral.config import TrainConfig
    from mlscale.decentral.graphs.mixing import Graph
    from mlscale.decentral.trainings import Training

HEADLINE = ("accuracy", "local_accuracy", "disagreement", "gini", "sent_bytes_per_step")
CONVENTIONS = {
    "accuracy": "of the mean model on all test examples, after the last epoch",
    "connections": "the most replicas that one hears in a step, mean over epochs",
    "dispersion": "of each parameter tensor's norm over replicas, before mixing in the last step "
    "of an epoch; mean over tensors and epochs",
    "difference": "to all-reduce with the same seed, so from the same weights and batches",
    "correlation": "Spearman's over graphs, of each seed; then the mean over seeds",
    "interval": "95 % percentile bootstrap over seeds; of few seeds it is too narrow",
}
"""What the numbers mean."""


def outcome(
    run: Run,
    trainings: Sequence[Training],
    config: BenchConfig,
    *,
    scales: Sequence[Scale],
    status: Status,
) -> Result:
    """Return the result of a benchmark's trainings, and write its report.

    Args:
        run: Takes the report.
        trainings: All of them, those that failed included.
        config: The benchmark.
        scales: How long trainings were.
        status: "failed" where some are missing.
    """
    protocol = {
        "task": config.task,
        "seeds": config.seeds,
        "replicas": config.replicas,
        "lr": config.lr,
        "lr_scaling": config.lr_scaling,
        "split": config.split,
        "examples": ", ".join(f"{scale.examples:,} at n = {scale.n}" for scale in scales),
    }
    result = side_by_side(
        run.study,
        trainings,
        Bootstrap(config.resamples, config.seed),
        protocol=protocol,
        status=status,
        scales=[dataclasses.asdict(scale) | {"examples": scale.examples} for scale in scales],
    )
    if config.report and run.path is not None:
        from mlscale.decentral.bench_report import write_report

        fewest = min(scales, key=lambda scale: scale.n)
        drawn = [
            config.training("atc", graph, fewest.n, seed=config.seed, epochs=fewest.epochs)
            for graph in config.graphs
        ]
        write_report(run, result, graphs_to_draw(drawn), title=f"DBench on {config.task}")
    return result


def side_by_side(
    study: str,
    trainings: Sequence[Training],
    how: Bootstrap,
    *,
    protocol: Mapping[str, Any],
    status: Status = "complete",
    scales: Sequence[Mapping[str, Any]] = (),
) -> Result:
    """Return trainings compared: a row for each cell, correlations, and what they say.

    Args:
        study: The study's name.
        trainings: With any number of seeds.
        how: How intervals are made.
        protocol: What they have in common.
        status: Of the result.
        scales: How long they were at each number of replicas, where that is known.
    """
    rows = cell_rows(trainings, how)
    correlated = correlations(rows, how)
    metrics = {
        f"{row['algorithm']}/{row['label']}/n{row['n']}/{name}": Metric(
            row[name]["mean"], MEASURES[name], len(row["seeds"]), row[name]["ci95"]
        )
        for row in rows
        for name in HEADLINE
        if row[name] is not None
    }
    return Result(
        study=study,
        metrics=metrics,
        protocol={**protocol, **CONVENTIONS},
        tables={
            "cells": rows,
            "correlations": correlated,
            "tensors": tensor_rows(trainings),
            "verdict": verdicts(rows, correlated, how),
            "scales": list(scales),
        },
        status=status,
    )


def graphs_to_draw(trainings: Sequence[TrainConfig]) -> dict[str, Graph]:
    """Return the graphs of trainings with the fewest replicas by title; of Ada both ends."""
    fewest = min((training.gpus for training in trainings), default=0)
    found: dict[str, Graph] = {}
    for training in trainings:
        if training.gpus == fewest:
            with suppress(UserError):  # there is none of so many, or its file is gone
                stages = topology_of(training).stages
                for epoch, graph in (stages[0], stages[-1])[: len(stages)]:
                    when = f", epoch {epoch + 1}" if len(stages) > 1 else ""
                    found.setdefault(f"{training.graph}{when}", graph)
    return found
