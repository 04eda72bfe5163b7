"""The result of a study: every agent's numbers with intervals, and differences between agents.

Shape letters: R seeds; K points of a learning curve.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.results import Metric, Result
from mlscale.core.seeds import over_seeds
from mlscale.core.stats import bootstrap, game_means_rows
from mlscale.rl.dqn.curves import learning_curve, make_grid
from mlscale.rl.dqn.success import success_of
from mlscale.rl.dqn.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.core.stats import FloatArray, IntArray
    from mlscale.rl.dqn.config import StudyConfig

MEASURES = {
    "first_success_step": "environment steps; the whole budget where none came",
    "successes": "episodes",
    "auc": "return, mean over training steps",
    "final_return": "return, last 100 episodes",
}


def compare(config: StudyConfig, run: Run, *, status: Status) -> Result:
    """Compare the agents over the trainings that are complete.

    Args:
        config: The study.
        run: Holds the records; takes the report.
        status: "failed" when some trainings are missing.
    """
    rows = [_row(agent, config, run) for agent in config.agents]
    rows = [row for row in rows if row["seeds"]]
    metrics = {
        f"{row['agent']}/{name}": Metric(
            row[name]["mean"], unit, len(row["seeds"]), row[name]["ci95"]
        )
        for row in rows
        for name, unit in MEASURES.items()
        if row[name] is not None
    }
    result = Result(
        study=run.study,
        metrics=metrics,
        protocol={
            "env": config.env,
            "steps": config.steps,
            "seeds": config.seeds,
            "success": success_of(config.env).describe(),
            "returns": "of training episodes, exploratory actions included",
            "interval": "95 % percentile bootstrap over seeds",
        },
        tables={
            "agents": rows,
            "differences": _differences(rows, config),
            "grid": make_grid(config.steps).tolist(),
        },
        status=status,
    )
    if config.report and run.path is not None and rows:
        from mlscale.rl.dqn.report import write_report

        write_report(run, result)
    return result


def _row(agent: str, config: StudyConfig, run: Run) -> dict[str, Any]:
    """Return an agent's seeds, its measures (values, mean, interval) and its curve."""
    trainings = _trainings(agent, config, run)
    row: dict[str, Any] = {"agent": agent, "seeds": list(trainings)}
    if not trainings:
        return row
    grid_K = make_grid(config.steps)
    curves_RK = np.array([learning_curve(training, grid_K) for training in trainings.values()])
    summaries = [summarise(training) for training in trainings.values()]
    first = [summary["first_success_step"] for summary in summaries]
    knows_success = summaries[0]["successes"] is not None
    row["never_succeeded"] = sum(step is None for step in first) if knows_success else None
    row["first_success_step"] = (
        _measure([step or config.steps for step in first], config) if knows_success else None
    )
    row["successes"] = _measure([s["successes"] for s in summaries], config)
    row["auc"] = _measure(curves_RK.mean(axis=1).tolist(), config)
    row["final_return"] = _measure([s["final_return"] for s in summaries], config)
    row["curve"] = _curve(curves_RK, config)
    return row


def _measure(values: Sequence[float | None], config: StudyConfig) -> dict[str, Any] | None:
    return over_seeds(values, resamples=config.resamples, seed=config.seed)


def _curve(curves_RK: FloatArray, config: StudyConfig) -> dict[str, Any]:
    """Return the mean curve with an interval at each point."""
    num_runs_K = np.full(curves_RK.shape[1], len(curves_RK))
    interval = bootstrap(
        curves_RK,
        lambda x_BN: game_means_rows(x_BN, num_runs_K),
        num_resamples=min(config.resamples, 2_000),
        seed=config.seed,
    )
    return {
        "mean": curves_RK.mean(axis=0).tolist(),
        "low": interval.low.tolist() if interval else None,
        "high": interval.high.tolist() if interval else None,
    }


def _differences(rows: Sequence[Mapping[str, Any]], config: StudyConfig) -> list[dict[str, Any]]:
    """Return the difference of means, first less second, of each measure and pair of agents."""
    found = []
    for (x, y), name in itertools.product(itertools.combinations(rows, 2), MEASURES):
        if x[name] is None or y[name] is None:
            continue
        x_R, y_R = x[name]["values"], y[name]["values"]
        interval = bootstrap(
            [x_R, y_R],
            functools.partial(_difference_rows, num_runs=np.array([len(x_R), len(y_R)])),
            num_resamples=config.resamples,
            seed=config.seed,
        )
        found.append(
            {
                "measure": name,
                "first": x["agent"],
                "second": y["agent"],
                "difference": float(np.mean(x_R) - np.mean(y_R)),
                "ci95": interval.at(0) if interval else None,
            }
        )
    return found


def _difference_rows(x_BN: FloatArray, num_runs: IntArray) -> FloatArray:
    """Return the first agent's mean less the second's (B, 1) of each resample."""
    means_B2 = game_means_rows(x_BN, num_runs)
    return means_B2[:, :1] - means_B2[:, 1:]


def _trainings(agent: str, config: StudyConfig, run: Run) -> dict[int, list[Mapping[str, Any]]]:
    """Return the episodes of an agent's complete trainings, by seed."""
    found = {}
    for seed in range(config.seed, config.seed + config.seeds):
        if not _is_trained(run.records, agent, seed, config.steps):
            continue
        found[seed] = _episodes(run.records, agent, seed, config.steps)
        if not found[seed]:
            del found[seed]
            run.note(
                f"{agent}/{seed}: no episode ended within {config.steps} steps, so it is left out"
            )
    return found


def _is_trained(records: Sequence[Mapping[str, Any]], agent: str, seed: int, steps: int) -> bool:
    return any(
        (record["agent"], record["seed"]) == (agent, seed)
        and int(record.get("trained_steps") or 0) >= steps
        for record in records
    )


def _episodes(
    records: Sequence[Mapping[str, Any]], agent: str, seed: int, steps: int
) -> list[Mapping[str, Any]]:
    """Return a training's episodes up to the budget, in order, each once."""
    by_number = {
        record["episode"]: record
        for record in records
        if (record["agent"], record["seed"]) == (agent, seed)
        and record.get("step", steps + 1) <= steps
    }
    return [by_number[number] for number in sorted(by_number)]
