"""Fitting a policy's own actions to the ones a protocol offers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.rl.atari.agents.base import Task
    from mlscale.rl.atari.protocols import Protocol

ALL_ACTIONS = tuple(range(18))


@dataclass(frozen=True, slots=True)
class ActionSets:
    """The actions of a game, as the ALE numbers them and in its order.

    Args:
        minimal: Those that mean something in the game.
        legal: Those the emulator takes: all 18, save in Skiing, which has no fire button and
            nine actions. The emulator hangs on any other.
    """

    minimal: tuple[int, ...]
    legal: tuple[int, ...]


@functools.cache
def action_sets(game: str) -> ActionSets:
    """Return the actions of `game`; asking the emulator takes about 0.1 s."""
    from ale_py import ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.loadROM(str(roms.get_rom_path(game)))
    return ActionSets(
        minimal=tuple(int(action.value) for action in emulator.getMinimalActionSet()),
        legal=tuple(int(action.value) for action in emulator.getLegalActionSet()),
    )


def offered_actions(game: str, protocol: Protocol) -> tuple[int, ...]:
    """Return the actions a protocol offers in `game`."""
    sets = action_sets(game)
    return sets.legal if protocol.full_actions else sets.minimal


def policy_actions(game: str, num_outputs: int) -> tuple[int, ...]:
    """Return the ALE action behind each of a policy's outputs, told by how many there are.

    Raises:
        UserError: A policy for this game has either all 18 actions or the game's own.
    """
    sets = action_sets(game)
    for actions in (sets.minimal, sets.legal, ALL_ACTIONS):
        if num_outputs == len(actions):
            return actions
    raise UserError(
        f"the policy has {num_outputs} actions; {game} has {len(sets.minimal)} (or all 18)",
        "was it trained for another game?",
    )


def output_indices(policy_ids: Sequence[int], task: Task) -> tuple[list[int], list[int]]:
    """Return which outputs of a policy are legal in a task, and the task's index of each.

    Args:
        policy_ids: The ALE action behind each output.
        task: What is offered.

    Raises:
        UserError: No action of the policy is offered.
    """
    index_of = {action: index for index, action in enumerate(task.action_ids)}
    legal = [output for output, action in enumerate(policy_ids) if action in index_of]
    if not legal:
        raise UserError(f"none of the policy's actions exists in {task.game} under this protocol")
    return legal, [index_of[policy_ids[output]] for output in legal]
