"""The command line that a configuration stands for: what reproduces a run, without local paths."""

from __future__ import annotations

import dataclasses
import shlex
from typing import TYPE_CHECKING, Any

from mlscale.core.config import flag_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _typeshed import DataclassInstance

    Presets = Mapping[str, Callable[[], DataclassInstance]]


def command_line(
    words: str, config: DataclassInstance, presets: Presets | None = None
) -> str | None:
    """Return the shortest command that gives a configuration: a preset or none, then flags.

    Args:
        words: The command, as in "mlscale atari train".
        config: What it is to give.
        presets: The command's presets.

    Returns:
        The command, or None where a setting without a flag differs from every preset.
    """
    bases: dict[str, Any] = {"": type(config)}
    bases |= {f" --preset {name}": make() for name, make in (presets or {}).items()}
    found = {start: _differing(config, base) for start, base in bases.items()}
    commands = [
        words + start + "".join(f" {flag}" for flag in flags)
        for start, flags in found.items()
        if flags is not None
    ]
    return min(commands, key=len, default=None)


def _differing(config: DataclassInstance, base: Any, prefix: str = "") -> list[str] | None:
    """Return the flags of the fields that differ from `base`, None when one has no flag.

    Args:
        config: The configuration.
        base: One of the same type, or the type itself for its defaults.
        prefix: What nests it, as in "learn.".
    """
    flags: list[str] = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        other = field.default if isinstance(base, type) else getattr(base, field.name)
        if value == other:
            continue
        if not field.metadata.get("flag", True):
            return None
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            nested = _differing(value, other, f"{prefix}{field.name}.")
            if nested is None:
                return None
            flags += nested
        elif value is None:
            return None
        else:
            flags.append(_flag(prefix + field.name, value))
    return flags


def _flag(name: str, value: Any) -> str:
    if isinstance(value, bool):
        *nesting, leaf = name.split(".")
        return flag_name(name) if value else flag_name(".".join([*nesting, f"no-{leaf}"]))
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{flag_name(name)} {shlex.quote(text)}"
