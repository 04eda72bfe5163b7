"""Graphs by name, and what is said about names that are none."""

from pathlib import Path

import pytest

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.names import FAMILIES, LISTING, parse_name
from mlscale.decentral.graphs.registry import STATIC, make_graph


def refused(name: str, num_ranks: int = 8, **options: object) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        make_graph(name, num_ranks, **options)  # type: ignore[arg-type]
    assert "\n" not in caught.value.message
    return caught.value.message, caught.value.hint


def test_every_family_can_be_made_by_its_example() -> None:
    for family in FAMILIES:
        assert make_graph(family.named(), 8).num_ranks == 8
        assert family.about
    assert set(STATIC) < {family.stem for family in FAMILIES}


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("rings", "ring"),
        ("Ring", "ring"),
        ("exp-sym", "exp_sym"),
        ("latice-6", "lattice-6"),
        ("bas-2", "base-2"),
        ("one_peer", "onepeer"),
        ("toruss", "torus"),
    ],
)
def test_near_misses_of_names(name: str, near: str) -> None:
    assert refused(name) == (f"unknown graph {name!r}", f"did you mean {near!r}? {LISTING}")


def test_names_that_are_like_none() -> None:
    assert refused("zzz") == ("unknown graph 'zzz'", LISTING)
    assert refused("ring-4") == ("unknown graph 'ring-4'", f"did you mean 'ring'? {LISTING}")
    assert refused("") == ("unknown graph ''", LISTING)


@pytest.mark.parametrize("name", ["lattice", "lattice-", "lattice-x", "lattice-2.5", "lattice-²"])
def test_numbers_that_are_none(name: str) -> None:
    message, hint = refused(name)
    assert message == f"graph {name!r} needs a whole number after lattice-"
    assert hint is not None
    assert hint.startswith("as in lattice-4: ")


@pytest.mark.parametrize(("name", "least"), [("base-1", 2), ("equi-0", 1), ("lattice-0", 2)])
def test_numbers_that_are_too_small(name: str, least: int) -> None:
    stem = name.split("-")[0]
    assert refused(name)[0] == f"graph {name!r} needs at least {least} after {stem}-"


def test_a_lattice_has_as_many_on_both_sides() -> None:
    assert refused("lattice-5") == (
        "graph 'lattice-5' needs an even number of neighbours",
        "take lattice-4 or lattice-6",
    )


def test_other_refusals() -> None:
    assert refused("ring", 0)[0] == "a graph needs at least one rank, not 0"
    assert refused("base-3", weights="uniform") == (
        "base-3 has weights of its own, which the uniform rule would spoil",
        "leave the rule out",
    )
    assert refused("ring", form="damped", damping=0.0)[0] == (
        "damping is 0, not above 0 and up to 1"
    )
    assert refused("file:")[0] == "no file named after file:"


def test_a_file_is_named_by_its_path() -> None:
    assert parse_name("file:a/b-4.txt") == Path("a/b-4.txt")
