"""Measures of dispersion against exact numbers, a slow loop and their invariants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.decentral.dispersion import MEASURES, cv, gini, iod, qcd, spearman

EXACT = [
    ([1, 1, 1, 1], (0, 0, 0, 0)),
    ([0, 0, 0, 1], (0.75, 1.7320508076, 0.75, 1)),
    ([1, 2, 3, 4], (0.25, 0.4472135955, 0.5, 0.3)),
    ([10, 10, 10, 11], (0.0182926829, 0.0422451416, 0.0182926829, 0.0123456790)),
    ([1, 2, 3, 4, 5, 6, 7, 8], (0.2916666667, 0.5091750772, 1.1666666667, 0.3888888889)),
    ([5, 6, 7, 8], (0.0961538462, 0.1720052290, 0.1923076923, 0.1153846154)),
]

norms = st.lists(st.floats(0, 1e6), min_size=1, max_size=12)


@pytest.mark.parametrize(("values", "expected"), EXACT)
def test_exact_values(values: list[int], expected: tuple[float, ...]) -> None:
    found = [gini(values), cv(values), iod(values), qcd(values)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=5.1e-11)  # ten decimals
    assert [measure.shape for measure in found] == [()] * 4
    np.testing.assert_allclose([measure(values) for measure in MEASURES.values()], found)


@given(norms)
def test_gini_is_the_mean_distance_of_two_ranks(values: list[float]) -> None:
    mean, pairs = sum(values) / len(values), [abs(x - y) for x in values for y in values]
    expected = sum(pairs) / (2 * len(values) ** 2 * mean) if mean else 0
    assert gini(values) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert -1e-12 <= gini(values) <= 1 - 1 / len(values) + 1e-12


@pytest.mark.parametrize("name", MEASURES)
def test_columns_are_measured_each_on_its_own_and_order_does_not_count(name: str) -> None:
    measure = MEASURES[name]
    norms_NK = np.random.default_rng(0).uniform(1, 3, (8, 5))
    norms_NK[:, 2] = 0
    each = [measure(norms_NK[:, k]) for k in range(5)]
    np.testing.assert_allclose(measure(norms_NK), each)
    np.testing.assert_allclose(measure(norms_NK[::-1]), each)
    assert measure(norms_NK)[2] == 0


def test_all_but_the_index_of_dispersion_are_free_of_scale() -> None:
    values = np.array([5.0, 6, 7, 8])
    for name, measure in MEASURES.items():
        factor = 10 if name == "iod" else 1
        np.testing.assert_allclose(measure(10 * values), factor * measure(values))


@pytest.mark.parametrize("name", MEASURES)
def test_one_rank_and_ranks_of_zero_do_not_differ(name: str) -> None:
    assert MEASURES[name]([3.0]) == 0
    assert MEASURES[name]([0.0, 0.0, 0.0]) == 0


def test_quartiles_may_be_zero_where_the_mean_is_not() -> None:
    assert qcd([0, 0, 0, 0, 0, 0, 0, 1]) == 0


def test_a_norm_that_is_not_a_number_is_not_hidden() -> None:
    for measure in MEASURES.values():
        found = measure([[1.0, 1.0], [np.nan, 3.0]])
        assert np.isnan(found).tolist() == [True, False]


@pytest.mark.parametrize(("values", "text"), [([], "one rank"), (3.0, "one rank"), ([-1], "-1")])
def test_what_is_no_norm_is_refused(values: object, text: str) -> None:
    for measure in MEASURES.values():
        with pytest.raises(ValueError, match=text):
            measure(values)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4, 5], [5, 6, 7, 8, 7], 0.8207826816681233),  # places 1 2 3.5 5 3.5
        ([1, 2, 3], [10, 20, 30], 1),
        ([1, 2, 3], [3, 2, 1], -1),
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),  # 1 - 6 * 2 / (4 * 15)
        ([1, 1, 2, 2], [1, 2, 1, 2], 0),
        ([3, 3, 1, 5], [2, 2, 1, 9], 1),
        ([1, 1, 2], [1, 2, 3], 0.8660254037844387),  # places 1.5 1.5 3: 1.5 / sqrt(1.5 * 2)
    ],
)
def test_spearman_by_hand(first: list[int], second: list[int], expected: float) -> None:
    assert spearman(first, second) == pytest.approx(expected, abs=1e-12)
    assert spearman(second, first) == pytest.approx(expected, abs=1e-12)


def test_spearman_sees_order_alone() -> None:
    values = np.random.default_rng(0).normal(size=20)
    assert spearman(values, np.exp(values)) == pytest.approx(1)


@pytest.mark.parametrize("values", [[2, 2, 2], [2], []])
def test_spearman_of_what_does_not_vary_is_none(values: list[int]) -> None:
    assert spearman(values, values) is None
    assert spearman(values, list(range(len(values)))) is None


def test_spearman_refuses_unequal_lengths() -> None:
    with pytest.raises(ValueError, match=r"\(2,\) and \(3,\)"):
        spearman([1, 2], [1, 2, 3])
