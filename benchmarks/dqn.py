"""Training speed of DQN on MountainCar: mlscale against Stable-Baselines3.

Run: python benchmarks/dqn.py [--rounds 5] [--steps 4000]

Both have the same environment, network (two hidden layers of 64), batch (64), one update per
environment step, Adam, a replay of 200,000 and one torch thread; they run in turns within each
round, after 1,000 steps to warm up. A figure is environment steps per second of wall time,
learning included. Ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import statistics
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WARM_UP_STEPS = 1_000


def mlscale_dqn(agent: str) -> Callable[[int], None]:
    """Return a function that trains mlscale's agent for so many steps more."""
    from mlscale.rl.dqn.config import AgentConfig, ExploreConfig, LearnConfig
    from mlscale.rl.dqn.parts import flat_parts
    from mlscale.rl.dqn.trainer import Trainer

    learn = LearnConfig(hidden=(64, 64), batch=64, target_every_steps=1_000)
    explore = ExploreConfig(only_steps=0, epsilon_final=0.05)
    config = AgentConfig(learn=learn, explore=explore)
    trainer = Trainer(config, agent, flat_parts(config, agent))

    def train(steps: int) -> None:
        for _ in range(steps):
            trainer.advance()

    return train


def sb3_dqn() -> Callable[[int], None]:
    """Return a function that trains Stable-Baselines3's DQN for so many steps more."""
    import gymnasium
    from stable_baselines3 import DQN

    model = DQN(
        "MlpPolicy", gymnasium.make("MountainCar-v0"), learning_rate=1e-3, buffer_size=200_000,
        learning_starts=64, batch_size=64, train_freq=1, gradient_steps=1,
        target_update_interval=1_000, policy_kwargs={"net_arch": [64, 64]}, device="cpu", seed=0,
    )  # fmt: skip
    return lambda steps: model.learn(steps, reset_num_timesteps=False) and None


def main() -> None:
    """Time every contender in turns and print medians and ratios."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4_000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    contenders = {
        "mlscale dqn": mlscale_dqn("dqn"),
        "mlscale dqn_mbe": mlscale_dqn("dqn_mbe"),
        "mlscale dqn_rnd": mlscale_dqn("dqn_rnd"),
        f"Stable-Baselines3 {version('stable-baselines3')}": sb3_dqn(),
    }
    *_, peer = contenders
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for train in contenders.values():
        train(WARM_UP_STEPS)
    for _ in range(arguments.rounds):
        for name, train in contenders.items():
            began_s = time.perf_counter()
            train(arguments.steps)
            rates[name].append(arguments.steps / (time.perf_counter() - began_s))
    for name, values in rates.items():
        ratios = [value / other for value, other in zip(values, rates[peer], strict=True)]
        print(
            f"{name:28} {statistics.median(values):7,.0f} steps/s"
            f"   {statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
