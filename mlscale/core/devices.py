"""Which device a run computes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def resolve_number_format(name: str, device: str) -> str:
    """Return the number format for `name`; "auto" takes bfloat16 where the device is built for it.

    A CPU without instructions for bfloat16 emulates it: convolutions take tens of times as long as
    in float32.

    Args:
        name: auto, float32 or bfloat16.
        device: As `resolve_device` returns it.
    """
    if name != "auto":
        return name
    return "bfloat16" if _has_bfloat16(device) else "float32"


def _has_bfloat16(device: str) -> bool:
    """Return whether a device is known to have instructions: x86 processors and CUDA only."""
    import torch

    if device == "cpu":
        capabilities_of: Callable[[], Mapping[str, object]]
        capabilities_of = getattr(torch.cpu, "get_capabilities", dict)  # not in older versions
        capabilities = capabilities_of()
        return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))
    return device.startswith("cuda") and bool(
        torch.cuda.is_bf16_supported(including_emulation=False)
    )
