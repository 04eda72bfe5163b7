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

    import numpy as np
    from numpy.typing import NDArray
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
        _remove_leftovers(folder)
        temporary.mkdir(parents=True)
        try:
            write_atomic(temporary / "tensors.safetensors", save(_unshared(tensors)))
            write_atomic(temporary / "state.json", to_json(dict(state)))
            _set_aside(target)
            temporary.replace(target)
            _sync_folder(folder)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            _put_back(target)
            raise
        for old in checkpoint_steps(folder)[:-KEEP]:
            _set_aside(folder / str(old))
        _remove_leftovers(folder)
    return target


def _unshared(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return contiguous tensors, with a copy of each that shares memory with one before it."""
    seen: set[int] = set()
    unshared = {}
    for name, tensor in tensors.items():
        memory = tensor.untyped_storage().data_ptr()
        unshared[name] = tensor.clone() if memory in seen else tensor
        unshared[name] = unshared[name].contiguous()
        seen.add(memory)
    return unshared


def _set_aside(checkpoint: Path) -> None:
    """Hide a checkpoint under another name: a kill while files go must leave none half there."""
    if checkpoint.exists():
        checkpoint.replace(_aside(checkpoint))


def _put_back(checkpoint: Path) -> None:
    if _aside(checkpoint).exists() and not checkpoint.exists():
        _aside(checkpoint).replace(checkpoint)


def _aside(checkpoint: Path) -> Path:
    return checkpoint.with_name(f".{checkpoint.name}.old")


def _remove_leftovers(folder: Path) -> None:
    """Remove hidden folders: checkpoints set aside, and those a kill left half-written."""
    for entry in folder.glob(".*"):
        shutil.rmtree(entry, ignore_errors=True)


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


def load_arrays(folder: Path, step: int, prefix: str) -> dict[str, NDArray[np.generic]]:
    """Return the tensors of a checkpoint whose names begin with `prefix`, named without it.

    The others are not read, nor is torch imported: a network can be had without its replay.

    Raises:
        UserError: The checkpoint is missing or damaged, or has no such tensor.
    """
    from safetensors import SafetensorError, safe_open

    file = folder / str(step) / "tensors.safetensors"
    try:
        with safe_open(file, framework="numpy") as tensors:
            arrays = {
                name.removeprefix(prefix): tensors.get_tensor(name)
                for name in tensors.keys()  # noqa: SIM118 - it is no mapping
                if name.startswith(prefix)
            }
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{file.parent} is not a readable checkpoint: {error}",
            f"complete checkpoints here: {checkpoint_steps(folder) or 'none'}",
        ) from None
    if not arrays:
        raise UserError(f"{file.parent} has no tensor named {prefix}...")
    return arrays
