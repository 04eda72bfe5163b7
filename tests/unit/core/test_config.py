"""Configurations: strict reading, bounds, choices, and the round trip through JSON."""

import json
import math
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.config import Seeded, check_fields, choices_of, from_dict, opt, to_dict
from mlscale.core.errors import UserError
from mlscale.core.files import to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Optim:
    lr: float = opt(0.1, help="Step size.", gt=0, le=1)
    betas: tuple[float, ...] = opt((0.9, 0.999), help="Decays.", ge=0, le=1)
    slack: float = opt(0.0, help="Slack.", ge=0, flag=False)

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything(Seeded):
    """Every kind of field that a study may declare."""

    name: str = opt(help="Required text.")
    steps: int = opt(10, help="Steps.", ge=1, le=1000)
    cap: int | None = opt(None, help="A cap.", ge=4)
    rate: float = opt(0.5, help="A rate.")
    limit: float | None = opt(None, help="A limit.")
    flag: bool = opt(False, help="A switch.")
    kind: Literal["fast", "slow"] = opt("fast", help="A kind.")
    power: Literal[1, 2] = opt(1, help="A power.")
    mode: Literal["on", "off"] | None = opt(None, help="A mode.")
    path: Path = opt(Path("here"), help="A path.")
    where: Path | None = opt(None, help="Another path.")
    widths: tuple[int, ...] = opt((8,), help="Widths.", ge=1)
    names: tuple[str, ...] | None = opt(None, help="Names.")
    kinds: tuple[Literal["a", "b"], ...] = opt((), help="Kinds.")
    optim: Optim = opt(Optim(), help="The optimizer.")
    fixed: Optim = opt(Optim(), help="Another.", flag=False)


def read(**values: Any) -> Everything:
    return from_dict(Everything, {"name": "x", **values}, where="file.json")


floats = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=()))  # with surrogates, as file names have them
paths = st.text(st.characters(exclude_characters="\0", exclude_categories=()), min_size=1).map(Path)
everything = st.builds(
    Everything,
    seed=st.integers(0, 2**70),
    name=texts,
    steps=st.integers(1, 1000),
    cap=st.none() | st.integers(min_value=4),
    rate=floats,
    limit=st.none() | floats,
    flag=st.booleans(),
    kind=st.sampled_from(["fast", "slow"]),
    power=st.sampled_from([1, 2]),
    mode=st.sampled_from([None, "on", "off"]),
    path=paths,
    where=st.none() | paths,
    widths=st.lists(st.integers(min_value=1)).map(tuple),
    names=st.none() | st.lists(texts).map(tuple),
    kinds=st.lists(st.sampled_from(["a", "b"])).map(tuple),
    optim=st.builds(
        Optim,
        lr=st.floats(0, 1, exclude_min=True),
        betas=st.lists(st.floats(0, 1)).map(tuple),
    ),
)


@given(everything)
def test_a_config_survives_the_trip_through_json_bytes(config: Everything) -> None:
    text = to_json(to_dict(config)).encode()
    assert from_dict(Everything, json.loads(text), where="file.json") == config


def test_defaults_come_in_where_a_file_says_nothing() -> None:
    assert read() == Everything(name="x")
    assert read(optim={"lr": 0.5}).optim == Optim(lr=0.5)


@pytest.mark.parametrize(
    ("values", "message", "hint"),
    [
        ({"stepz": 1}, "file.json: unknown key 'stepz'", "did you mean 'steps'?"),
        ({"zzzzzz": 1}, "file.json: unknown key 'zzzzzz'", "keys: seed, name, steps, cap"),
        ({"optim": {"lrr": 1}}, "file.json: optim: unknown key 'lrr'", "did you mean 'lr'?"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(
    values: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        read(**values)
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint)


def test_a_missing_required_key_is_named() -> None:
    with pytest.raises(UserError, match=r"^f\.json: missing key 'name'$"):
        from_dict(Everything, {}, where="f.json")


@pytest.mark.parametrize(
    ("key", "value", "wants"),
    [
        ("steps", True, "must be int, got True"),
        ("steps", "5", "must be int, got '5'"),
        ("steps", 5.0, "must be int, got 5.0"),
        ("steps", None, "must be int, got None"),
        ("cap", "5", "must be int, got '5'"),
        ("rate", False, "must be float, got False"),
        ("rate", "0.5", "must be float, got '0.5'"),
        ("rate", 10**400, f"must be float, got {10**400}"),
        ("flag", 1, "must be bool, got 1"),
        ("name", 3, "must be str, got 3"),
        ("path", ["x"], "must be Path, got ['x']"),
        ("widths", "8", "must be a list, got '8'"),
        ("widths", 8, "must be a list, got 8"),
        ("widths", [8, "9"], "must be int, got '9'"),
        ("widths", [True], "must be int, got True"),
        ("names", {"a": 1}, "must be a list, got {'a': 1}"),
        ("optim", [0.1], "must be an object, got [0.1]"),
    ],
)
def test_a_value_of_another_type_is_refused(key: str, value: Any, wants: str) -> None:
    with pytest.raises(UserError) as caught:
        read(**{key: value})
    assert caught.value.message == f"file.json: {key} {wants}"


def test_an_int_is_a_float_and_a_json_list_is_a_tuple() -> None:
    config = read(rate=2, widths=[4, 2])
    assert type(config.rate) is float
    assert config.widths == (4, 2)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("steps", 0, "--steps must be at least 1, got 0"),
        ("steps", 1001, "--steps must be at most 1000, got 1001"),
        ("cap", 3, "--cap must be at least 4, got 3"),
        ("seed", -1, "--seed must be at least 0, got -1"),
        ("rate", math.nan, "--rate must be a finite number, got nan"),
        ("limit", -math.inf, "--limit must be a finite number, got -inf"),
        ("widths", [3, 0], "--widths must be at least 1, got 0"),
        ("optim", {"lr": 0}, "--optim.lr must be more than 0, got 0.0"),
        ("optim", {"slack": -1}, "optim.slack must be at least 0, got -1.0"),
        ("fixed", {"lr": 0}, "fixed.lr must be more than 0, got 0.0"),
        ("optim", {"betas": [math.nan]}, "--optim.betas must be a finite number, got nan"),
    ],
)
def test_a_value_out_of_bounds_is_refused(key: str, value: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read(**{key: value})
    assert caught.value.message == message


@pytest.mark.parametrize("steps", [1, 1000])
def test_the_bounds_themselves_are_legal(steps: int) -> None:
    assert read(steps=steps, cap=4, optim={"lr": 1, "betas": [0, 1]}).steps == steps


@pytest.mark.parametrize(
    ("key", "value", "message", "hint"),
    [
        ("kind", "fsat", "--kind cannot be 'fsat'", "did you mean 'fast'? choices: fast, slow"),
        ("kind", "zzz", "--kind cannot be 'zzz'", "choices: fast, slow"),
        ("kind", None, "--kind cannot be None", "choices: fast, slow"),
        ("kind", [], "--kind cannot be []", "choices: fast, slow"),
        ("power", 3, "--power cannot be 3", "choices: 1, 2"),
        ("mode", "onn", "--mode cannot be 'onn'", "did you mean 'on'? choices: on, off"),
        ("kinds", ["a", "c"], "--kinds cannot be 'c'", "choices: a, b"),
        ("kinds", [None], "--kinds cannot be None", "choices: a, b"),
    ],
)
def test_a_value_that_is_no_choice_is_refused_with_the_nearest(
    key: str, value: Any, message: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        read(**{key: value})
    assert caught.value.message == message
    assert (caught.value.hint or "").startswith(hint)


def test_a_refused_value_pickles_with_its_hint() -> None:
    with pytest.raises(UserError) as caught:
        read(kind="fsat")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.message, again.hint) == (caught.value.message, caught.value.hint)
    assert again.exit_code == 2


def test_every_command_checks_its_seed() -> None:
    with pytest.raises(UserError, match="--seed must be at least 0, got -1"):
        Seeded(seed=-1)


def test_choices_are_found_below_none_and_tuples() -> None:
    assert choices_of(Literal["a", "b"]) == ("a", "b")
    assert choices_of(Literal["a"] | None) == ("a",)
    assert choices_of(tuple[Literal[1, 2], ...] | None) == (1, 2)
    assert choices_of(int | None) == choices_of(tuple[int, ...]) == ()
