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
    """Return rl-baselines3-zoo's DQN settings for MountainCar-v0."""
    return Settings(
        env="MountainCar-v0",
        steps=120_000,
        learn=LearnConfig(
            hidden=(256, 256),
            lr=4e-3,
            batch=128,
            discount=0.98,
            replay_steps=10_000,
            start_steps=1_000,
            train_every_steps=16,
            updates=8,
            target_every_steps=600,
        ),
        explore=ExploreConfig(
            only_steps=0, schedule="linear", epsilon_final=0.07, linear_steps=24_000
        ),
    )


def tuned_lunar() -> Settings:
    """Return rl-baselines3-zoo's DQN settings for LunarLander, as far as they are recorded."""
    return Settings(
        env="LunarLander-v3",
        steps=100_000,
        learn=LearnConfig(
            hidden=(256, 256),
            lr=6.3e-4,
            batch=128,
            discount=0.99,
            replay_steps=50_000,
            start_steps=1_000,
            train_every_steps=4,
            updates=4,
            target_every_steps=250,
        ),
        explore=ExploreConfig(
            only_steps=0, schedule="linear", epsilon_final=0.1, linear_steps=12_000
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
