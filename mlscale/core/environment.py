"""What a result was made with: versions, git state, command line, machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import mlscale

PACKAGES = ("torch", "numpy", "gymnasium", "ale-py", "transformers", "tokenizers", "datasets")


def describe(device: str = "cpu") -> dict[str, Any]:
    """Return the versions, commit, command line, folder and machine behind a result.

    Versions come from package metadata, so nothing heavy is imported to learn them.
    """
    commit, dirty = _git_state(Path(mlscale.__file__).parent)
    return {
        "mlscale": mlscale.__version__,
        "git": commit,
        "dirty": dirty,
        "folder": str(Path.cwd()),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "python": platform.python_version(),
        "packages": {name: version_of(name) for name in PACKAGES},
        "torch": version_of("torch") or "",
        "device": device,
        "platform": platform.platform(),
        "threads": usable_cpus(),
    }


def version_of(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def usable_cpus() -> int:
    """Return how many CPU cores this process may keep busy: its affinity and container quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # no cgroup v2, or no limit ("max")
        return cores


def _git_state(folder: Path) -> tuple[str, bool]:
    """Return the commit of the checkout mlscale runs from and whether it has changes.

    Both are empty when mlscale is installed as a package: then its version says it all.
    """
    if not (folder.parent / ".git").exists():
        return "", False
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return commit, bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return "", False


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - fixed arguments, no shell
        ["git", "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return done.stdout.strip()
