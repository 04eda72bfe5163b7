"""Weight rules and forms on small graphs, by hand."""

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.links import Links, circulant
from mlscale.decentral.graphs.mixing import Mixing
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.graphs.weights import damped, lazy, metropolis, uniform

PATH = Links.both_ways(3, [0, 1], [1, 2])


def test_links_count_once_and_never_to_themselves() -> None:
    links = Links.of(3, [1, 1, 2, 0], [0, 0, 2, 1])
    assert (links.receivers_E.tolist(), links.senders_E.tolist()) == ([0, 1], [1, 0])
    assert links.degrees.tolist() == [1, 1, 0]
    assert links.is_symmetric
    assert not circulant(3, [1]).is_symmetric
    assert circulant(2, [1, -1]).degrees.tolist() == [1, 1]


def test_uniform_shares_by_what_comes_in() -> None:
    half, third = 1 / 2, 1 / 3
    expected = [[half, half, 0], [third, third, third], [0, half, half]]
    assert uniform(PATH).dense().tolist() == expected


def test_metropolis_shares_by_the_larger_degree() -> None:
    third = 1 / 3
    expected = np.array([[2 * third, third, 0], [third, third, third], [0, third, 2 * third]])
    assert metropolis(PATH, "path").dense() == pytest.approx(expected)


def test_metropolis_equals_uniform_where_degrees_are_equal() -> None:
    for name in ("ring", "torus", "exp_sym", "hypercube", "complete", "lattice-4"):
        one, other = (
            make_graph(name, 16, weights=w).at(0).dense() for w in ("uniform", "metropolis")
        )
        assert one == pytest.approx(other, abs=1e-15)


def test_metropolis_needs_links_both_ways() -> None:
    with pytest.raises(UserError) as caught:
        make_graph("exp", 8, weights="metropolis")
    assert caught.value.message == (
        "metropolis weights need links both ways, and exp has some that are one way"
    )
    assert caught.value.hint == "take the uniform weights, or a graph with links both ways"


def test_star_with_uniform_weights_does_not_keep_the_mean() -> None:
    mixing = make_graph("star", 5, weights="uniform").at(0)
    assert mixing.is_row_stochastic
    assert not mixing.is_column_stochastic


def test_lazy_and_damped_forms() -> None:
    swap = Mixing.from_dense(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert lazy(swap).dense().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert damped(swap, 0.25).dense().tolist() == [[0.75, 0.25], [0.25, 0.75]]
    ring_NN = make_graph("ring", 7).at(0).dense()
    made = make_graph("ring", 7, form="damped", damping=0.3).at(0).dense()
    assert made == pytest.approx(0.7 * np.eye(7) + 0.3 * ring_NN)
    rounds = make_graph("onepeer", 8), make_graph("onepeer", 8, form="lazy")
    for step in range(3):
        plain, half = (graph.at(step).dense() for graph in rounds)
        assert half == pytest.approx((np.eye(8) + plain) / 2)
    plain, half = (make_graph("matching", 6, form=form).at(3).dense() for form in ("plain", "lazy"))
    assert half == pytest.approx((np.eye(6) + plain) / 2)


def test_entries_may_come_in_any_order() -> None:
    dense = np.array([[0.25, 0.0, 0.75], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    rows, sources = (a.ravel() for a in np.indices((3, 3)))
    order = np.random.default_rng(0).permutation(9)
    mixing = Mixing.from_entries(3, rows[order], sources[order], dense.ravel()[order])
    assert mixing.dense().tolist() == dense.tolist()
    assert mixing.row(0) == [(0, 0.25), (2, 0.75)]
