"""Values x_i = i averaged round by round: their spread, and all of them after a few rounds."""

import numpy as np
import pytest

from mlscale.decentral.graphs.registry import make_graph

# Mean square distance to the mean after so many rounds.
SPREAD = {
    (8, "exp"): {
        0: 5.25, 1: 0.9375, 2: 0.1875, 3: 0.0390625, 5: 0.00178527832, 10: 9.076902643e-07,
        20: 3.582037e-13,
    },
    (8, "torus"): {
        0: 5.25, 1: 1.25, 2: 0.3125, 3: 0.078125, 5: 0.0048828125, 10: 4.768371582e-06,
        20: 4.547473509e-12,
    },
    (8, "ring"): {
        0: 5.25, 1: 2.361111111, 2: 1.447530864, 3: 0.9290123457, 5: 0.3889185253,
        10: 0.04429750839, 20: 0.0005747353473, 50: 1.255260159e-09,
    },
    (8, "onepeer"): {0: 5.25, 1: 3.5, 2: 1.5, 3: 0},
    (16, "exp"): {
        0: 21.25, 1: 4.93, 2: 1.3076, 3: 0.355792, 5: 0.0272485632, 10: 5.132084106e-05,
        20: 4.595658e-10,
    },
    (16, "torus"): {
        0: 21.25, 1: 6.29, 2: 2.21, 3: 0.793424, 5: 0.1027929344, 10: 0.0006215469349,
        20: 2.272474072e-08,
    },
    (16, "ring"): {
        0: 21.25, 1: 14.80555556, 2: 12.3117284, 3: 10.60802469, 5: 8.201006791, 10: 4.680283131,
        20: 1.636555089, 50: 0.07189478468,
    },
    (16, "onepeer"): {0: 21.25, 1: 17.5, 2: 12.5, 3: 5.5, 4: 0},
    (64, "exp"): {
        0: 341.25, 1: 110.4336735, 2: 40.29706372, 3: 15.10281643, 5: 2.158649147,
        10: 0.01707207966, 20: 1.395545e-06,
    },
    (64, "torus"): {
        0: 341.25, 1: 200.85, 2: 143.65, 3: 108.14856, 5: 64.22526989, 10: 18.36229583,
        20: 1.518929168, 50: 0.0008600776913,
    },
    (64, "ring"): {
        0: 341.25, 1: 313.4722222, 2: 301.4969136, 3: 292.6820988, 5: 279.0540272,
        10: 254.9712061, 20: 222.9389769, 50: 166.2426913,
    },
    (64, "onepeer"): {0: 341.25, 1: 325.5, 2: 302.5, 3: 262.5, 4: 192.5, 5: 85.5, 6: 0},
}  # fmt: skip


def values(name: str, num_ranks: int, num_rounds: int) -> np.ndarray:
    graph, value_N = make_graph(name, num_ranks), np.arange(num_ranks, dtype=float)
    for step in range(num_rounds):
        mixing = graph.at(step)
        value_N = np.array(
            [sum(w * value_N[s] for s, w in mixing.row(rank)) for rank in range(num_ranks)]
        )
    return value_N


@pytest.mark.parametrize(("num_ranks", "name"), SPREAD)
def test_spread(num_ranks: int, name: str) -> None:
    for num_rounds, spread in SPREAD[num_ranks, name].items():
        value_N = values(name, num_ranks, num_rounds)
        # Seven digits where the spread is near what rounding leaves of values of this size.
        assert value_N.var() == pytest.approx(spread, rel=5e-7, abs=1e-24)
        assert value_N.mean() == pytest.approx((num_ranks - 1) / 2, rel=1e-13)


@pytest.mark.parametrize(
    ("name", "num_rounds", "expected"),
    [
        ("ring", 1, [8 / 3, 1, 2, 3, 4, 5, 6, 13 / 3]),
        ("exp", 1, [4.25, 3.25, 2.25, 3.25, 2.25, 3.25, 4.25, 5.25]),
        ("torus", 1, [2, 2, 3, 3, 4, 4, 5, 5]),
        ("onepeer", 1, [3.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]),
        ("onepeer", 2, [4.5, 3.5, 2.5, 1.5, 2.5, 3.5, 4.5, 5.5]),
        ("onepeer", 3, [3.5] * 8),
    ],
)
def test_values_of_eight_ranks(name: str, num_rounds: int, expected: list[float]) -> None:
    assert values(name, 8, num_rounds) == pytest.approx(np.array(expected))
