"""Trainings side by side: means over seeds, differences seed by seed, rank correlations.

Shape letters: R seeds; K epochs; B resamples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mlscale.core.seeds import over_seeds
from mlscale.core.stats import bootstrap, game_means_rows
from mlscale.decentral.bench_cells import BASELINE
from mlscale.decentral.dispersion import MEASURES as DISPERSION
from mlscale.decentral.dispersion import spearman
from mlscale.decentral.trainings import MEASURES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.core.stats import FloatArray
    from mlscale.decentral.trainings import Training

Row = dict[str, Any]
CURVES = ("accuracy", "disagreement", "gini")
CURVE_RESAMPLES = 2_000
CORRELATED = (*DISPERSION, "disagreement", "neighbours", "sent_bytes_per_step")
"""What is set against accuracy."""
FEWEST_GRAPHS = 3
"""Two graphs are in the same order or in the other one, and that says nothing."""


class Bootstrap(NamedTuple):
    """How intervals are made.

    Attributes:
        resamples: How many.
        seed: Of their draws.
    """

    resamples: int = 10_000
    seed: int = 0


def cell_rows(trainings: Sequence[Training], how: Bootstrap) -> list[Row]:
    """Return a row for each cell: its seeds, its measures with intervals, its curves.

    Trainings that diverged or are unfinished are named, and count in no mean.
    """
    rows = []
    for cell in dict.fromkeys(training.cell for training in trainings):
        own = [training for training in trainings if training.cell == cell]
        done = [one for one in own if one.outcome == "trained" and one.epochs]
        done.sort(key=lambda training: training.seed)
        row: Row = {
            **cell._asdict(),
            "label": cell.label,
            "seeds": [training.seed for training in done],
            "diverged": sorted(one.seed for one in own if one.outcome == "diverged"),
            "unfinished": sorted(one.seed for one in own if one.outcome == "unfinished"),
        }
        measured = [training.measures() for training in done]
        for name in MEASURES:
            row[name] = summary([one[name] for one in measured], how)
        if cell.graph is None:
            row["neighbours"] = None  # a mean over all is no neighbour
        row["curves"] = _curves(done, how)
        rows.append(row)
    for row in rows:
        row["difference"] = _to_baseline(row, rows, how)
    return rows


def summary(values: Sequence[float | None], how: Bootstrap) -> Row | None:
    """Return values of all seeds with their mean and its interval; None if one is missing."""
    return over_seeds(values, resamples=how.resamples, seed=how.seed)


def difference(first: Row, second: Row, how: Bootstrap, measure: str = "accuracy") -> Row | None:
    """Return a measure of the first cell less that of the second, paired by seed.

    Returns:
        seeds, values, mean and ci95; None where they share no seed.
    """
    mine, others = by_seed(first, measure), by_seed(second, measure)
    seeds = [seed for seed in mine if seed in others]
    found = summary([mine[seed] - others[seed] for seed in seeds], how)
    return None if found is None else {"seeds": seeds, **found}


def by_seed(row: Row, measure: str) -> dict[int, float]:
    """Return a measure of a cell by seed."""
    found = row[measure]
    return {} if found is None else dict(zip(row["seeds"], found["values"], strict=True))


def groups(rows: Sequence[Row]) -> list[tuple[tuple[str, int, str], list[Row]]]:
    """Return the rows on graphs that are compared with one another, by variant, n, algorithm."""
    found: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        if row["graph"] is not None and row["seeds"]:
            key = row["variant"], row["n"], row["algorithm"]
            found.setdefault(key, []).append(row)
    return list(found.items())


def baseline_of(variant: str, n: int, rows: Sequence[Row]) -> Row | None:
    """Return the row of all-reduce for so many replicas."""
    for row in rows:
        if (row["variant"], row["n"], row["algorithm"]) == (variant, n, BASELINE) and row["seeds"]:
            return row
    return None


def correlations(rows: Sequence[Row], how: Bootstrap) -> list[Row]:
    """Return how measures rank with accuracy over graphs, each seed by itself, then over seeds.

    Only seeds count with which every graph was trained, and none where a measure is the same on
    all graphs.
    """
    found = []
    for (variant, n, algorithm), own in groups(rows):
        if len(own) < FEWEST_GRAPHS:
            continue
        accuracy = [by_seed(row, "accuracy") for row in own]
        common = [seed for seed in accuracy[0] if all(seed in one for one in accuracy)]
        for name in CORRELATED:
            measure = [by_seed(row, name) for row in own]
            by_rank = {
                seed: spearman([one[seed] for one in measure], [one[seed] for one in accuracy])
                for seed in common
                if all(seed in one for one in measure)
            }
            known = {seed: rho for seed, rho in by_rank.items() if rho is not None}
            rho = summary(list(known.values()), how)
            if rho is not None:
                names = {"variant": variant, "n": n, "algorithm": algorithm, "measure": name}
                found.append({**names, "graphs": len(own), "seeds": list(known), **rho})
    return found


def tensor_rows(trainings: Sequence[Training]) -> list[Row]:
    """Return the dispersion of each parameter tensor in each cell, mean over epochs and seeds."""
    found = []
    for cell in dict.fromkeys(training.cell for training in trainings):
        done = [one for one in trainings if one.cell == cell and one.outcome == "trained"]
        measured = [training.tensors() for training in done if training.epochs]
        for tensor in measured[0] if measured else ():
            means = {
                measure: float(np.mean([one[tensor][measure] for one in measured]))
                for measure in DISPERSION
            }
            found.append({**cell._asdict(), "label": cell.label, "tensor": tensor, **means})
    return found


def _to_baseline(row: Row, rows: Sequence[Row], how: Bootstrap) -> Row | None:
    baseline = baseline_of(row["variant"], row["n"], rows)
    if baseline is None or row is baseline:
        return None
    return difference(row, baseline, how)


def _curves(trainings: Sequence[Training], how: Bootstrap) -> Row | None:
    """Return the mean curves over epochs, each with an interval at each epoch."""
    if not trainings:
        return None
    lengths = {len(training.epochs) for training in trainings}
    num_epochs = min(lengths)
    curves: Row = {"epoch": [record["epoch"] for record in trainings[0].epochs[:num_epochs]]}
    for name in CURVES:
        values_RK = np.array(
            [[record[name] for record in one.epochs[:num_epochs]] for one in trainings], float
        )
        curves[name] = _curve(values_RK, how)
    return curves


def _curve(values_RK: FloatArray, how: Bootstrap) -> Row:
    if not np.isfinite(values_RK).all():
        return {"mean": values_RK.mean(axis=0).tolist(), "low": None, "high": None}
    num_runs_K = np.full(values_RK.shape[1], len(values_RK))
    interval = bootstrap(
        values_RK,
        lambda x_BN: game_means_rows(x_BN, num_runs_K),
        num_resamples=min(how.resamples, CURVE_RESAMPLES),
        seed=how.seed,
    )
    return {
        "mean": values_RK.mean(axis=0).tolist(),
        "low": interval.low.tolist() if interval else None,
        "high": interval.high.tolist() if interval else None,
    }
