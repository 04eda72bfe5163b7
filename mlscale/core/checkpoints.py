"""Checkpoints: safetensors for tensors, JSON for the rest, written whole, the last two kept.

A checkpoint is a folder `checkpoints/<step>/` with `tensors.safetensors` and `state.json`. It
is written under a temporary name and renamed, so a folder with a plain number is complete.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.core.files import to_json, write_atomic, writing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch import Tensor

KEEP = 2


def save_checkpoint(
    folder: Path, step: int, tensors: Mapping[str, Tensor], state: Mapping[str, Any]
) -> Path:
    """Write the checkpoint of `step` and remove all but the newest two.

    Args:
        folder: The run's `checkpoints` folder; created when missing.
        step: Non-negative step number, the checkpoint's name.
        tensors: Tensors by name.
        state: Everything else, JSON-ready.

    Raises:
        WorkFailed: The disk is full; the checkpoints before this one are untouched.
    """
    from safetensors.torch import save

    target, temporary = folder / str(step), folder / f".{step}.tmp"
    with writing(target):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
            write_atomic(temporary / "tensors.safetensors", save(contiguous))
            write_atomic(temporary / "state.json", to_json(dict(state)))
            if target.exists():
                shutil.rmtree(target)
            temporary.replace(target)
            _sync_folder(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    for old in checkpoint_steps(folder)[:-KEEP]:
        shutil.rmtree(folder / str(old), ignore_errors=True)
    return target


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checkpoint_steps(folder: Path) -> list[int]:
    """Return the steps of the complete checkpoints in `folder`, smallest first."""
    if not folder.is_dir():
        return []
    return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdigit())


def load_checkpoint(folder: Path, step: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the state of the checkpoint of `step`.

    Raises:
        UserError: It is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    target = folder / str(step)
    try:
        tensors = load((target / "tensors.safetensors").read_bytes())
        state = json.loads((target / "state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, SafetensorError) as error:
        raise UserError(
            f"{target} is not a readable checkpoint: {error}",
            f"complete checkpoints here: {checkpoint_steps(folder) or 'none'}",
        ) from None
    return tensors, state
