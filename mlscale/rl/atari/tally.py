"""What an episode has come to so far, and whether it gets anywhere: one rule for all who play."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.rl.atari.rollover import COUNTER_MODULUS, MARKS_READ_AS, unwrap, without_marks

if TYPE_CHECKING:
    from mlscale.rl.atari.protocols import Protocol


class Tally:
    """Points and frames of the episode being played.

    Args:
        game: ALE ROM id.
        protocol: The conditions it is played under.

    Attributes:
        score: Game points so far, counter roll-over repaired.
        frames: Emulator frames so far, no-op starts included.
    """

    def __init__(self, game: str, protocol: Protocol) -> None:
        self._modulus, self._marks = COUNTER_MODULUS.get(game), MARKS_READ_AS.get(game)
        self._stuck_frames = protocol.stuck_frames
        self.begin()

    def begin(self) -> None:
        """Begin another episode."""
        self.score, self.frames, self._rewarded_frames = 0, 0, 0

    def take(self, reward: int, frames: int) -> int:
        """Take in a step and return its reward, repaired.

        Args:
            reward: Game points as the emulator gives them.
            frames: Emulator frames of the episode up to and including the step.
        """
        if reward < 0 and self._modulus is not None:  # roll-overs are negative, and rare
            reward = int(unwrap(reward, self._modulus))
        if self._marks is not None:
            reward = without_marks(reward, self.score, self._marks)
        self.frames = frames
        if reward:
            self.score += reward
            self._rewarded_frames = frames
        return reward

    @property
    def is_stuck(self) -> bool:
        """Whether so many frames went by without any points that the protocol ends the episode."""
        limit = self._stuck_frames
        return limit is not None and self.frames - self._rewarded_frames >= limit
