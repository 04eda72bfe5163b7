"""Exploration alone on Atari: how many different screens random and model-based actions reach.

Run: python benchmarks/atari_exploration.py [--games freeway ...] [--policies "random 1" ...]
     [--steps 8000] [--seeds 2]

Nothing is learned from rewards: every action of the training's own loop is exploratory, under the
saber protocol (18 actions, sticky 0.25), with 8 emulators side by side. `random d` draws actions
uniformly and holds each for d agent steps; the others are `dqn_mbe` with a density and a hold.
The Q-network's encoder, whose features the model and the density see, stays as it was drawn.

Cells are Go-Explore's: frames shrunk to 11 x 8 by area and 8 grey levels, counted once each over
all emulators. They are too coarse for games whose player is small, where points show more: the
other figure is agent steps with a positive reward.

Shape letters: L lanes; H = W = 84.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from mlscale.rl.dqn.experience import Experience
    from mlscale.rl.dqn.lanes import Step

GAMES = (
    "freeway", "montezuma_revenge", "qbert", "breakout", "private_eye", "venture", "pitfall",
)  # fmt: skip
CELL_ROWS, CELL_COLUMNS, CELL_LEVELS = 8, 11, 8


class Policy(NamedTuple):
    """What is compared: how actions are chosen and for how many agent steps each is held."""

    kind: str
    hold_steps: int

    def __str__(self) -> str:
        """Return it as a table shows it."""
        return f"{self.kind} {self.hold_steps}"


POLICIES = (
    Policy("random", 1), Policy("random", 4), Policy("low_rank", 4),
    Policy("neighbours", 4),
)  # fmt: skip


class Reached(NamedTuple):
    """What a policy reached."""

    cells: int
    rewards: int


def area_weights(num_in: int, num_out: int) -> NDArray[np.float32]:
    """Return the matrix (num_out, num_in) that shrinks a side by averaging what it covers."""
    edges = np.linspace(0, num_in, num_out + 1)
    left, right = np.arange(num_in), np.arange(1, num_in + 1)
    overlap = np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left)
    weights = np.clip(overlap, 0, None)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)


class Watched:
    """An experience that counts cells and rewards as it goes by.

    Args:
        experience: What is watched.
    """

    def __init__(self, experience: Experience) -> None:
        self._experience = experience
        self._rows = area_weights(84, CELL_ROWS)
        self._columns = area_weights(84, CELL_COLUMNS).T
        self._cells: set[bytes] = set()
        self._rewards = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._experience, name)

    def step(self, a_L: NDArray[np.int64]) -> Step:
        """Step the experience, and count."""
        step = self._experience.step(a_L)
        frames_LHW = step.s_t_LD[:, -1].astype(np.float32)
        shrunk = self._rows @ frames_LHW @ self._columns
        levels = (shrunk * (CELL_LEVELS / 256)).astype(np.uint8)
        self._cells.update(cell.tobytes() for cell in levels)
        self._rewards += int((step.r_t_L > 0).sum())
        return step

    @property
    def reached(self) -> Reached:
        """What was reached so far."""
        return Reached(len(self._cells), self._rewards)


def explore(game: str, policy: Policy, seed: int, num_steps: int) -> Reached:
    """Explore alone for so many agent steps of all lanes together."""
    from mlscale.rl.dqn.atari.config import AtariTrainConfig
    from mlscale.rl.dqn.atari.parts import atari_parts
    from mlscale.rl.dqn.trainer import Trainer

    agent: Any = "dqn" if policy.kind == "random" else "dqn_mbe"
    config = AtariTrainConfig(agent=agent, game=game, seed=seed)
    learn = dataclasses.replace(config.learn, start_steps=num_steps + 1, replay_steps=num_steps)
    only = dataclasses.replace(
        config.explore, only_steps=num_steps, baselines_too=True, hold_steps=policy.hold_steps
    )
    config = dataclasses.replace(config, learn=learn, explore=only)
    if policy.kind != "random":
        density: Any = policy.kind
        config = dataclasses.replace(config, mbe=dataclasses.replace(config.mbe, density=density))
    parts = atari_parts(config, "cpu", lambda done, total: None)
    watched: Any = Watched(parts.experience)
    trainer = Trainer(config, agent, parts._replace(experience=watched))
    try:
        while trainer.step < num_steps:
            trainer.advance()
    finally:
        trainer.close()
    reached: Reached = watched.reached
    print(f"{game}, {policy}, seed {seed}: {reached}", file=sys.stderr, flush=True)
    return reached


def show(game: str, results: dict[Policy, list[Reached]]) -> None:
    """Print a game's table: cells and rewards by seed, and cells as a ratio to the first policy's.

    Ratios are taken seed by seed and averaged.
    """
    baseline = next(iter(results))
    print(f"\n{game}\n\n| policy | cells by seed | cells / {baseline} | steps with a reward |")
    print("| --- | ---: | ---: | ---: |")
    first = np.array([reached.cells for reached in results[baseline]])
    for policy, reached in results.items():
        cells = [one.cells for one in reached]
        rewards = ", ".join(str(one.rewards) for one in reached)
        ratio = float(np.mean(cells / first))
        print(f"| {policy} | {', '.join(map(str, cells))} | {ratio:.2f} | {rewards} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every policy on every game with every seed and print a table per game."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--policies", nargs="+", choices=list(map(str, POLICIES)))
    parser.add_argument("--steps", type=int, default=8_000, help="agent steps, all lanes together")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    chosen = options.policies or list(map(str, POLICIES))
    policies = [policy for policy in POLICIES if str(policy) in chosen]
    for game in options.games:
        results = {
            policy: [explore(game, policy, seed, options.steps) for seed in range(options.seeds)]
            for policy in policies
        }
        show(game, results)


if __name__ == "__main__":
    main()
