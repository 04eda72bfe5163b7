"""Settings of `mlscale atari watch`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlscale.core.config import Seeded, check_fields, opt
from mlscale.core.errors import UserError
from mlscale.rl.atari.config import ProtocolName

FIVE_MINUTES_FRAMES = 18_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchConfig(Seeded):
    """Settings of `mlscale atari watch`.

    Args:
        agent: Name, file, training run or module:factory; left out, that of `ckpt`.
        ckpt: A training run whose newest checkpoint plays in place of shipped weights.
        game: The game to play; left out, the only one the agent covers.
        protocol: The conditions an episode is played under.
        max_frames: Emulator frames after which the episode is cut off, where the protocol's own
            cap does not come first.
        format: What kind of film.
        trust: Whether agent files may run pickles.
    """

    agent: str = opt(
        "",
        help="Agent: a name, a training run, module:factory, a .pt2 or .zip file.",
        metavar="NAME|FILE|CODE",
    )
    ckpt: Path | None = opt(None, help="Training run whose newest checkpoint plays.", metavar="RUN")
    game: str = opt("", help="The game to play; the agent's, where it covers only one.")
    protocol: ProtocolName = opt("saber", help="Conditions an episode is played under.")
    max_frames: int = opt(
        FIVE_MINUTES_FRAMES, help="Frames (60 a second) after which the episode is cut off.", ge=4
    )
    format: Literal["mp4", "gif"] = opt("mp4", help="Kind of film; mp4 needs the extra video.")
    trust: bool = opt(False, help="Open agent files that may run code when loaded.")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        if not self.agent and not self.ckpt:
            raise UserError("--agent is required", "Agent: a name, a file or code; or --ckpt RUN.")
