"""Policies saved with `torch.export.save`: a program that maps frames to action values.

The program takes (N, 4, 84, 84) uint8 frames, N dynamic or any fixed number, and returns (N, A)
values or logits. Loading one runs pickle inside torch, so it is done on `--trust` only.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError, one_line
from mlscale.rl.atari.agents.actions import policy_actions
from mlscale.rl.atari.agents.network_agent import NetworkAgent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch import Tensor
    from torch.export import ExportedProgram

    from mlscale.rl.atari.agents.base import Agent, Task

FRAMES_SHAPE = (4, 84, 84)


def load_exported(path: Path, task: Task) -> Agent:
    """Return an agent that plays an exported program.

    Raises:
        UserError: The file is no exported program, or its input or output has another form.
    """
    import torch

    logging.getLogger("torch.export").setLevel(logging.ERROR)  # it warns with a traceback
    try:
        program = torch.export.load(path)
    except Exception as error:  # noqa: BLE001 - torch raises many kinds for a bad file
        raise UserError(
            f"{path} is not a torch.export program: {one_line(error)}",
            "save one with torch.export.save",
        ) from None
    batch_size = _fixed_batch(program, path)
    module = program.module().to(task.device)
    frames_NFHW = torch.zeros((batch_size or 1, *FRAMES_SHAPE), dtype=torch.uint8)
    try:
        values_NA = module(frames_NFHW.to(task.device))
    except Exception as error:  # noqa: BLE001 - a program may do anything
        raise UserError(f"{path} cannot be run: {one_line(error)}") from None
    if not isinstance(values_NA, torch.Tensor) or values_NA.ndim != 2:
        raise UserError(f"{path} must return one (N, actions) tensor of values or logits")
    network = module if batch_size is None else _in_batches(module, batch_size)
    return NetworkAgent(network, policy_actions(task.game, values_NA.shape[1]), task)


def _fixed_batch(program: ExportedProgram, path: Path) -> int | None:
    """Return the batch size the program was exported with, or None when any will do."""
    import torch

    inputs = [
        node for node in program.graph.nodes if node.name in program.graph_signature.user_inputs
    ]
    num_inputs = len(program.graph_signature.user_inputs)  # constants among them
    value = inputs[0].meta["val"] if len(inputs) == num_inputs == 1 else None
    if (
        not isinstance(value, torch.Tensor)
        or tuple(value.shape[1:]) != FRAMES_SHAPE
        or value.dtype != torch.uint8
    ):
        raise UserError(
            f"{path} must take one input of (N, 4, 84, 84) uint8 frames",
            "export it with torch.zeros((2, 4, 84, 84), dtype=torch.uint8)",
        )
    return value.shape[0] if isinstance(value.shape[0], int) else None


def _in_batches(module: Callable[[Tensor], Tensor], size: int) -> Callable[[Tensor], Tensor]:
    """Return a network of any batch size out of one of a fixed size."""
    import torch

    def network(frames_NFHW: Tensor) -> Tensor:
        num = len(frames_NFHW)
        padded = torch.nn.functional.pad(frames_NFHW, (0, 0, 0, 0, 0, 0, 0, -num % size))
        return torch.cat([module(part) for part in torch.split(padded, size)])[:num]

    return network
