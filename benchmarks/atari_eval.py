"""Evaluation speed: mlscale against Stable-Baselines3, gymnasium and bare AtariVectorEnv.

Run: python benchmarks/atari_eval.py [--rounds 5] [--games pong,breakout]

Every contender plays the same game with the same policy: sticky actions, all 18 actions, frame
skip 4, 84x84 grey frames, four stacked, unclipped rewards, whole games. Contenders take turns
within each round and ratios are taken within a round. A figure is emulator frames per second of
wall time. Unequal, and in whose favour:

- peers' environments exist before their clock starts; mlscale's clock includes making its
  emulators and seeding its stretches of episodes (which no peer does);
- peers keep their usual form: ALE's cap of 108,000 frames, and Stable-Baselines3's wrapper
  presses FIRE after a reset; mlscale plays its `saber` protocol. No episode here gets that far;
- peers have eight environments and one torch thread: two threads, or sixteen environments, were
  no faster for them;
  mlscale has what `mlscale atari eval` uses: sixteen lanes, one torch thread.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

NUM_ENVS = 8  # of the peers
STICKY_PROB = 0.25
NUM_ACTIONS = 18
NUM_LANES = 16  # of mlscale, as by default
PEER_THREADS = 1


def nature_cnn() -> Any:
    """Return the Nature-DQN network with fixed random weights, from uint8 frames to values."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(4, 32, 8, stride=4), nn.ReLU(),
        nn.Conv2d(32, 64, 4, stride=2), nn.ReLU(),
        nn.Conv2d(64, 64, 3), nn.ReLU(),
        nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, NUM_ACTIONS),
    )  # fmt: skip
    return network.eval()


def mlscale_eval(game: str, policy: str, episodes: int, number_format: str = "float32") -> float:
    """Return the frames/s of mlscale's evaluation."""
    from mlscale.rl.atari.agents.actions import ALL_ACTIONS
    from mlscale.rl.atari.agents.base import Task
    from mlscale.rl.atari.agents.network_agent import NetworkAgent
    from mlscale.rl.atari.agents.number_format import acting_network
    from mlscale.rl.atari.agents.random_agent import RandomAgent
    from mlscale.rl.atari.jobs import POLICY_THREADS
    from mlscale.rl.atari.lanes import Episode
    from mlscale.rl.atari.play import play_episodes
    from mlscale.rl.atari.protocols import PROTOCOLS
    from mlscale.rl.atari.stretches import EpisodeStart, cut_into_stretches

    task = Task(game=game, action_ids=ALL_ACTIONS)
    if policy == "cnn":
        import torch

        torch.set_num_threads(POLICY_THREADS)
        network = acting_network(nature_cnn(), number_format)

    def make(group: int) -> Any:
        if policy == "random":
            return RandomAgent(task)
        return NetworkAgent(network, ALL_ACTIONS, task)

    starts = [EpisodeStart(episode=n, emulator_seed=n, agent_seed=n) for n in range(episodes)]
    began_s = time.perf_counter()
    played = play_episodes(
        game,
        PROTOCOLS["saber"],
        cut_into_stretches(starts, episodes),
        make,
        num_actions=NUM_ACTIONS,
        max_lanes=NUM_LANES,
    )
    frames = sum(event.frames for event in played if isinstance(event, Episode))
    return frames / (time.perf_counter() - began_s)


def atari_vector_env(game: str, policy: str, episodes: int) -> float:
    """Return the frames/s of ale-py's vector environment stepped with random actions."""
    from ale_py.vector_env import AtariVectorEnv

    env = AtariVectorEnv(
        game, NUM_ENVS, repeat_action_probability=STICKY_PROB, full_action_space=True,
        reward_clipping=False, use_fire_reset=False, noop_max=0,
    )  # fmt: skip
    generator = np.random.default_rng(0)
    env.reset(seed=0)
    steps = ended = 0
    began_s = time.perf_counter()
    while ended < episodes:
        actions = generator.integers(NUM_ACTIONS, size=NUM_ENVS)
        _, _, terminated, truncated, _ = env.step(actions)
        ended += int((terminated | truncated).sum())
        steps += NUM_ENVS
    return 4 * steps / (time.perf_counter() - began_s)


def gymnasium_async(game: str, policy: str, episodes: int) -> float:
    """Return the frames/s of a plain loop over gymnasium's AsyncVectorEnv."""
    import gymnasium
    import torch

    torch.set_num_threads(PEER_THREADS)
    network = nature_cnn()
    env = gymnasium.vector.AsyncVectorEnv([_gymnasium_env(game)] * NUM_ENVS)
    generator = np.random.default_rng(0)
    observations, _ = env.reset(seed=0)
    steps = ended = 0
    began_s = time.perf_counter()
    with torch.inference_mode():
        while ended < episodes:
            if policy == "random":
                actions = generator.integers(NUM_ACTIONS, size=NUM_ENVS)
            else:
                frames = torch.from_numpy(np.ascontiguousarray(observations))
                actions = network(frames.float() / 255).argmax(dim=1).numpy()
            observations, _, terminated, truncated, _ = env.step(actions)
            ended += int((terminated | truncated).sum())
            steps += NUM_ENVS
    elapsed_s = time.perf_counter() - began_s
    env.close()
    return 4 * steps / elapsed_s


def _gymnasium_env(game: str) -> Callable[[], Any]:
    def make() -> Any:
        import ale_py
        import gymnasium
        from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

        gymnasium.register_envs(ale_py)
        env = gymnasium.make(
            _ale_id(game), frameskip=1, full_action_space=True,
            repeat_action_probability=STICKY_PROB,
        )  # fmt: skip
        return FrameStackObservation(AtariPreprocessing(env, noop_max=0), 4)

    return make


def _ale_id(game: str) -> str:
    from mlscale.rl.atari.games import find_game

    return find_game(game).ale_id


def sb3_evaluate_policy(game: str, policy: str, episodes: int) -> float:
    """Return the frames/s of Stable-Baselines3's evaluate_policy on a SubprocVecEnv."""
    import ale_py
    import gymnasium
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.atari_wrappers import AtariWrapper
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import SubprocVecEnv, VecFrameStack, VecTransposeImage

    torch.set_num_threads(PEER_THREADS)

    def make() -> Any:
        gymnasium.register_envs(ale_py)
        env = gymnasium.make(
            _ale_id(game), frameskip=1, full_action_space=True,
            repeat_action_probability=STICKY_PROB,
        )  # fmt: skip
        wrapped = AtariWrapper(
            env, noop_max=0, terminal_on_life_loss=False, clip_reward=False
        )  # fmt: skip
        return Monitor(wrapped)

    env = VecTransposeImage(VecFrameStack(SubprocVecEnv([make] * NUM_ENVS), 4))
    model = DQN("CnnPolicy", env, buffer_size=1, device="cpu")
    _copy_weights(model)
    if policy == "random":
        generator = np.random.default_rng(0)
        model.predict = lambda observations, **_: (  # type: ignore[method-assign]
            generator.integers(NUM_ACTIONS, size=len(observations)),
            None,
        )
    steps = 0

    def count(local: dict[str, Any], _: dict[str, Any]) -> None:
        nonlocal steps
        steps += 1

    began_s = time.perf_counter()
    evaluate_policy(model, env, n_eval_episodes=episodes, callback=count)
    elapsed_s = time.perf_counter() - began_s
    env.close()
    return 4 * steps / elapsed_s


def _copy_weights(model: Any) -> None:
    """Give Stable-Baselines3's network the weights of `nature_cnn`: it has the same layers."""
    source = nature_cnn().state_dict()
    target = model.q_net.state_dict()
    values = iter(source.values())
    model.q_net.load_state_dict({name: next(values) for name in target})


CONTENDERS: dict[str, dict[str, Callable[[str, str, int], float]]] = {
    "random": {
        "mlscale": mlscale_eval,
        "AtariVectorEnv alone": atari_vector_env,
        "gymnasium AsyncVectorEnv": gymnasium_async,
        "SB3 evaluate_policy": sb3_evaluate_policy,
    },
    "cnn": {
        "mlscale": mlscale_eval,
        "mlscale bfloat16": lambda *task: mlscale_eval(*task, number_format="bfloat16"),
        "gymnasium AsyncVectorEnv": gymnasium_async,
        "SB3 evaluate_policy": sb3_evaluate_policy,
    },
}


def measure(games: list[str], rounds: int, episodes: int) -> None:
    """Play every contender in turns and print a Markdown table per game and policy."""
    print(_machine())
    for game in games:
        for policy, contenders in CONTENDERS.items():
            figures: dict[str, list[float]] = {name: [] for name in contenders}
            for _ in range(rounds):
                for name, contender in contenders.items():
                    figures[name].append(contender(game, policy, episodes))
            print(f"\n{game}, {policy} policy, {episodes} episodes, {rounds} rounds\n")
            _print_table(figures)


def _print_table(figures: dict[str, list[float]]) -> None:
    print("| contender | frames/s median (min to max) | mlscale / contender, median (min to max) |")
    print("| --- | ---: | ---: |")
    own = figures["mlscale"]
    for name, values in figures.items():
        ratios = [mine / other for mine, other in zip(own, values, strict=True)]
        print(f"| {name} | {_spread(values, '.0f')} | {_spread(ratios, '.2f')} |", flush=True)


def _spread(values: list[float], form: str) -> str:
    middle = statistics.median(values)
    return f"{middle:{form}} ({min(values):{form}} to {max(values):{form}})"


def _machine() -> str:
    packages = ("ale-py", "gymnasium", "stable-baselines3", "torch", "numpy")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", default="pong,breakout")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--episodes", type=int, default=96)
    arguments = parser.parse_args()
    measure(arguments.games.split(","), arguments.rounds, arguments.episodes)
