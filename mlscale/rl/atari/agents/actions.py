"""Fitting a policy's own actions to the ones a protocol offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlscale.rl.atari.agents.base import Task

FULL_ACTIONS = tuple(range(18))


def minimal_actions(game: str) -> tuple[int, ...]:
    """Return the ALE actions that mean something in `game`, in the emulator's order."""
    from ale_py import ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.loadROM(str(roms.get_rom_path(game)))
    return tuple(int(action.value) for action in emulator.getMinimalActionSet())


def policy_actions(game: str, num_outputs: int) -> tuple[int, ...]:
    """Return the ALE action behind each of a policy's outputs, told by how many there are.

    Raises:
        UserError: A policy for this game has either all 18 actions or the game's own.
    """
    minimal = minimal_actions(game)
    if num_outputs == len(minimal):
        return minimal
    if num_outputs == len(FULL_ACTIONS):
        return FULL_ACTIONS
    raise UserError(
        f"the policy has {num_outputs} actions; {game} has {len(minimal)} (or all 18)",
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
