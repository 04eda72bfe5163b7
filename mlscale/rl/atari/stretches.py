"""Stretches: episodes that one lane plays in a row from a single emulator seed.

Seeding makes the emulator load its ROM anew, about 90 ms of CPU time in ale-py 0.12.1, as much
as a short episode takes to play. So where many episodes are asked for, some share a seed: a
stretch goes on in the emulator's own random stream until it has lasted `STRETCH_FRAMES`. What is
left of it then starts afresh, from its next episode's seed and in whichever lane is free.

Which episodes share a seed depends on their numbers and lengths alone, never on timing, so the
same command gives the same episodes. A stretch's episodes are handed over together when it ends:
what is recorded is never played again, and an interruption costs at most one stretch a lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

STRETCH_FRAMES = 20_000
MAX_STRETCH_EPISODES = 8
STRETCHES_WANTED = 16  # so many at least, for the lanes to share


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeStart:
    """An episode to play.

    Args:
        episode: Its number within the seed, from 0.
        emulator_seed: Seed of sticky actions and no-op starts, 31 bits; used by the first
            episode of a stretch.
        agent_seed: Seed for what the agent draws.
    """

    episode: int
    emulator_seed: int
    agent_seed: int


Stretch = Sequence[EpisodeStart]


def cut_into_stretches(starts: Sequence[EpisodeStart], num_episodes: int) -> list[Stretch]:
    """Return the episodes in stretches.

    Args:
        starts: The episodes that are still to be played, in ascending order.
        num_episodes: How many were asked for in all; the same cuts come of any part of them.
    """
    length = min(MAX_STRETCH_EPISODES, max(1, num_episodes // STRETCHES_WANTED))
    parts = itertools.groupby(starts, key=lambda start: start.episode // length)
    return [list(part) for _, part in parts]
