"""Seeds: fixed for ever, unrelated by name, independent of order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.core.seeding import derive_seed, generator


@pytest.mark.parametrize(
    ("arguments", "bits", "seed"),
    [
        ((0,), 31, 804681139),
        ((0, "pong", 3), 31, 915704270),
        ((0, "pong", 3), 63, 3932919892555630170),
        ((1, "pong", 3), 31, 1906746271),
        ((2**70, "agent", "Ms. Pac-Man é"), 31, 950346489),
    ],
)
def test_seeds_never_change(arguments: tuple[int, ...], bits: int, seed: int) -> None:
    assert derive_seed(*arguments, bits=bits) == seed


def test_the_generators_draws_never_change() -> None:
    assert generator(0, "bootstrap").integers(0, 1000, size=4).tolist() == [304, 455, 164, 386]


@given(st.integers(min_value=0), st.lists(st.text() | st.integers()), st.integers(1, 64))
def test_seeds_fit_their_width(seed: int, names: list[str | int], bits: int) -> None:
    assert 0 <= derive_seed(seed, *names, bits=bits) < 2**bits
    widest = derive_seed(seed, *names, bits=64)
    assert derive_seed(seed, *names, bits=bits) == widest >> (64 - bits)


def test_other_names_other_orders_and_other_seeds_give_other_streams() -> None:
    streams = [
        (0,),
        (1,),
        (0, "a"),
        (0, "b"),
        (0, "a", "b"),
        (0, "b", "a"),
        (0, "ab"),
        (0, 1),
        (0, 1, 1),
    ]
    assert len({derive_seed(*stream) for stream in streams}) == len(streams)


def test_a_streams_draws_do_not_depend_on_what_was_drawn_before() -> None:
    def draw(order: list[str]) -> dict[str, list[float]]:
        return {name: generator(7, name).random(5).tolist() for name in order}

    forth, back = draw(["a", "b", "c"]), draw(["c", "b", "a"])
    assert forth == back
    assert forth["a"] != forth["b"]


def test_episode_seeds_do_not_collide_at_the_size_of_a_study() -> None:
    seeds = [derive_seed(0, "emulator", game, n) for game in range(57) for n in range(100)]
    assert len(set(seeds)) == len(seeds)


def test_seeds_are_spread_evenly() -> None:
    draws = np.array([derive_seed(0, n) for n in range(4096)]) / 2**31
    counts = np.histogram(draws, bins=16, range=(0, 1))[0]
    assert ((counts - 256) ** 2 / 256).sum() < 37.7  # chi-squared, 15 degrees, p = 0.001
