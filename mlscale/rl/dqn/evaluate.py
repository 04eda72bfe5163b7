"""`mlscale rl eval`: plays episodes with what a training has learned.

Shape letters: L lanes (one: episodes played side by side would favour the short ones).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.results import Metric, Result
from mlscale.core.seeding import derive_seed, generator
from mlscale.core.stats import bootstrap
from mlscale.rl.dqn.lanes import Lanes
from mlscale.rl.dqn.success import success_of
from mlscale.rl.dqn.trained import find_training, load_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mlscale.core.runs import Run
    from mlscale.rl.dqn.config import EvalConfig, TrainConfig
    from mlscale.rl.dqn.lanes import Ended
    from mlscale.rl.dqn.networks import Mirror
    from mlscale.rl.dqn.success import Success


def run(config: EvalConfig, run: Run) -> Result:
    """Play the episodes with the newest checkpoint of a training.

    Raises:
        UserError: The run is not a training, or has no checkpoint yet.
    """
    trained, step = find_training(config.run)
    lanes = Lanes(trained.env, 1, derive_seed(config.seed, "eval"))
    success = success_of(trained.env)
    run.rewind(0)
    try:
        values = load_values(config.run, step, trained, lanes.num_values, lanes.num_actions)
        for number, ended in enumerate(_play(config, lanes, values)):
            succeeded = success(ended.episode_return, terminated=ended.terminated)
            run.log(
                {
                    "episode": number,
                    "return": ended.episode_return,
                    "length": ended.length,
                    "success": succeeded if success.is_known else None,
                }
            )
            run.reporter.progress(number + 1, config.episodes, f"return {ended.episode_return:g}")
    finally:
        lanes.close()
    return _result(config, run, trained, step, success)


def _play(config: EvalConfig, lanes: Lanes, values: Mirror) -> Iterator[Ended]:
    """Yield each episode as it ends."""
    rng = generator(config.seed, "act")
    num_played = 0
    while num_played < config.episodes:
        a_L: NDArray[np.int64] = values(lanes.s_LD).argmax(axis=1)
        if config.epsilon and rng.random() < config.epsilon:
            a_L = rng.integers(0, lanes.num_actions, 1)
        for ended in lanes.step(a_L).ended:
            num_played += 1
            yield ended


def _result(
    config: EvalConfig, run: Run, trained: TrainConfig, step: int, success: Success
) -> Result:
    returns_N = np.array([float(record["return"]) for record in run.records])
    interval = bootstrap(
        [returns_N], lambda x_BN: x_BN.mean(axis=1, keepdims=True), seed=config.seed
    )
    num = len(returns_N)
    metrics = {
        "mean_return": Metric(
            float(returns_N.mean()), "return", num, interval.at(0) if interval else None
        ),
        "std_return": Metric(float(returns_N.std()), "return", num),
        "best_return": Metric(float(returns_N.max()), "return", num),
        "mean_length": Metric(
            float(np.mean([record["length"] for record in run.records])), "steps", num
        ),
    }
    if success.is_known:
        num_successes = sum(bool(record["success"]) for record in run.records)
        metrics["successes"] = Metric(num_successes, "episodes", num)
    protocol = {
        "env": trained.env,
        "agent": trained.agent,
        "trained_steps": step,
        "epsilon": config.epsilon,
        "success": success.describe(),
        "interval": "resampled episodes of this one training",
    }
    return Result(study=run.study, metrics=metrics, protocol=protocol)
