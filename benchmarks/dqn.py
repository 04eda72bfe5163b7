"""Training speed of DQN: mlscale against Stable-Baselines3.

Run: python benchmarks/dqn.py [--task mountaincar|pong] [--rounds 5] [--steps 4000]

Contenders train in turns within each round, after some steps to warm up. A figure is environment
steps per second of wall time, learning included; ratios to the peer are taken within a round.

mountaincar: MountainCar-v0, in one process on one torch thread; for all a network with two hidden
layers of 64, batches of 64, one update per environment step, Adam at 0.001, gradients limited to a
norm of 10, a copy to the target network every 1,000 steps, a replay of 200,000 and 5 % random
actions after the first hundred steps. dqn_mbe and dqn_rnd do more in a step than the peer: a fit of
the dynamics model, and a fit of the distilled network for the bonus.

pong: Pong with frame skip 4, no sticky actions and the game's own six actions, two torch threads,
a process for each contender; for all eight environments side by side, four stacked frames of
84 x 84, the network of Mnih et al. 2015, batches of 32, one update in four environment steps (which
is checked), one-step targets from the target network alone, Adam at 0.00025, gradients limited to
a norm of 10, a copy to the target network every 2,000 steps, a full replay of 10,000 and 5 % random
actions. The encoder of mlscale computes in bfloat16 where the processor has it, as by default, or
in float32, as the peer's does. dqn_mbe and dqn_rnd do more in a step, with their default settings.
To measure on two cores of a machine with more: taskset -c 0,1 python benchmarks/dqn.py --task pong
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import NamedTuple, TypeAlias

Train: TypeAlias = Callable[[int], None]
"""Trains for so many environment steps more."""


class Task(NamedTuple):
    """What is learned, and by whom.

    Attributes:
        contenders: Makes them, by name; the last is the peer that ratios are to.
        warm_up_steps: Environment steps before the clock starts.
        steps: Environment steps of a round.
    """

    contenders: Callable[[], dict[str, Train]]
    warm_up_steps: int
    steps: int


def mountaincar() -> dict[str, Train]:
    """Return who trains on MountainCar."""
    return {
        "mlscale dqn": mlscale_mountaincar("dqn"),
        "mlscale dqn_mbe": mlscale_mountaincar("dqn_mbe"),
        "mlscale dqn_rnd": mlscale_mountaincar("dqn_rnd"),
        f"Stable-Baselines3 {version('stable-baselines3')}": sb3_mountaincar(),
    }


def mlscale_mountaincar(agent: str) -> Train:
    """Return mlscale's training of an agent."""
    from mlscale.rl.dqn.config import AgentConfig, ExploreConfig, LearnConfig
    from mlscale.rl.dqn.parts import flat_parts
    from mlscale.rl.dqn.trainer import Trainer

    learn = LearnConfig(
        hidden=(64, 64), lr=1e-3, batch=64, target_every_steps=1_000, max_grad_norm=10.0
    )
    explore = ExploreConfig(only_steps=0, schedule="linear", linear_steps=100, epsilon_final=0.05)
    config = AgentConfig(learn=learn, explore=explore)
    trainer = Trainer(config, agent, flat_parts(config, agent))

    def train(steps: int) -> None:
        for _ in range(steps):
            trainer.advance()

    return train


def sb3_mountaincar() -> Train:
    """Return the training of Stable-Baselines3's DQN."""
    import gymnasium
    from stable_baselines3 import DQN

    model = DQN(
        "MlpPolicy", gymnasium.make("MountainCar-v0"), learning_rate=1e-3, buffer_size=200_000,
        learning_starts=64, batch_size=64, train_freq=1, gradient_steps=1, max_grad_norm=10,
        exploration_fraction=0.1, exploration_final_eps=0.05, target_update_interval=1_000,
        policy_kwargs={"net_arch": [64, 64]}, device="cpu", seed=0,
    )  # fmt: skip
    return lambda steps: model.learn(steps, reset_num_timesteps=False) and None


def pong() -> dict[str, Train]:
    """Return who trains on Pong."""
    from dqn_pong import contenders

    return contenders()


TASKS = {
    "mountaincar": Task(mountaincar, warm_up_steps=1_000, steps=4_000),
    "pong": Task(pong, warm_up_steps=400, steps=2_000),
}


def rates_of(contenders: dict[str, Train], steps: int, rounds: int) -> dict[str, list[float]]:
    """Return everyone's environment steps per second in every round, taking turns."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, train in contenders.items():
            began_s = time.perf_counter()
            train(steps)
            rates[name].append(steps / (time.perf_counter() - began_s))
    return rates


def main() -> None:
    """Time every contender of a task and print medians and ratios."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", choices=TASKS, default="mountaincar")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="environment steps of a round")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    task = TASKS[arguments.task]
    contenders = task.contenders()
    for train in contenders.values():
        train(task.warm_up_steps)
    rates = rates_of(contenders, arguments.steps or task.steps, arguments.rounds)
    *_, peer = rates
    for name, values in rates.items():
        ratios = [value / other for value, other in zip(values, rates[peer], strict=True)]
        print(
            f"{name:28} {statistics.median(values):7,.0f} steps/s"
            f"   {statistics.median(ratios):.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
