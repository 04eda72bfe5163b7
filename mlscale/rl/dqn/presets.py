"""Named settings of training: the paper's, the same mended, tuned ones and a quick one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from mlscale.rl.dqn.config import (
    AgentConfig,
    ExplorationConfig,
    ExploreConfig,
    LearnConfig,
    MbeConfig,
    StudyConfig,
    TrainConfig,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FAITHFUL_MBE = MbeConfig(
    density="gaussian", dynamics="direct", lr=0.02, fit_every_steps=25, gate_mse=0.0003
)


class Settings(TypedDict, total=False):
    """What a preset decides, whichever command it is for."""

    env: str
    steps: int
    learn: LearnConfig
    explore: ExploreConfig
    mbe: MbeConfig


def faithful() -> Settings:
    """Return the settings of Gou and Liu's paper and, where it says more, of their code."""
    return Settings(
        learn=LearnConfig(
            lr=0.05,
            batch=16,
            loss="mse",
            time_limits="terminal",
            start_steps=16,
            target_every_steps=8,
        ),
        explore=ExploreConfig(baselines_too=False, decay_from="start"),
        mbe=FAITHFUL_MBE,
    )


def fixed() -> Settings:
    """Return the same agent with its mistakes mended: these are the defaults."""
    return Settings(learn=LearnConfig(), explore=ExploreConfig(), mbe=MbeConfig())


def tuned() -> Settings:
    """Return settings of our own that solve MountainCar-v0 with dqn_mbe.

    They began as rl-baselines3-zoo's for DQN: its batch and gradient clipping stayed.
    """
    return Settings(
        env="MountainCar-v0",
        steps=100_000,
        learn=LearnConfig(
            hidden=(128, 128),
            lr=5e-4,
            max_grad_norm=10.0,
            batch=128,
            n_step=3,
            target="double",
            replay_steps=100_000,
            start_steps=1_000,
            target_every_steps=1_000,
        ),
        explore=ExploreConfig(
            only_steps=2_000, schedule="linear", epsilon_final=0.001, linear_steps=15_000
        ),
    )


def tuned_lunar() -> Settings:
    """Return settings that solve LunarLander-v3 with dqn.

    They are rl-baselines3-zoo's for DQN, but for double targets, three-step returns, a memory
    twice as large, half as many steps more, and a smaller epsilon in the end.
    """
    return Settings(
        env="LunarLander-v3",
        steps=150_000,
        learn=LearnConfig(
            hidden=(256, 256),
            lr=6.3e-4,
            max_grad_norm=10.0,
            batch=128,
            n_step=3,
            target="double",
            replay_steps=100_000,
            start_steps=1_000,
            train_every_steps=4,
            updates=4,
            target_every_steps=250,
        ),
        explore=ExploreConfig(
            only_steps=0, schedule="linear", epsilon_final=0.02, linear_steps=20_000
        ),
    )


def tiny() -> Settings:
    """Return a training that ends in seconds: a quick look that everything works."""
    return Settings(steps=2_000, explore=ExploreConfig(only_steps=1_000))


PIECES: dict[str, Callable[[], Settings]] = {
    "faithful": faithful,
    "fixed": fixed,
    "tuned": tuned,
    "tuned_lunar": tuned_lunar,
    "tiny": tiny,
}


def _train(name: str) -> Callable[[], AgentConfig]:
    return lambda: TrainConfig(**PIECES[name]())


def _study(name: str) -> Callable[[], AgentConfig]:
    few: dict[str, Any] = {"seeds": 3} if name == "tiny" else {}
    return lambda: StudyConfig(**PIECES[name](), **few)


TRAIN_PRESETS = {name: _train(name) for name in PIECES}
STUDY_PRESETS = {name: _study(name) for name in PIECES}
EXPLORE_PRESETS: dict[str, Callable[[], ExplorationConfig]] = {
    "faithful": lambda: ExplorationConfig(mbe=FAITHFUL_MBE),
    "fixed": ExplorationConfig,
    "tiny": lambda: ExplorationConfig(episodes=4, seeds=1),
}
