"""Processes that torchrun has started, of which this is one. Standard library only."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mlscale.core.errors import MlscaleError

LEADS_FIRST_S = 10.0
"""Wrong usage is most often that of all ranks: rank 0 says so, and torchrun ends the others."""


@dataclass(frozen=True, slots=True)
class World:
    """This process among those of its launch, on all machines.

    Args:
        rank: Its number; 0 leads.
        size: How many there are.
        local_rank: Its number on this machine.
        local_size: How many there are on this machine.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int


class ToldElsewhereError(MlscaleError):
    """What ends this process is said by the one that it happened to, and by rank 0."""


def torchrun_world() -> World | None:
    """Return what torchrun says of this process; None where it did not start it."""
    if "TORCHELASTIC_RUN_ID" not in os.environ:
        return None
    names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    return World(*(int(os.environ[name]) for name in names))


def torchrun_size() -> int | None:
    """Return how many processes torchrun has started; None without it."""
    world = torchrun_world()
    return world.size if world else None


def follows() -> int:
    """Return this process's rank where another leads, else 0."""
    world = torchrun_world()
    return world.rank if world else 0
