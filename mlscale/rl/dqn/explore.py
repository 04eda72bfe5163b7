"""`mlscale rl explore`: exploration alone, nothing but exploratory actions.

Shape letters: D observation values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.results import Metric, Result
from mlscale.core.seeding import generator
from mlscale.rl.dqn.exploration.dynamics import make_dynamics
from mlscale.rl.dqn.exploration.epsilon import Uniform
from mlscale.rl.dqn.exploration.mbe import ModelBased
from mlscale.rl.dqn.exploration.oracle import true_dynamics
from mlscale.rl.dqn.lanes import Lanes
from mlscale.rl.dqn.replay import Replay
from mlscale.rl.dqn.success import success_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from mlscale.core.runs import Run
    from mlscale.rl.dqn.config import ExplorationConfig
    from mlscale.rl.dqn.exploration.base import Explorer

REPLAY_STEPS = 200_000
CELLS = 40
"""Cells along each of the first two observation values, within the environment's bounds."""


def run(config: ExplorationConfig, run: Run) -> Result:
    """Play the episodes of every policy and seed that are missing.

    Raises:
        UserError: The environment is unknown or of the wrong kind, or has no oracle.
    """
    import torch

    torch.set_num_threads(1)
    pairs = [
        (policy, seed)
        for policy in config.policies
        for seed in range(config.seed, config.seed + config.seeds)
    ]
    done = {(record["policy"], record["seed"]) for record in run.records}
    total = len(pairs) * config.episodes
    for number, (policy, seed) in enumerate(pairs):
        if (policy, seed) not in done:
            before = number * config.episodes

            def show(episode: int, policy: str = policy, before: int = before) -> None:
                run.reporter.progress(before + episode, total, policy)

            run.log({"policy": policy, "seed": seed, **explore(config, policy, seed, show)})
    return _result(config, run)


def explore(
    config: ExplorationConfig, policy: str, seed: int, show: Callable[[int], None]
) -> dict[str, Any]:
    """Play one policy's episodes with one seed.

    Args:
        config: The settings.
        policy: random, mbe or oracle.
        seed: Seed of everything drawn.
        show: Told how many episodes are played.

    Returns:
        goals, the successful episodes; first_goal, the number of the first one from 0 or None;
        cells, the visited cells of a grid over the first two observation values, or None where
        they have no bounds.
    """
    lanes = Lanes(config.env, 1, seed)
    try:
        explorer = _make_policy(config, policy, lanes, generator(seed, "explore"))
        replay = Replay(REPLAY_STEPS, 1, lanes.num_values)
        success = success_of(config.env)
        cells = Cells(*lanes.bounds)
        outcomes: list[bool] = []
        step = 0
        while len(outcomes) < config.episodes:
            a_L = explorer.act(lanes.s_LD)
            took = lanes.step(a_L)
            replay.add(
                took.s_tm1_LD, a_L, took.r_t_L, took.s_t_LD, took.terminated_L, took.truncated_L
            )
            explorer.observe(took.s_tm1_LD, took.s_t_LD)
            step += 1
            explorer.learn(replay, step)
            cells.add(took.s_t_LD[0])
            for ended in took.ended:
                outcomes.append(success(ended.episode_return, terminated=ended.terminated))
                show(len(outcomes))
    finally:
        lanes.close()
    return {
        "goals": sum(outcomes),
        "first_goal": outcomes.index(True) if any(outcomes) else None,
        "cells": cells.count,
    }


class Cells:
    """Counts the cells of a grid over the first two observation values that were visited.

    Args:
        low_D: (D,) smallest observation values.
        high_D: (D,) largest.
    """

    def __init__(self, low_D: NDArray[np.float32], high_D: NDArray[np.float32]) -> None:
        self._low, self._range = low_D[:2], high_D[:2] - low_D[:2]
        self._is_bounded = bool(np.isfinite(self._range).all() and (self._range < 1e6).all())
        self._visited: set[tuple[int, ...]] = set()

    def add(self, s_D: NDArray[np.float32]) -> None:
        """Visit a state (D,)."""
        if self._is_bounded:
            share = (s_D[:2] - self._low) / self._range
            self._visited.add(tuple((share * CELLS).astype(int).clip(0, CELLS - 1).tolist()))

    @property
    def count(self) -> int | None:
        """How many cells were visited; None where the values have no bounds."""
        return len(self._visited) if self._is_bounded else None


def _make_policy(
    config: ExplorationConfig, policy: str, lanes: Lanes, rng: np.random.Generator
) -> Explorer:
    num_actions, num_values = lanes.num_actions, lanes.num_values
    if policy == "random":
        return Uniform(num_actions, rng)
    if policy == "oracle":
        dynamics: Any = true_dynamics(config.env)
    else:
        dynamics = make_dynamics(num_values, num_actions, config.mbe, rng)
    return ModelBased(num_actions, num_values, dynamics, config.mbe, rng)


def _result(config: ExplorationConfig, run: Run) -> Result:
    rows: list[dict[str, Any]] = [
        {
            "policy": policy,
            **{
                name: [record[name] for record in run.records if record["policy"] == policy]
                for name in ("seed", "goals", "first_goal", "cells")
            },
        }
        for policy in config.policies
    ]
    return Result(
        study=run.study,
        metrics={
            f"{row['policy']}/goals": Metric(
                float(np.mean(row["goals"])), f"of {config.episodes} episodes", len(row["goals"])
            )
            for row in rows
        },
        protocol={
            "env": config.env,
            "episodes": config.episodes,
            "success": success_of(config.env).describe(),
        },
        tables={"policies": rows},
    )
