"""Settings of `mlscale atari train`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mlscale.core.config import Seeded, check_fields, opt
from mlscale.core.devices import check_device_name
from mlscale.rl.atari.config import ProtocolName
from mlscale.rl.dqn.config import AgentName, ExploreConfig, LearnerConfig, RndConfig

FRAME_SKIP = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentMbeConfig:
    """One-step planning among latents of frames.

    Args:
        density: How familiarity is measured.
        window: Recent latents that count as familiar.
        hidden: Hidden units of the dynamics model.
        lr: Its learning rate.
        batch: Its transitions per update.
        fits_per_action: Its updates for each exploratory action.
        fit_from_steps: Environment steps before its first update.
    """

    density: Literal["neighbours", "low_rank"] = opt(
        "neighbours", help="How familiarity is measured.", flag=False
    )
    window: int = opt(400, help="Recent latents that count as familiar.", ge=2, flag=False)
    hidden: int = opt(256, help="Hidden units of the model.", ge=1, flag=False)
    lr: float = opt(1e-3, help="Learning rate of the model.", gt=0, flag=False)
    batch: int = opt(64, help="Transitions per update.", ge=1, flag=False)
    fits_per_action: int = opt(1, help="Updates per exploratory action.", ge=1, flag=False)
    fit_from_steps: int = opt(400, help="Steps before the first update.", ge=1, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)


ATARI_LEARN = LearnerConfig(
    lr=5e-4,
    adam_eps=1.5e-4,
    batch=32,
    n_step=10,
    target="double",
    replay_steps=100_000,
    start_steps=1_600,
    train_every_steps=4,
    target_every_steps=2_000,
)
ATARI_EXPLORE = ExploreConfig(
    only_steps=2_000,
    schedule="linear",
    epsilon_final=0.02,
    linear_steps=25_000,
    hold_steps=4,
)
ATARI_RND = RndConfig(scale=0.01, hidden=(256,), features=64, lr=1e-4)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtariTrainConfig(Seeded):
    """Settings of `mlscale atari train`.

    Args:
        agent: Which agent.
        game: ALE ROM id, as in "ms_pacman".
        frames: Emulator frames to train for, four to an agent step.
        protocol: The conditions episodes are played under.
        network: Encoder and width.
        number_format: What the encoder computes in; auto is bfloat16 where that is faster.
        lanes: Emulators stepped side by side.
        threads: Torch threads.
        learn: How values are learned.
        explore: When to explore.
        mbe: How dqn_mbe explores.
        rnd: How dqn_rnd explores.
        checkpoint_every_frames: Emulator frames between checkpoints.
        tensorboard: Whether every record goes to the run's `tensorboard` folder too.
        device: Torch device of the networks.
    """

    agent: AgentName = opt("dqn_mbe", help="Which agent.")
    game: str = opt(help="Game, as in pong or ms_pacman.", metavar="GAME")
    frames: int = opt(400_000, help="Emulator frames, four to a step, as in 400k.", ge=4,
                      may_change=True)  # fmt: skip
    protocol: ProtocolName = opt("saber", help="Conditions an episode is played under.")
    network: Literal["small", "nature", "impala"] = opt("small", help="Encoder and its width.")
    number_format: Literal["auto", "float32", "bfloat16"] = opt(
        "auto", help="What the encoder computes in; auto: bfloat16 where that is faster."
    )
    lanes: int = opt(8, help="Emulators stepped side by side.", ge=1, le=256)
    threads: int = opt(1, help="Torch threads.", ge=1)
    learn: LearnerConfig = opt(ATARI_LEARN, help="How values are learned.")
    explore: ExploreConfig = opt(ATARI_EXPLORE, help="When to explore.")
    mbe: LatentMbeConfig = opt(LatentMbeConfig(), help="How dqn_mbe explores.", flag=False)
    rnd: RndConfig = opt(ATARI_RND, help="How dqn_rnd explores.", flag=False)
    checkpoint_every_frames: int = opt(
        100_000, help="Frames between checkpoints.", ge=4, may_change=True, flag=False
    )
    tensorboard: bool = opt(
        False, help="Write records for TensorBoard too (extra tensorboard).", may_change=True
    )
    device: str = opt("cpu", help="auto, cpu, cuda, cuda:N or mps.", may_change=True)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_device_name(self.device)

    @property
    def steps(self) -> int:
        """Environment steps of the budget."""
        return self.frames // FRAME_SKIP
