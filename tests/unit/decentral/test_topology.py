"""Which round a step has: stages of Ada, periods, and what is refused."""

from fractions import Fraction
from pathlib import Path

import pytest

from mlscale.core.errors import UserError
from mlscale.decentral import ada
from mlscale.decentral.algorithms.registry import ALGORITHMS
from mlscale.decentral.graphs.mixing import Mixing
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.topology import GraphChoice, make_topology


def same(one: Mixing, other: Mixing) -> bool:
    return bool((one.dense() == other.dense()).all())


def test_ada_goes_from_one_lattice_to_the_next() -> None:
    choice = GraphChoice(name="ada", num_ranks=16, k0=10, gamma=Fraction(1))
    topology = make_topology(choice, num_epochs=12, steps_per_epoch=5)
    assert [(epoch, graph.name) for epoch, graph in topology.stages] == [
        (0, "lattice-10"), (1, "lattice-8"), (3, "lattice-6"), (5, "lattice-4"), (7, "lattice-2")
    ]  # fmt: skip
    for step in range(60):
        k = ada.lattice_neighbours(ada.neighbours_at(step // 5, 10, "1"), 16)
        mixing = topology.at(step)
        assert set(mixing.degrees.tolist()) == {k}
        assert same(mixing, make_graph(f"lattice-{k}", 16).at(0))


def test_ada_begins_complete_among_few_ranks_by_itself() -> None:
    topology = make_topology(GraphChoice(name="ada", num_ranks=4), 8, 3)
    assert topology.stages[0][1].name == "complete"
    assert topology.stages[-1][1].name == "lattice-2"


def test_a_period_goes_on_over_the_epochs() -> None:
    topology = make_topology(GraphChoice(name="onepeer", num_ranks=8), 4, 5)
    graph = make_graph("onepeer", 8)
    for step in range(20):
        assert topology.at(step) is topology.at(step + 3 if step + 3 < 20 else step - 3)
        assert same(topology.at(step), graph.at(step % 3))


def test_prepared_rounds_are_made_once() -> None:
    topology = make_topology(GraphChoice(name="star", num_ranks=5, weights="uniform"), 2, 3)
    round_at = topology.prepared(ALGORITHMS["sgp"].prepared)
    assert round_at(0) is round_at(5)
    assert round_at(0).is_column_stochastic
    assert not topology.at(0).is_column_stochastic


@pytest.mark.parametrize("more", [{"k0": 4}, {"gamma": "1"}])
def test_settings_of_ada_are_for_ada(more: dict[str, object]) -> None:
    choice = GraphChoice(name="ring", num_ranks=8, **more)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="ring does not shrink") as raised:
        make_topology(choice, 2, 3)
    assert raised.value.hint == "k0 and gamma are for --graph ada"


def test_ranks_that_never_hear_of_one_another_are_refused(tmp_path: Path) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n2 3\n")
    with pytest.raises(UserError, match="falls into 2 parts: 0-1; 2-3"):
        make_topology(GraphChoice(name=f"file:{edges}", num_ranks=4), 2, 3)
