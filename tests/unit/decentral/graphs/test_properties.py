"""Properties of graphs against numbers computed apart from this code, closed forms and sums."""

import math

import numpy as np
import pytest

from mlscale.decentral.graphs.mixing import Graph, Mixing, Periodic
from mlscale.decentral.graphs.modes import Matrices, decay_of
from mlscale.decentral.graphs.properties import measure, rounds_to
from mlscale.decentral.graphs.registry import make_graph

# Ranks, name, degree, rho, gap, rounds to 1e-3, disagreement, effective neighbours at two gammas.
TABLE = [
    (8, "exp", 3, 0.5, 0.5, 10, 0.15470054, 7.1376, 7.9024),
    (8, "exp_sym", 5, 0.3333333333, 0.6666666667, 7, 0.04503676, 7.7240, 7.9713),
    (8, "torus", 3, 0.5, 0.5, 10, 0.16666667, 7.0857, 7.8951),
    (8, "hypercube", 3, 0.5, 0.5, 10, 0.16666667, 7.0857, 7.8951),
    (8, "grid", 3, 0.8535533906, 0.1464466094, 44, 0.43724963, 6.1963, 7.7350),
    (8, "ring", 2, 0.8047378541, 0.1952621459, 32, 0.51116071, 5.9198, 7.6906),
    (8, "star", 7, 0.875, 0.125, 52, 2.45, 3.2292, 6.7238),
    (16, "exp", 4, 0.6, 0.4, 14, 0.18135513, 12.4921, 15.5503),
    (16, "exp_sym", 7, 0.5, 0.5, 10, 0.07337583, 14.3461, 15.8147),
    (16, "torus", 4, 0.6, 0.4, 14, 0.20182292, 12.2346, 15.5019),
    (16, "hypercube", 4, 0.6, 0.4, 14, 0.20182292, 12.2346, 15.5019),
    (16, "grid", 4, 0.8686406183, 0.1313593817, 50, 0.55619282, 9.2469, 14.7195),
    (16, "ring", 2, 0.9492530217, 0.0507469783, 133, 1.47207520, 6.6011, 13.1191),
    (16, "star", 15, 0.9375, 0.0625, 108, 6.35080645, 2.3229, 8.2162),
    (64, "exp", 6, 0.7142857143, 0.2857142857, 21, 0.17549814, 30.8103, 57.5626),
    (64, "exp_sym", 11, 0.6666666667, 0.3333333333, 18, 0.08821234, 41.3992, 60.5911),
    (64, "hypercube", 6, 0.7142857143, 0.2857142857, 21, 0.19915365, 29.1539, 56.8081),
    (64, "torus", 4, 0.8828427125, 0.1171572875, 56, 0.43999925, 19.1093, 50.1686),
    (64, "grid", 4, 0.9677046369, 0.0322953631, 211, 0.93765230, 13.7523, 41.1800),
    (64, "ring", 2, 0.9967898178, 0.0032101822, 2149, 7.44277833, 6.6322, 17.8134),
    (64, "star", 63, 0.984375, 0.015625, 439, 30.27534449, 1.3342, 4.0602),
    (1008, "exp", 10, 0.8181818182, 0.1818181818, 35, 0.11731684, 81.3237, 462.8234),
    (1008, "exp_sym", 20, 0.8095238095, 0.1904761905, 33, 0.05916645, 148.9835, 632.2637),
    (1008, "torus", 4, 0.9939231012, 0.0060768988, 1134, 0.98675004, 19.9081, 108.5183),
    (1008, "grid", 4, 0.9984509078, 0.0015490922, 4456, 1.62597187, 18.1267, 87.5438),
    (1008, "ring", 2, 0.9999870486, 0.0000129514, 533358, 125.43363274, 6.6322, 17.8285),
    (1008, "star", 1007, 0.9990079365, 0.0009920635, 6960, 502.25161192, 1.0209, 1.1997),
]
GAPS = {
    "exp": {
        12: 0.4, 24: 0.33333333, 32: 0.33333333, 48: 0.28571429, 96: 0.25, 128: 0.25,
        256: 0.22222222, 2: 1, 3: 1, 4: 0.66666667, 5: 0.75, 6: 0.5, 7: 0.64644661, 9: 0.55821339,
    },
    "torus": {
        12: 0.4, 24: 0.2, 32: 0.11715729, 48: 0.11715729, 96: 0.05358984, 128: 0.03044819,
        256: 0.03044819, 4: 0.66666667, 6: 0.5,
    },
    "ring": {
        12: 0.08931640, 24: 0.02271612, 32: 0.01280981, 48: 0.00570343, 96: 0.00142738,
        128: 0.00080303, 256: 0.00020079, 3: 1, 4: 0.66666667, 5: 0.46065534, 6: 0.33333333,
        7: 0.25100680,
    },
}  # fmt: skip
LATTICE_GAPS = {
    8: {2: 0.1952621459, 4: 0.5171572875, 6: 0.8571428571},
    16: {
        4: 0.1476054745, 6: 0.2818086440, 8: 0.4414067231, 10: 0.6125479430, 12: 0.7809416104,
        14: 0.9333333333,
    },
    64: {4: 0.0096119972, 8: 0.0318244722, 16: 0.1117296486, 32: 0.3831676477, 62: 0.9841269841},
    1008: {
        4: 0.0000388538, 10: 0.0001942601, 16: 0.0004661862, 32: 0.0017604639, 64: 0.0068243394,
        112: 0.0205426784, 128: 0.0267220965, 256: 0.1035489168, 504: 0.3646429180,
    },
}  # fmt: skip
LATTICES_OF_1008 = {
    10: (8.26121575, 25.31),
    32: (0.88092899, 76.14),
    64: (0.21582335, 150.01),
    112: (0.06607969, 260.76),
    256: (0.00993772, 573.97),
}
ONEPEER = {
    3: 0.25, 5: 0.2022542, 6: 0.2165064, 7: 0.125, 9: 0.1174616, 12: 0.2091291, 24: 0.2073399,
    48: 0.2068960, 96: 0.2067852, 100: 0.1916424,
}  # fmt: skip
LEAST = {
    "torus": {8: -0.5, 16: -0.6, 64: -0.6, 1008: -0.6},
    "ring": {8: -1 / 3, 16: -1 / 3, 64: -1 / 3, 1008: -1 / 3},
    "hypercube": {8: -0.5, 16: -0.6, 64: -0.714286},
}


def slow_sum(graph: Graph, gamma: float, terms: int = 3000) -> float:
    """Return the mean over starts of 1/N of the sum of gamma^(m-1) || C W ... W ||_F^2."""
    assert graph.period
    centre_NN = np.eye(graph.num_ranks) - 1 / graph.num_ranks
    total = 0.0
    for start in range(graph.period):
        product_NN = centre_NN
        for m in range(terms):
            product_NN = centre_NN @ graph.at(start + m).dense() @ product_NN
            total += gamma**m * float((product_NN**2).sum())
    return total / graph.period / graph.num_ranks


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[1]}-{row[0]}")
def test_the_table(row: tuple[int, str, int, float, float, int, float, float, float]) -> None:
    num_ranks, name, degree, rho, gap, rounds, apart, effective, effective_long = row
    found = measure(make_graph(name, num_ranks))
    assert found.degree == degree
    assert found.rho == found.rho_round == pytest.approx(rho, abs=6e-11)
    assert found.gap == pytest.approx(gap, abs=6e-11)
    assert found.rounds == rounds
    assert found.disagreement == pytest.approx(apart, abs=6e-9)
    assert found.effective[0.9] == pytest.approx(effective, abs=6e-5)
    assert found.effective[0.99] == pytest.approx(effective_long, abs=6e-5)
    assert found.is_symmetric is (name != "exp")
    assert found.keeps_mean
    assert found.exact_after is None


@pytest.mark.parametrize("num_ranks", [1, 2, 8, 250])
def test_complete_is_exact_at_once(num_ranks: int) -> None:
    found = measure(make_graph("complete", num_ranks))
    assert (found.rho, found.gap, found.rounds, found.exact_after) == (0, 1, 1, 1)
    assert found.disagreement == pytest.approx(0, abs=1e-15)
    assert found.effective == pytest.approx({0.9: num_ranks, 0.99: num_ranks})
    assert found.sends == num_ranks - 1


@pytest.mark.parametrize("name", GAPS)
def test_gaps_at_other_numbers_of_ranks(name: str) -> None:
    for num_ranks, gap in GAPS[name].items():
        decay = decay_of(make_graph(name, num_ranks))
        assert 1 - decay.norm == pytest.approx(gap, abs=6e-9), num_ranks


@pytest.mark.parametrize(
    ("num_ranks", "neighbours", "gap"),
    [(n, k, gap) for n, gaps in LATTICE_GAPS.items() for k, gap in gaps.items()],
)
def test_gaps_of_lattices(num_ranks: int, neighbours: int, gap: float) -> None:
    decay = decay_of(make_graph(f"lattice-{neighbours}", num_ranks))
    assert 1 - decay.norm == pytest.approx(gap, abs=6e-11)


def test_gaps_of_lattices_of_96() -> None:
    gaps = {2: 0.001427, 4: 0.004278, 6: 0.008546, 8: 0.014219, 10: 0.021283}
    for neighbours, gap in gaps.items():
        decay = decay_of(make_graph(f"lattice-{neighbours}", 96))
        assert 1 - decay.norm == pytest.approx(gap, abs=6e-7)


@pytest.mark.parametrize("neighbours", LATTICES_OF_1008)
def test_lattices_of_1008(neighbours: int) -> None:
    apart, effective = LATTICES_OF_1008[neighbours]
    found = measure(make_graph(f"lattice-{neighbours}", 1008))
    assert found.disagreement == pytest.approx(apart, abs=6e-9)
    assert found.effective[0.9] == pytest.approx(effective, abs=6e-3)


@pytest.mark.parametrize("num_ranks", range(4, 40, 3))
def test_closed_forms(num_ranks: int) -> None:
    ring = measure(make_graph("ring", num_ranks))
    assert ring.gap == pytest.approx(2 / 3 * (1 - math.cos(2 * math.pi / num_ranks)))
    exp = measure(make_graph("exp", 2 * num_ranks))
    assert exp.gap == pytest.approx(2 / (1 + math.ceil(math.log2(2 * num_ranks))))
    angles_N = 2 * np.pi * np.arange(num_ranks) / num_ranks
    eigenvalues_N = (1 + 2 * np.cos(angles_N) + 2 * np.cos(2 * angles_N)) / 5
    if num_ranks > 5:
        lattice = measure(make_graph("lattice-4", num_ranks))
        assert lattice.rho == pytest.approx(np.abs(eigenvalues_N[1:]).max())
        assert lattice.lambda_min == pytest.approx(eigenvalues_N.min())


@pytest.mark.parametrize("sides", [(3, 3), (3, 4), (3, 5), (5, 7)])
def test_eigenvalues_of_a_torus(sides: tuple[int, int]) -> None:
    p_AB, q_AB = np.indices(sides)
    cosines_AB = np.cos(2 * np.pi * p_AB / sides[0]) + np.cos(2 * np.pi * q_AB / sides[1])
    expected_N = np.sort((1 + 2 * cosines_AB).ravel() / 5)
    torus = make_graph("torus", math.prod(sides))
    assert np.linalg.eigvalsh(torus.at(0).dense()) == pytest.approx(expected_N, abs=1e-12)
    found = measure(torus)
    assert found.lambda_min == pytest.approx(expected_N[0])
    assert found.rho == pytest.approx(max(expected_N[-2], -expected_N[0]))


@pytest.mark.parametrize("power", range(1, 8))
def test_hypercubes_and_onepeer_at_powers_of_two(power: int) -> None:
    num_ranks = 2**power
    cube = measure(make_graph("hypercube", num_ranks))
    assert cube.gap == pytest.approx(2 / (1 + power))
    found = measure(make_graph("onepeer", num_ranks))
    assert (found.rho, found.exact_after, found.rounds) == (0, power, power)
    assert found.disagreement == pytest.approx(1 - (1 + power) / num_ranks)
    assert (found.degree, found.sends) == (1, 1)
    assert found.is_symmetric is (power == 1)


@pytest.mark.parametrize("name", LEAST)
def test_least_eigenvalues(name: str) -> None:
    for num_ranks, least in LEAST[name].items():
        found = decay_of(make_graph(name, num_ranks)).least
        assert found == pytest.approx(least, abs=6e-7)
    assert decay_of(make_graph("exp", 8)).least is None
    assert decay_of(make_graph("ring", 8, form="lazy")).least == pytest.approx(1 / 3)


@pytest.mark.parametrize("num_ranks", ONEPEER)
def test_a_period_of_onepeer(num_ranks: int) -> None:
    graph = make_graph("onepeer", num_ranks)
    assert graph.period
    found = measure(graph)
    assert found.rho == pytest.approx(ONEPEER[num_ranks], abs=6e-8)
    assert found.rho_round**graph.period == pytest.approx(found.rho)
    assert found.exact_after is None


def test_periods_of_onepeer_at_1008_ranks() -> None:
    graph = make_graph("onepeer", 1008)
    assert isinstance(graph, Periodic)
    for periods, rho in [(1, 0.0156185504), (2, 2.439391e-04), (3, 3.809975e-06)]:
        again = Periodic("again", graph.rounds * periods)
        assert decay_of(again).norm == pytest.approx(rho, rel=3e-7)
    assert measure(graph).disagreement == pytest.approx(0.9893, abs=6e-5)


@pytest.mark.parametrize("num_ranks", [6, 10, 16])
def test_single_rounds_of_onepeer(num_ranks: int) -> None:
    graph = make_graph("onepeer", num_ranks)
    for step in range(graph.period or 0):
        single = decay_of(Periodic("one round", (graph.at(step),)))
        expected = 1.0 if step else math.cos(math.pi / num_ranks)
        assert single.norm == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "num_ranks"),
    [("exp", 7), ("grid", 6), ("star", 5), ("onepeer", 6), ("base-2", 6), ("base-3", 7)],
)
def test_sums_term_by_term(name: str, num_ranks: int) -> None:
    graph = make_graph(name, num_ranks)
    for decay in (decay_of(graph), Matrices.of([graph.at(t) for t in range(graph.period or 0)])):
        for gamma in (0.0, 0.9, 1.0):
            slow = slow_sum(graph, gamma, terms=400)
            assert decay.disagreement(gamma) == pytest.approx(slow, rel=1e-9)
    found = measure(graph, gammas=[0.5])
    shared = 1 / num_ranks / (1 - 0.5) + slow_sum(graph, 0.5, terms=100)
    assert found.effective == {0.5: pytest.approx(2 / shared)}


def test_links_one_way_that_do_not_keep_the_mean() -> None:
    rows = [[(0, 0.5), (1, 0.5)], [(1, 0.2), (2, 0.3), (0, 0.5)], [(2, 0.4), (0, 0.6)]]
    graph = Periodic("mine", (Mixing.from_rows(rows),))
    found = measure(graph)
    assert not found.keeps_mean
    assert found.effective == {0.9: None, 0.99: None}
    assert found.disagreement == pytest.approx(slow_sum(graph, 1.0, terms=300))
    centre_NN = np.eye(3) - 1 / 3
    assert found.rho == pytest.approx(np.linalg.norm(centre_NN @ graph.at(0).dense(), 2))


def test_a_base_graph_in_the_lazy_form_is_not_exact() -> None:
    plain, lazy = (measure(make_graph("base-3", 10, form=form)) for form in ("plain", "lazy"))
    assert plain.exact_after == plain.rounds == 4
    assert (plain.rho, plain.gap) == (0, 1)
    assert lazy.exact_after is None
    assert 0 < lazy.rho < 1
    assert lazy.rounds == math.ceil(math.log(1e-3) / math.log(lazy.rho_round))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "length"), [("base-2", 15), ("base-3", 10)])
def test_base_graphs_of_1008(name: str, length: int) -> None:
    found = measure(make_graph(name, 1008))
    assert (found.rho, found.exact_after) == (0, length)
    assert found.is_symmetric
    assert found.disagreement is not None
    assert found.effective[0.9] == pytest.approx(10.2 if length == 15 else 12.1, abs=0.05)


def test_ranks_that_never_meet_never_agree() -> None:
    apart = Periodic("apart", (Mixing.from_rows([[(0, 1.0)], [(1, 1.0)]]),))
    for graph in (apart, Periodic("twice", apart.rounds * 2)):
        found = measure(graph)
        assert (found.rho, found.gap, found.rounds, found.disagreement) == (1, 0, None, None)
        assert found.effective[0.9] == pytest.approx(1)
    assert Matrices.of(apart.rounds).disagreement(1.0) == math.inf


def test_one_rank() -> None:
    found = measure(make_graph("ring", 1))
    assert (found.degree, found.sends, found.rho, found.gap, found.rounds) == (0, 0, 0, 1, 1)
    assert found.lambda_min == pytest.approx(1)
    assert found.disagreement == 0
    assert found.effective == {0.9: pytest.approx(1), 0.99: pytest.approx(1)}


def test_matchings_in_the_mean_square() -> None:
    found = measure(make_graph("matching", 8))
    square = 1 / 2 - 1 / 14
    assert found.rho == found.rho_round == pytest.approx(math.sqrt(square))
    assert found.disagreement == pytest.approx(7 / 8 * square / (1 - square))
    assert (found.degree, found.sends, found.is_symmetric) == (1, 1, True)
    assert measure(make_graph("matching", 7)).sends == pytest.approx(6 / 7)
    assert measure(make_graph("matching", 2)).exact_after == 1


def test_matchings_shrink_noise_as_they_should() -> None:
    graph, rng = make_graph("matching", 8, seed=3), np.random.default_rng(0)
    value_NK, sums = np.zeros((8, 400)), []
    for step in range(120):
        value_NK = graph.at(step).dense() @ (value_NK + rng.normal(size=value_NK.shape))
        sums.append(((value_NK - value_NK.mean(0)) ** 2).mean())
    assert np.mean(sums[20:]) == pytest.approx(measure(graph).disagreement, rel=0.05)


@pytest.mark.parametrize(
    ("rho", "rounds"),
    [(0.0, 1), (1e-3, 1), (0.1, 3), (0.5, 10), (10**-0.5, 6), (1.0, None), (0.999, 6905)],
)
def test_rounds_to_a_thousandth(rho: float, rounds: int | None) -> None:
    assert rounds_to(rho) == rounds
