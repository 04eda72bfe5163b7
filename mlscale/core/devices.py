"""Which device a run computes on."""

from __future__ import annotations

import re

from mlscale.core.errors import UserError, unknown_name

DEVICES = ("auto", "cpu", "cuda", "mps")


def check_device_name(name: str) -> None:
    """Check the form of a device name without importing torch.

    Raises:
        UserError: It is none of auto, cpu, cuda, cuda:N, mps.
    """
    if name not in DEVICES and not re.fullmatch("cuda:[0-9]+", name):
        listing = f"choices: {', '.join(DEVICES)}, cuda:N"
        raise unknown_name("device", name, DEVICES, listing=listing)


def resolve_device(name: str) -> str:
    """Return the torch device for `name`; "auto" takes a GPU where there is one.

    Raises:
        UserError: The device is not a device here.
    """
    import torch

    check_device_name(name)
    has_mps = torch.backends.mps.is_available()
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if has_mps else "cpu"
    kind, _, index = name.partition(":")
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError("no CUDA device here", "use --device cpu, or `mlscale doctor` to see why")
    if kind == "cuda" and index and int(index) >= torch.cuda.device_count():
        raise UserError(f"no device {name}: this machine has {torch.cuda.device_count()}")
    if kind == "mps" and not has_mps:
        raise UserError("no MPS device here", "use --device cpu, or `mlscale doctor` to see why")
    return name
