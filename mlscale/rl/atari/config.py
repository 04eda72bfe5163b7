"""Settings of the `mlscale atari` commands. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlscale.core.config import Seeded, check_fields, opt
from mlscale.core.devices import check_device_name
from mlscale.core.errors import UserError

Headline = Literal["hwr", "hns", "saber", "all"]
SaberClip = Literal["upper", "both"]
Ties = Literal["count", "strict"]
ProtocolName = Literal["saber", "machado", "nature", "v5"]
EngineName = Literal["local", "ray"]

SABER_LIST = "saber-2019"
SOME_GAMES = "Only these: atari57, atari5, names with commas, or common to all agents (common)."


@dataclass(frozen=True, slots=True, kw_only=True)
class Conventions(Seeded):
    """What every scoring command agrees on.

    Args:
        metric: The headline; the JSON always has every metric.
        records: Name of a shipped record list, or a file of the user's own.
        saber_clip: Clip of SABER; published tables come out with "upper" only.
        ties: Whether equalling a record counts as breaking it.
        resamples: Bootstrap resamples behind the 95 % intervals.
        report: Whether report.html, figures and tables are written.

    None of these changes an episode, so a finished evaluation can be scored again under others.
    """

    metric: Headline = opt(
        "hwr",
        help="Headline: world records, average human, SABER, or all of them.",
        may_change=True,
    )
    records: str = opt(
        SABER_LIST,
        help="Record list: saber-2019, or a FILE with game,record.",
        metavar="NAME|FILE",
        may_change=True,
    )
    saber_clip: SaberClip = opt(
        "upper", help="Clip SABER at 200 % only, or at 0 and 200 % (both).", may_change=True
    )
    ties: Ties = opt("count", help="Whether equalling a world record breaks it.", may_change=True)
    resamples: int = opt(
        10_000, help="Bootstrap resamples for intervals.", ge=100, le=1_000_000, may_change=True
    )
    report: bool = opt(
        True, help="Write report.html, the figures and the tables as files.", may_change=True
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GamesConfig(Seeded):
    """Settings of `mlscale atari games`."""

    games: str = opt("atari57", help="atari57, atari5, or names with commas.", metavar="GAMES")
    records: str = opt(
        SABER_LIST, help="Record list: saber-2019, or a FILE with game,record.", metavar="NAME|FILE"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentsConfig(Seeded):
    """Settings of `mlscale atari agents`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig(Conventions):
    """Settings of `mlscale atari score`.

    Args:
        file: A score table, long (agent,game,seed,score) or wide.
    """

    file: Path = opt(help="Score table: CSV, TSV or JSON; - reads stdin.", argument=True)
    games: str = opt("", help=SOME_GAMES, metavar="GAMES")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareConfig(Conventions):
    """Settings of `mlscale atari compare`.

    Args:
        agents: Published agents, run directories or score tables; LABEL=NAME renames one.
    """

    agents: tuple[str, ...] = opt(
        help="Published agents, score tables, run directories; LABEL=NAME.", argument=True
    )
    games: str = opt("", help=SOME_GAMES, metavar="GAMES")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        if len(set(self.agents)) != len(self.agents):
            raise UserError("the same agent is named twice", "name each once")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig(Conventions):
    """Settings of `mlscale atari eval`.

    Args:
        agent: Name, file, training run or module:factory; left out, that of `ckpt`.
        ckpt: Training runs, one a game, whose newest checkpoints play in place of shipped weights.
        games: The games, or nothing for those the agent can play.
        protocol: The conditions an episode is played under.
        episodes: Episodes per game and seed.
        seeds: How many seeds: `seed`, `seed` + 1, ...
        max_frames: Overrides the protocol's frame cap.
        lanes: Most episodes of a game and seed played at once.
        engine: Where jobs run.
        workers: Jobs (games x seeds) run at once; half the cores when None.
        silence_limit_s: Seconds without a sign of life after which a job is killed.
        device: Torch device of the policy.
        trust: Whether agent files may run pickles.
    """

    agent: str = opt(
        "",
        help="Agent: a name, module:factory, a .pt2 or .zip file, a training run.",
        metavar="NAME|FILE|CODE",
    )
    ckpt: tuple[Path, ...] = opt(
        (),
        help="Training runs, with commas, whose newest checkpoints play.",
        metavar="RUN[,RUN]",
        may_change=True,  # weights are told apart by what they are, not by where they lie
    )
    games: str = opt(
        "", help="atari57, atari5, or names with commas; all the agent covers by default."
    )
    protocol: ProtocolName = opt("saber", help="Conditions an episode is played under.")
    episodes: int = opt(5, help="Episodes per game and seed.", ge=1, may_change=True)
    seeds: int = opt(1, help="Seeds; three or more give intervals.", ge=1, may_change=True)
    max_frames: int | None = opt(
        None, help="Frame cap in place of the protocol's, for a quick look.", ge=4
    )
    lanes: int = opt(16, help="Episodes played at once in a job.", ge=1, le=1024, may_change=True)
    engine: EngineName = opt(
        "local", help="Run jobs in local processes or on Ray.", may_change=True
    )
    workers: int | None = opt(
        None, help="Jobs at once; by default one for every two cores.", ge=1, may_change=True
    )
    silence_limit_s: float = opt(
        120.0,
        help="Kill a job silent for this long, in seconds.",
        gt=0,
        may_change=True,
        flag=False,
    )
    device: str = opt("auto", help="auto, cpu, cuda, cuda:N or mps.", may_change=True)
    trust: bool = opt(
        False, help="Open agent files that may run code when loaded.", may_change=True
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_device_name(self.device)
        if not self.agent and not self.ckpt:
            raise UserError("--agent is required", "Agent: a name, a file or code; or --ckpt RUN.")


def tiny() -> EvalConfig:
    """Return an evaluation that ends in seconds: a quick look that everything works."""
    return EvalConfig(agent="random", games="pong,breakout", episodes=2, max_frames=2_000)


EVAL_PRESETS = {"tiny": tiny}
