"""Which algorithm fits which graph: every refusal with its words, every mend tried."""

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.decentral.algorithms.fits import check_fit, check_fits, check_goes_on
from mlscale.decentral.algorithms.registry import ALGORITHMS
from mlscale.decentral.graphs.mixing import Mixing, Periodic
from mlscale.decentral.graphs.registry import make_graph

DIRECTED = Periodic(
    "lopsided",
    (Mixing.from_dense(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.25, 0.5]])),),
)
WRONG_MEAN = "some ranks count more than others, and {} would not train the mean"


def refusal(algorithm: str, *graph: object, **settings: str) -> tuple[str, str | None]:
    with pytest.raises(UserError) as raised:
        check_fit(algorithm, make_graph(*graph, **settings))  # type: ignore[arg-type]
    return str(raised.value), raised.value.hint


def test_d2_is_refused_below_a_third_and_mended_by_laziness() -> None:
    message, hint = refusal("d2", "torus", 64)
    assert message == (
        "D2 diverges on torus with 64 ranks: its smallest eigenvalue is -0.6, below -1/3"
    )
    assert hint == "use --form lazy"
    assert check_fit("d2", make_graph("torus", 64, form="lazy")) == []


def test_d2_on_a_third_exactly_is_a_warning() -> None:
    warning = "the smallest eigenvalue of ring is -1/3, the last that D2 bears"
    assert check_fit("d2", make_graph("ring", 8)) == [warning]
    assert check_fit("d2", make_graph("ring", 7)) == []
    assert check_fit("d2", make_graph("complete", 8)) == []


@pytest.mark.parametrize(("algorithm", "title"), [("d2", "D2"), ("decentlam", "DecentLaM")])
def test_what_diverges_on_directed_graphs_is_refused_there(algorithm: str, title: str) -> None:
    for graph in ("exp", "onepeer"):
        message, hint = refusal(algorithm, graph, 8)
        assert message == f"{title} diverges on {graph}, which is not symmetric"
        assert hint == (
            "choose a symmetric graph, as exp_sym, torus or ring, or --algorithm sgp or tracking"
        )
    for graph in ("exp_sym", "ring", "hypercube"):
        check_fit("decentlam", make_graph(graph, 8))
    for mend in ("sgp", "tracking"):
        assert check_fit(mend, make_graph("exp", 8)) == []


@pytest.mark.parametrize("algorithm", ["atc", "awc", "qg-dsgdm", "tracking", "choco", "pga"])
def test_uniform_weights_on_a_star_are_refused_and_mended(algorithm: str) -> None:
    message, hint = refusal(algorithm, "star", 8, weights="uniform")
    assert message == f"on star {WRONG_MEAN.format(algorithm)}"
    assert hint == "use --weights metropolis"
    assert check_fit(algorithm, make_graph("star", 8, weights="metropolis")) == []
    assert check_fit(algorithm, make_graph("star", 8)) == []


def test_a_lopsided_directed_graph_is_for_push_sum() -> None:
    with pytest.raises(UserError) as raised:
        check_fit("atc", DIRECTED)
    assert str(raised.value) == f"on lopsided {WRONG_MEAN.format('atc')}"
    assert raised.value.hint == "use --algorithm sgp, which is for directed graphs"
    assert check_fit("sgp", DIRECTED) == []
    assert ALGORITHMS["sgp"].prepared(DIRECTED.at(0)).is_column_stochastic


def test_choco_needs_one_round_for_ever() -> None:
    message, hint = refusal("choco", "onepeer", 8)
    assert message == "choco needs the same neighbours in every step, and onepeer changes them"
    assert hint == "choose a graph of one round, as exp or ring"
    assert check_fit("choco", make_graph("exp", 8)) == []
    stages = [make_graph("complete", 8), make_graph("lattice-4", 8)]
    with pytest.raises(UserError, match="and the graph changes with the epochs") as raised:
        check_fits("choco", stages)
    assert raised.value.hint == hint
    assert check_fits("atc", stages) == []


@pytest.mark.parametrize("algorithm", ["local", "diloco", "allreduce"])
@pytest.mark.parametrize("graph", ["exp", "onepeer", "matching", "torus"])
def test_without_a_graph_everything_fits(algorithm: str, graph: str) -> None:
    assert check_fit(algorithm, make_graph(graph, 8, seed=1)) == []
    assert check_fit(algorithm, DIRECTED) == []


def test_stages_are_all_looked_at_and_warn_once() -> None:
    ring = make_graph("ring", 8)
    assert len(check_fits("d2", [ring, make_graph("complete", 8), ring])) == 1
    with pytest.raises(UserError, match="D2 diverges on torus"):
        check_fits("d2", [ring, make_graph("torus", 64)])


def test_what_can_go_on_without_a_replica() -> None:
    can = {"atc", "awc", "sgp", "qg-dsgdm", "decentlam"}
    for name in ALGORITHMS:
        if name in can:
            check_goes_on(name)
            continue
        with pytest.raises(UserError) as raised:
            check_goes_on(name)
        assert str(raised.value) == (
            f"{name} cannot go on when a replica is gone: it counts on all of them"
        )
        assert raised.value.hint == (
            "use --on-failure stop, or one of atc, awc, sgp, qg-dsgdm, decentlam"
        )
