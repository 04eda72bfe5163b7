"""Settings of `mlscale decentral report`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlscale.core.config import Seeded, check_fields, opt
from mlscale.core.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportConfig(Seeded):
    """Settings of `mlscale decentral report`.

    Args:
        runs: Run directories of `mlscale decentral bench` and `train`.
        resamples: Bootstrap resamples behind the 95 % intervals.
    """

    runs: tuple[Path, ...] = opt(
        help="Run directories of `mlscale decentral bench` and `train`.",
        argument=True,
        metavar="RUN...",
    )
    resamples: int = opt(10_000, help="Resamples.", ge=100, le=1_000_000, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        if not self.runs or len(set(self.runs)) != len(self.runs):
            raise UserError("RUN... must name one run or more, each once")
