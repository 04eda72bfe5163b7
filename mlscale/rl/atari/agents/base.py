"""What an agent is: something that, for a batch of observations, gives a batch of actions.

Letters: N lanes (episodes played at once), F stacked frames, H height, W width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Agent(Protocol):
    """Plays `num_lanes` episodes at once, each in its own row of the batch."""

    def reset(self, num_lanes: int) -> None:
        """Get ready to play in `num_lanes` lanes; called once, before anything else."""

    def act(self, observations_NFHW: NDArray[np.uint8]) -> NDArray[np.integer[Any]]:
        """Return one action per lane.

        Args:
            observations_NFHW: (N, 4, 84, 84) grey frames, oldest first, range 0..255. The
                array is reused between calls: copy what must outlive this one.

        Returns:
            (N,) integers, each an index into the task's `action_ids`. Rows of lanes that have
            run out of episodes hold old frames; their actions are ignored.
        """


@runtime_checkable
class EpisodicAgent(Agent, Protocol):
    """An agent with state or randomness of its own per episode.

    Drawing from the given seed makes each episode the same whichever lane plays it and whatever
    was played before, which is what lets an interrupted evaluation go on exactly.
    """

    def begin(self, lane: int, seed: int) -> None:
        """Take note that a new episode begins in `lane`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What an agent is made for.

    Args:
        game: ALE ROM id, as in "ms_pacman".
        action_ids: The ALE action behind each action index (0 no-op, 1 fire, ...), so that a
            policy trained on a game's own few actions can play with all 18.
        seed: Seed of the run, for agents that are not episodic.
        device: Torch device to compute on.
    """

    game: str
    action_ids: tuple[int, ...]
    seed: int = 0
    device: str = "cpu"

    @property
    def num_actions(self) -> int:
        """How many action indices are legal."""
        return len(self.action_ids)


AgentFactory = Callable[[Task], Agent]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEntry:
    """A runnable agent as the registry knows it.

    Args:
        name: As on the command line.
        factory: Makes the agent for a task; called once per group of lanes.
        games: ROM ids it can play, or None for every game.
        description: One line for listings.
        train_frames: Emulator frames it was trained for, where known.
        uses_torch: Whether it computes with torch, so that workers import it once for all.
        note: What is said once before it plays, as that its weights cover some games only.
        other_games: How a game that is not covered can be, for the error.
        weights: By game, what is known of the weights it plays, `sha256` in any case; it goes
            into the result, and an evaluation does not go on with other weights.
        checkpoints: By game, the checkpoint it is played from, for an agent of training runs.
    """

    name: str
    factory: AgentFactory
    games: Sequence[str] | None = None
    description: str = ""
    train_frames: int | None = None
    uses_torch: bool = False
    note: str = ""
    other_games: str = ""
    weights: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    checkpoints: Mapping[str, Path] = field(default_factory=dict)
