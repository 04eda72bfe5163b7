"""Contenders of the Pong task of `dqn.py`, each in a process of its own.

So none gains or loses by another's threads or by how another has set the C library's allocator.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

THREADS = 2
NUM_ENVS = 8
STEPS_PER_UPDATE = 4
BATCH, DISCOUNT, LR, MAX_GRAD_NORM, EPSILON = 32, 0.99, 2.5e-4, 10.0, 0.05
TARGET_EVERY_STEPS = 2_000
REPLAY_STEPS = 10_000
START_STEPS = REPLAY_STEPS + NUM_ENVS  # without an update, so that the replay is full by then


class Training(NamedTuple):
    """One contender's training, in its process.

    Attributes:
        train: Trains for so many environment steps more.
        num_updates: Returns how many updates were ever done.
    """

    train: Callable[[int], Any]
    num_updates: Callable[[], int]


class Contender:
    """A training in a process of its own that has filled its replay.

    Args:
        make: Makes it, there.
        arguments: For `make`.
        options: For `make`.
    """

    def __init__(self, make: Callable[..., Training], *arguments: str, **options: Any) -> None:
        begin = partial(_begin, partial(make, *arguments, **options))
        self._process = ProcessPoolExecutor(1, get_context("spawn"), begin)
        self._process.submit(_train, START_STEPS).result()

    def __call__(self, steps: int) -> None:
        """Train for so many environment steps more.

        Raises:
            RuntimeError: There were more or fewer updates than one in four steps.
        """
        updates = self._process.submit(_train, steps).result()
        if updates * STEPS_PER_UPDATE != steps:
            raise RuntimeError(f"{updates} updates in {steps} steps")


def contenders() -> dict[str, Callable[[int], None]]:
    """Return who trains on Pong."""
    return {
        "mlscale dqn": Contender(mlscale_pong, "dqn"),
        "mlscale dqn, float32": Contender(mlscale_pong, "dqn", number_format="float32"),
        "mlscale dqn_mbe": Contender(mlscale_pong, "dqn_mbe"),
        "mlscale dqn_rnd": Contender(mlscale_pong, "dqn_rnd"),
        "SB3, SubprocVecEnv": Contender(sb3_pong, subprocesses=True),
        f"Stable-Baselines3 {version('stable-baselines3')}": Contender(sb3_pong),
    }


def _begin(make: Callable[[], Training]) -> None:
    global training  # the one thing that this process is for
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(THREADS)
    threadpool_limits(THREADS)
    training = make()


def _train(steps: int) -> int:
    """Train for so many environment steps more and return how many updates there were."""
    before = training.num_updates()
    training.train(steps)
    return training.num_updates() - before


def mlscale_pong(agent: str, *, number_format: str = "auto") -> Training:
    """Return mlscale's training of an agent."""
    from mlscale.core.allocator import keep_freed_memory
    from mlscale.rl.dqn.atari.config import AtariTrainConfig, LatentMbeConfig
    from mlscale.rl.dqn.atari.parts import atari_parts
    from mlscale.rl.dqn.config import ExploreConfig, LearnerConfig
    from mlscale.rl.dqn.trainer import Trainer

    keep_freed_memory()  # as `mlscale atari train` does
    learn = LearnerConfig(
        lr=LR, batch=BATCH, discount=DISCOUNT, max_grad_norm=MAX_GRAD_NORM, target="plain",
        n_step=1, replay_steps=REPLAY_STEPS, start_steps=START_STEPS + 1,
        train_every_steps=STEPS_PER_UPDATE, target_every_steps=TARGET_EVERY_STEPS,
    )  # fmt: skip
    explore = ExploreConfig(
        only_steps=REPLAY_STEPS, schedule="linear", linear_steps=1, epsilon_final=EPSILON
    )
    config = AtariTrainConfig(
        agent=agent, game="pong", protocol="nature", network="nature", number_format=number_format,
        lanes=NUM_ENVS, learn=learn, explore=explore,
        mbe=LatentMbeConfig(fit_from_steps=START_STEPS),  # or it takes minutes to fill the replay
    )  # fmt: skip
    parts = atari_parts(config, "cpu", lambda _done, _total: None)
    trainer = Trainer(config, agent, parts)

    def train(steps: int) -> None:
        for _ in range(steps // NUM_ENVS):
            trainer.advance()

    return Training(train, lambda: int(parts.learner.saved()["adam/0/step"]))


def sb3_pong(*, subprocesses: bool = False) -> Training:
    """Return the training of Stable-Baselines3's DQN."""
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_atari_env
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

    envs = make_atari_env(  # its wrapper skips frames, clips rewards and begins with no-ops
        "ale_py:ALE/Pong-v5", NUM_ENVS, seed=0,
        vec_env_cls=SubprocVecEnv if subprocesses else DummyVecEnv,
        env_kwargs={"frameskip": 1, "repeat_action_probability": 0.0},
        wrapper_kwargs={"terminal_on_life_loss": False},
    )  # fmt: skip
    model = DQN(
        "CnnPolicy", VecFrameStack(envs, 4), learning_rate=LR, batch_size=BATCH, gamma=DISCOUNT,
        max_grad_norm=MAX_GRAD_NORM, buffer_size=REPLAY_STEPS, learning_starts=START_STEPS,
        train_freq=1, gradient_steps=NUM_ENVS // STEPS_PER_UPDATE,
        target_update_interval=TARGET_EVERY_STEPS, exploration_initial_eps=EPSILON,
        exploration_final_eps=EPSILON, device="cpu", seed=0,
    )  # fmt: skip
    return Training(
        lambda steps: model.learn(steps, reset_num_timesteps=False), lambda: model._n_updates
    )
