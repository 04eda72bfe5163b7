"""Errors: exit codes, near misses, and the way through a process boundary."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.errors import (
    Interrupted,
    MlscaleError,
    UserError,
    WorkFailed,
    nearest,
    unknown_name,
)


@pytest.mark.parametrize(
    ("kind", "code"), [(UserError, 2), (WorkFailed, 1), (Interrupted, 130), (MlscaleError, 1)]
)
def test_exit_codes_and_pickling(kind: type[MlscaleError], code: int) -> None:
    error = pickle.loads(pickle.dumps(kind("what", "way out")))
    assert type(error) is kind
    assert (str(error), error.message, error.hint, error.exit_code) == (
        "what", "what", "way out", code,
    )  # fmt: skip
    assert error.partial is None


def test_nearest_ignores_case_and_keeps_the_choices_own_spelling() -> None:
    assert nearest("PONG", ["breakout", "Pong"]) == "Pong"
    assert nearest("pogn", ["breakout", "pong"]) == "pong"
    assert nearest("zzz", ["breakout", "pong"]) is None
    assert nearest("pong", []) is None


@given(st.text(max_size=12), st.lists(st.text(max_size=12)))
def test_nearest_returns_a_choice_or_nothing(name: str, choices: list[str]) -> None:
    assert nearest(name, choices) in [*choices, None]
    if name.casefold() in {choice.casefold() for choice in choices} and name:
        found = nearest(name, choices)
        assert found is not None
        assert found.casefold() == name.casefold()


def test_unknown_name_says_what_it_could_have_been() -> None:
    near = unknown_name("game", "pnog", ["pong"], listing="`x` lists them")
    far = unknown_name("game", "zzzz", ["pong"], listing="`x` lists them")
    assert (near.message, near.hint) == (
        "unknown game 'pnog'", "did you mean 'pong'? `x` lists them",
    )  # fmt: skip
    assert far.hint == "`x` lists them"
    assert near.exit_code == 2
