"""Frozen dataclasses as configuration: field metadata, bounds, strict reading, replaying.

A study's `config.py` declares frozen dataclasses whose fields come from `opt`. The command
line turns them into flags (`mlscale.cli.options`), and `from_dict` reads them back from a
run's `config.json`. Standard library only: this is imported by `--help`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import operator
import types
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar

from mlscale.core.errors import UserError, nearest

if typing.TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

REQUIRED: Any = dataclasses.MISSING


def opt(
    default: Any = REQUIRED,
    *,
    help: str,  # noqa: A002 - the field's own word
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    argument: bool = False,
    metavar: str | None = None,
    may_change: bool = False,
    flag: bool = True,
    found: Callable[[], Any] | None = None,
) -> Any:
    """Declare a configuration field.

    Args:
        default: The value when nothing is given; leave it out for a required field.
        help: One line for `--help`, without the default.
        ge: Smallest legal value.
        gt: Value that must be exceeded.
        le: Largest legal value.
        argument: Whether the command line takes it by position instead of by flag.
        metavar: What `--help` shows in place of the value.
        may_change: Whether a resumed run may have another value: budgets, devices, workers.
        flag: Whether the command line offers it; what it does not is set by presets and --config.
        found: Returns the value where the surroundings have one, or None; presets give way to it,
            what the user sets does not.
    """
    metadata = {
        "help": help,
        "ge": ge,
        "gt": gt,
        "le": le,
        "argument": argument,
        "metavar": metavar,
        "may_change": may_change,
        "flag": flag,
        "found": found,
    }
    return dataclasses.field(default=default, metadata=metadata)


class BadValue(UserError):
    """A setting whose value is not among those declared.

    Args:
        path: The names of the setting and of those that hold it, outermost first.
        complaint: What is wrong, to follow the name.
        hint: What would be right.
        has_flag: Whether the command line offers it.
    """

    def __init__(
        self, path: tuple[str, ...], complaint: str, hint: str | None = None, *, has_flag: bool
    ) -> None:
        name = ".".join(path)
        super().__init__(f"{flag_name(name) if has_flag else name} {complaint}", hint)
        self._path, self._complaint, self._has_flag = path, complaint, has_flag

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str | None]]:
        """Pickle as what the user sees."""
        return UserError, (self.message, self.hint)

    def within(self, field: dataclasses.Field[Any]) -> BadValue:
        """Return the same error, seen from the configuration that holds this one in a field."""
        has_flag = self._has_flag and field.metadata.get("flag", True)
        return BadValue((field.name, *self._path), self._complaint, self.hint, has_flag=has_flag)


@functools.cache
def field_types(config_type: type) -> dict[str, Any]:
    """Return the resolved annotation of every field of a dataclass."""
    return typing.get_type_hints(config_type)


def check_fields(config: DataclassInstance) -> None:
    """Check every field of `config`, and each item of its tuples, against what was declared.

    Raises:
        BadValue: A value lies outside its bounds, is not finite, or is not one of its choices.
    """
    for field in dataclasses.fields(config):
        annotation, value = field_types(type(config))[field.name], getattr(config, field.name)
        items = value if isinstance(value, tuple) else (value,)
        if value is None and type(None) in typing.get_args(annotation):
            continue
        for item in items:
            _check_choice(field, choices_of(annotation), item)
            if isinstance(item, int | float) and not isinstance(item, bool):
                _check_bounds(field, item)


def _bad(field: dataclasses.Field[Any], complaint: str, hint: str | None = None) -> BadValue:
    return BadValue((field.name,), complaint, hint, has_flag=field.metadata.get("flag", True))


def _check_bounds(field: dataclasses.Field[Any], value: float) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise _bad(field, f"must be a finite number, got {value}")
    checks = (
        ("ge", "at least", operator.ge),
        ("gt", "more than", operator.gt),
        ("le", "at most", operator.le),
    )
    for key, words, holds in checks:
        limit = field.metadata.get(key)
        if limit is not None and not holds(value, limit):
            raise _bad(field, f"must be {words} {limit}, got {value}")


def choices_of(annotation: Any) -> tuple[Any, ...]:
    """Return the choices of a Literal, or of a tuple of them or one that may be None; else ()."""
    annotation = without_none(annotation)
    if typing.get_origin(annotation) is tuple:
        annotation = typing.get_args(annotation)[0]
    return typing.get_args(annotation) if typing.get_origin(annotation) is Literal else ()


def _check_choice(field: dataclasses.Field[Any], choices: tuple[Any, ...], value: Any) -> None:
    if choices and value not in choices:
        listed = [str(choice) for choice in choices]
        close = nearest(str(value), listed)
        raise _bad(
            field,
            f"cannot be {value!r}",
            (f"did you mean {close!r}? " if close else "") + f"choices: {', '.join(listed)}",
        )


def flag_name(field_name: str) -> str:
    """Return the flag of a field: `frames_per_s` gives `--frames-per-s`, `a.b` gives `--a.b`."""
    return "--" + field_name.replace("_", "-")


def to_dict(config: DataclassInstance) -> dict[str, Any]:
    """Return `config` as JSON-ready values, nested dataclasses as nested dictionaries."""
    return {field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config)}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_dict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def from_dict(config_type: type[T], values: typing.Mapping[str, Any], *, where: str) -> T:
    """Build a config from `values`, refusing unknown keys and wrong types.

    Args:
        config_type: The dataclass to build.
        values: Plain values as `to_dict` or a JSON file gives them.
        where: What is being read, for the error, as in a file's path.

    Raises:
        UserError: A key is unknown, a required one is missing, or a value has another type.
    """
    hints = field_types(config_type)
    for key in values:
        if key not in hints:
            close = nearest(key, hints)
            raise UserError(
                f"{where}: unknown key {key!r}",
                f"did you mean {close!r}?" if close else f"keys: {', '.join(hints)}",
            )
    given: dict[str, Any] = {}
    for field in dataclasses.fields(config_type):
        key = field.name
        if key in values:
            try:
                given[key] = _coerce(values[key], hints[key], f"{where}: {key}")
            except BadValue as error:
                raise error.within(field) from None
        elif field.default is field.default_factory is REQUIRED:
            raise UserError(f"{where}: missing key {key!r}")
    return config_type(**given)


def without_none(annotation: Any) -> Any:
    """Return T for `T | None`, and any other annotation as it is."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        (inner,) = [arg for arg in typing.get_args(annotation) if arg is not type(None)]
        return inner
    return annotation


def _coerce(value: Any, annotation: Any, where: str) -> Any:
    """Turn a JSON value into what `annotation` asks for, or raise UserError."""
    if value is None and type(None) in typing.get_args(annotation):
        return None
    annotation = without_none(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return value  # `check_fields` knows the choices and the near misses
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise UserError(f"{where} must be a list, got {value!r}")
        return tuple(_coerce(item, args[0], where) for item in value)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        if not isinstance(value, dict):
            raise UserError(f"{where} must be an object, got {value!r}")
        return from_dict(annotation, value, where=where)
    return _coerce_scalar(value, annotation, where)


def _coerce_scalar(value: Any, annotation: Any, where: str) -> Any:
    if annotation is Path and isinstance(value, str):
        return Path(value)
    if annotation is float and isinstance(value, int) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # refused below, as no float
            value = float(value)
    if not isinstance(value, annotation) or (isinstance(value, bool) and annotation is not bool):
        raise UserError(f"{where} must be {annotation.__name__}, got {value!r}")
    return value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """The one setting every command has.

    Args:
        seed: Seed of every random draw; recorded with the result also where nothing is drawn.
    """

    seed: int = opt(0, help="Seed of every random draw.", ge=0)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
