"""Settings of `mlscale rl watch`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlscale.core.config import Seeded, check_fields, opt


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConfig(Seeded):
    """Settings of `mlscale rl watch`.

    Args:
        run: A run directory of `mlscale rl train`.
        episodes: Episodes to play, one after another in one film.
        max_steps: Environment steps after which the film ends, a picture each.
        format: What kind of film.
    """

    run: Path = opt(help="Run directory of `mlscale rl train`.", argument=True, metavar="RUN")
    episodes: int = opt(1, help="Episodes to play.", ge=1)
    max_steps: int = opt(10_000, help="Steps after which the film ends.", ge=1)
    format: Literal["mp4", "gif"] = opt("mp4", help="Kind of film; both need the extra video.")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
