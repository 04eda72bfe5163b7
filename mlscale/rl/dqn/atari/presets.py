"""Named settings of `mlscale atari train`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mlscale.rl.dqn.atari.config import (
    ATARI_EXPLORE,
    ATARI_LEARN,
    AtariTrainConfig,
    LatentMbeConfig,
)
from mlscale.rl.dqn.config import ExploreConfig, LearnerConfig

if TYPE_CHECKING:
    from collections.abc import Callable

GAME = "pong"  # every preset needs one; `--game` names another


def atari100k() -> AtariTrainConfig:
    """Return the defaults: 400k frames on one CPU core, as the shipped agents were trained."""
    return AtariTrainConfig(game=GAME)


def nature() -> AtariTrainConfig:
    """Return the settings of Mnih et al. 2015, with Adam in place of RMSProp.

    Training episodes end with the game, not with a life.

    Source: Mnih et al. 2015, extended data table 1; one emulator, as there.
    """
    return AtariTrainConfig(
        agent="dqn",
        game=GAME,
        frames=200_000_000,
        protocol="nature",
        network="nature",
        number_format="float32",
        lanes=1,
        learn=LearnerConfig(
            lr=2.5e-4 / 4,
            adam_eps=1.5e-4,
            batch=32,
            replay_steps=1_000_000,
            start_steps=50_000,
            train_every_steps=4,
            target_every_steps=40_000,
        ),
        explore=ExploreConfig(
            only_steps=50_000,
            schedule="linear",
            epsilon_final=0.1,
            linear_steps=1_000_000,
            decay_from="start",
        ),
        checkpoint_every_frames=1_000_000,
    )


def tiny() -> AtariTrainConfig:
    """Return a training that ends in seconds: a quick look that everything works."""
    return AtariTrainConfig(
        game=GAME,
        frames=4_000,
        lanes=2,
        learn=dataclasses.replace(ATARI_LEARN, start_steps=400, train_every_steps=16),
        explore=dataclasses.replace(ATARI_EXPLORE, only_steps=400, linear_steps=400),
        mbe=LatentMbeConfig(window=50, fit_from_steps=100),
        checkpoint_every_frames=2_000,
    )


TRAIN_PRESETS: dict[str, Callable[[], AtariTrainConfig]] = {
    "atari100k": atari100k,
    "nature": nature,
    "tiny": tiny,
}
