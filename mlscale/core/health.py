"""Checks of what this machine can run, each with the command that mends what it finds wanting."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mlscale.core.environment import usable_cpus, version_of
from mlscale.core.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

State = Literal["ok", "absent", "broken"]

REQUIRED_PACKAGES = (
    "numpy", "torch", "transformers", "tokenizers", "datasets", "gymnasium", "ale-py",
    "safetensors", "matplotlib", "jinja2", "scikit-learn",
)  # fmt: skip
EXTRAS = {
    "ray": ("ray", "many machines: --engine ray"),
    "tensorboard": ("tensorboard", "training curves in TensorBoard"),
    "video": ("imageio_ffmpeg", "films of episodes"),
    "sb3": ("stable_baselines3", "Stable-Baselines3 policies"),
    "box2d": ("Box2D", "LunarLander"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at.

    Args:
        name: What was looked at.
        state: "absent" is optional and not there, "broken" is required and not right.
        found: What there is, in a few words.
        mend: The command that mends it, or nothing.
    """

    name: str
    state: State
    found: str
    mend: str = ""


def check_all() -> list[Check]:
    """Make every check, in the order they are shown."""
    checks = [_check_machine(), *map(_check_package, REQUIRED_PACKAGES)]
    checks += [_guarded("torch build", _check_torch), _guarded("devices", _check_devices)]
    checks += [_guarded("backends", _check_backends), _guarded("Atari ROMs", _check_roms)]
    checks += [_check_extra(extra, *known) for extra, known in EXTRAS.items()]
    return checks


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a broken install may raise anything at import
        return Check(name, "broken", one_line(error), "pip install --force-reinstall mlscale")


def _check_machine() -> Check:
    found = f"Python {platform.python_version()}, {usable_cpus()} usable CPU cores"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        found += f", {memory_bytes / 2**30:.0f} GiB memory"
    return Check("machine", "ok", f"{found}, {sys.platform}")


def _check_package(name: str) -> Check:
    version = version_of(name)
    if version is None:
        return Check(name, "broken", "not installed", f"pip install {name}")
    return Check(name, "ok", version)


def _check_torch() -> Check:
    import torch

    kind = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU build"
    capability = torch.backends.cpu.get_cpu_capability()
    return Check("torch build", "ok", f"{torch.__version__}, {kind}, {capability}")


def _check_devices() -> Check:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    if torch.backends.mps.is_available():
        names.append("Apple GPU (mps)")
    if names:
        return Check("devices", "ok", ", ".join(names))
    if torch.version.cuda is not None:
        return Check("devices", "absent", "CPU only, though torch is built for CUDA", "nvidia-smi")
    # Without a GPU there is nothing to mend; with one, a CPU build is why it is not seen.
    mend = "pip install --force-reinstall torch" if shutil.which("nvidia-smi") else ""
    return Check("devices", "absent", "CPU only", mend)


def _check_backends() -> Check:
    import torch.distributed as dist

    if not dist.is_available():
        return Check("backends", "absent", "torch.distributed is not in this torch build")
    known = {"gloo": dist.is_gloo_available(), "nccl": dist.is_nccl_available()}
    return Check("backends", "ok", ", ".join(name for name, there in known.items() if there))


def _check_roms() -> Check:
    from ale_py import roms

    found = roms.get_all_rom_ids()
    if not found:
        mend = "pip install -U 'ale-py>=0.12.1'"
        return Check("Atari ROMs", "broken", "none (0.12.0 shipped without)", mend)
    return Check("Atari ROMs", "ok", f"{len(found)} found")


def _check_extra(extra: str, module: str, use: str) -> Check:
    if importlib.util.find_spec(module) is None:
        return Check(f"extra {extra}", "absent", use, f"pip install 'mlscale[{extra}]'")
    return Check(f"extra {extra}", "ok", use)
