"""`@takes(Config)`: a frozen dataclass becomes a command's flags, presets and --config file.

Precedence: defaults < `--preset` < surroundings < `--config FILE.json` < flags. Every flag's
default is "not given", so that what the user typed is told apart from what the dataclass says.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import typing
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlscale.core.config import (
    REQUIRED,
    choices_of,
    field_types,
    flag_name,
    from_dict,
    to_dict,
    without_none,
)
from mlscale.core.errors import UserError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import DataclassInstance


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What every command takes beside its configuration.

    Args:
        json: Print `result.json` on stdout and nothing else there.
        out: The run directory.
        quiet: Say nothing on stderr but warnings and errors.
        debug: Show tracebacks.
    """

    json: bool = False
    out: Path | None = None
    quiet: bool = False
    debug: bool = False


COMMON_PARAMETERS = {
    "json": Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")],
    "out": Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Run directory to write, or to go on with."),
    ],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show tracebacks.")],
}

CONFIG_FILE = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.json",
        help="Read settings from a file, as a run's config.json; flags win over it.",
    ),
]

COUNT_SUFFIXES = {"k": 1_000, "M": 1_000_000}

Presets = typing.Mapping[str, "Callable[[], DataclassInstance]"]


def takes(
    config_type: type[DataclassInstance], presets: Presets | None = None
) -> Callable[[Callable[[Any, Common], None]], Callable[..., None]]:
    """Give a command `(config, common)` one flag per field of `config_type`.

    Args:
        config_type: The frozen dataclass; nested ones become dotted flags.
        presets: Functions returning a whole configuration, by name.
    """

    def decorate(command: Callable[[Any, Common], None]) -> Callable[..., None]:
        parameters = _parameters(config_type, prefix="")

        def run(**given: Any) -> None:
            common = Common(**{name: given.pop(name) for name in COMMON_PARAMETERS})
            preset, file = given.pop("preset", None), given.pop("config", None)
            config = resolve(config_type, given, preset=preset, presets=presets or {}, file=file)
            command(config, common)

        if presets:
            parameters.append(_preset_parameter(presets))
        parameters.append(_keyword("config", CONFIG_FILE, None))
        for name, annotation in COMMON_PARAMETERS.items():
            optional = name == "out"
            parameters.append(_keyword(name, annotation, None if optional else False))
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in parameters}
        run.__name__ = command.__name__
        run.__doc__ = command.__doc__
        run.config_type = config_type  # type: ignore[attr-defined]
        return run

    return decorate


def resolve(
    config_type: type[DataclassInstance],
    given: dict[str, Any],
    *,
    preset: str | None = None,
    presets: Presets,
    file: Path | None = None,
) -> DataclassInstance:
    """Return the configuration from a preset, a file and the flags, in that order.

    Raises:
        UserError: The preset, a key or a value is not legal.
    """
    values = _nested_defaults(config_type)
    if preset is not None:
        if preset not in presets:
            raise unknown_name(
                "preset", preset, presets, listing=f"presets: {', '.join(sorted(presets))}"
            )
        _merge(values, to_dict(presets[preset]()))
    values |= _found(config_type)
    if file is not None:
        _merge(values, _read_config(file), where=f"{file}: ")
    flags: dict[str, Any] = {}
    for name, value in given.items():
        if value is not None and value != []:
            *path, leaf = name.split("__")
            target = flags
            for part in path:
                target = target.setdefault(part, {})
            target[leaf] = value
    _merge(values, _from_flags(config_type, flags))
    for field in dataclasses.fields(config_type):
        if field.default is field.default_factory is REQUIRED and field.name not in values:
            shown = _metavar(field) if field.metadata.get("argument") else flag_name(field.name)
            raise UserError(f"{shown} is required", str(field.metadata["help"]))
    return from_dict(config_type, values, where=str(file) if file else "settings")


def _found(config_type: type[DataclassInstance]) -> dict[str, Any]:
    """Return the values that the surroundings settle, as torchrun the number of processes."""
    finders = {
        field.name: field.metadata["found"]
        for field in dataclasses.fields(config_type)
        if field.metadata.get("found")
    }
    found = {name: find() for name, find in finders.items()}
    return {name: value for name, value in found.items() if value is not None}


def _nested_defaults(config_type: type[DataclassInstance]) -> dict[str, Any]:
    """Return the defaults of nested configurations, for a flag to change one field of them."""
    return {
        field.name: to_dict(field.default)
        for field in dataclasses.fields(config_type)
        if dataclasses.is_dataclass(field.default) and not isinstance(field.default, type)
    }


def _merge(base: dict[str, Any], update: dict[str, Any], where: str = "") -> None:
    for key, value in update.items():
        if not isinstance(base.get(key), dict):
            base[key] = value
        elif isinstance(value, dict):
            _merge(base[key], value, where=f"{where}{key}: ")
        else:  # or the flags of this key would make it an object again, and hide the mistake
            raise UserError(f"{where}{key} must be an object of settings, got {value!r}")


def setting_without_flag(config_type: type, option: str) -> str | None:
    """Return the setting that an option is named after if a --config file alone can set it.

    Args:
        config_type: The command's dataclass.
        option: As typed, as in `--learn.replay-steps`.
    """
    name = option.lstrip("-").replace("-", "_")
    has_flag = True
    for part in name.split("."):
        fields = getattr(config_type, "__dataclass_fields__", {})
        if part not in fields:
            return None
        has_flag = has_flag and fields[part].metadata.get("flag", True)
        config_type = field_types(config_type)[part]
    return None if has_flag else name


def _read_config(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{file} is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"{file} must hold a JSON object of settings")
    return document


def _from_flags(config_type: type, flags: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turn the text of tuples and choices into their types; the rest are values already."""
    hints = field_types(config_type)
    plain: dict[str, Any] = {}
    for name, value in flags.items():
        item = _tuple_item(hints[name])
        if isinstance(value, dict):
            plain[name] = _from_flags(hints[name], value, prefix=f"{prefix}{name}.")
        elif item is not None:
            parts = value.split(",") if isinstance(value, str) else value
            plain[name] = [
                _convert(part.strip(), item, prefix + name) for part in parts if part.strip()
            ]
        else:
            plain[name] = _as_choice(value, hints[name])
    return plain


def _convert(text: str, item: Any, name: str) -> Any:
    try:
        return _as_choice(text, item) if choices_of(item) else item(text)
    except ValueError:
        raise UserError(f"{flag_name(name)}: {text!r} is not {item.__name__}") from None


def _as_choice(value: Any, annotation: Any) -> Any:
    """Return the choice written as `value`; anything else is left to `check_fields`."""
    return {str(choice): choice for choice in choices_of(annotation)}.get(value, value)


def _tuple_item(annotation: Any) -> Any:
    """Return the item type of `tuple[item, ...]` (or of it or None), else None."""
    annotation = without_none(annotation)
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is tuple else None


def _parameters(
    config_type: type[DataclassInstance], prefix: str, defaults: Any = REQUIRED
) -> list[inspect.Parameter]:
    """Return the flags of a configuration; of a nested one with the defaults it is nested with."""
    parameters: list[inspect.Parameter] = []
    own = config_type.__annotations__  # a study's own settings before the shared ones
    for field in sorted(dataclasses.fields(config_type), key=lambda field: field.name not in own):
        annotation = field_types(config_type)[field.name]
        if not field.metadata.get("flag", True):
            continue
        if defaults is not REQUIRED:
            field = copy.copy(field)
            field.default = getattr(defaults, field.name)
        if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
            parameters += _parameters(annotation, f"{prefix}{field.name}.", field.default)
        elif field.metadata.get("argument"):
            parameters.append(_argument(field, annotation))
        else:
            parameters.append(_option(field, annotation, prefix))
    return parameters


def _argument(field: dataclasses.Field[Any], annotation: Any) -> inspect.Parameter:
    """Return an argument that may be left out, since a --config file may hold it."""
    kind: Any = str if without_none(annotation) is Path else without_none(annotation)
    if _tuple_item(annotation) is not None:
        kind = list[str]
    shown = typer.Argument(
        help=_help(field, annotation), metavar=_metavar(field), show_default=False
    )
    return _keyword(field.name, Annotated[kind | None, shown], None)


def _metavar(field: dataclasses.Field[Any]) -> str:
    return str(field.metadata.get("metavar") or field.name.upper())


def _option(field: dataclasses.Field[Any], annotation: Any, prefix: str) -> inspect.Parameter:
    dotted = prefix + field.name
    flag = flag_name(dotted)
    is_bool = without_none(annotation) is bool
    choices = [str(choice) for choice in choices_of(annotation)]
    shown = typer.Option(
        f"{flag}/--{prefix}no-{field.name.replace('_', '-')}" if is_bool else flag,
        help=_help(field, annotation),
        metavar=field.metadata.get("metavar") or "|".join(choices) or None,
        autocompletion=(lambda: choices) if choices else None,
        show_default=False,
    )
    if without_none(annotation) is int:
        shown.parser, shown.metavar = read_count, shown.metavar or "INTEGER"
    kind = without_none(annotation)
    if choices or _tuple_item(annotation) is not None:
        kind = str  # checked by the dataclass, which knows near misses
    return _keyword(dotted.replace(".", "__"), Annotated[kind | None, shown], None)


def read_count(text: str) -> int:
    """Return a whole number, which may be written as in 400k, 2.5M or 1_000_000.

    Raises:
        typer.BadParameter: It is no whole number.
    """
    number, factor = text.strip(), 1
    if number[-1:] in COUNT_SUFFIXES:
        number, factor = number[:-1], COUNT_SUFFIXES[number[-1]]
    try:
        value = Decimal(number) * factor
        if value != value.to_integral_value():
            raise ValueError
        return int(value)
    except (ArithmeticError, ValueError):
        raise typer.BadParameter(f"{text!r} is not a whole number, as in 400000 or 400k") from None


def _help(field: dataclasses.Field[Any], annotation: Any) -> str:
    text = str(field.metadata["help"])
    default = field.default
    if default is REQUIRED:
        return f"{text} [required]"
    if default is None or default == "" or default == ():
        return text
    if annotation is bool:
        return f"{text} [default: {'yes' if default else 'no'}]"
    shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{text} [default: {shown}]"


def _preset_parameter(presets: Presets) -> inspect.Parameter:
    option = typer.Option(
        "--preset",
        help=f"Start from a named set of settings: {', '.join(sorted(presets))}.",
        show_default=False,
    )
    return _keyword("preset", Annotated[str | None, option], None)


def _keyword(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
