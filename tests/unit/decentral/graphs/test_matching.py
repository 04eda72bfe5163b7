"""Random matchings: everyone in one pair, anew each step, and as fast as theory says."""

import numpy as np
import pytest

from mlscale.decentral.graphs.matching import Matching


@pytest.mark.parametrize("num_ranks", [1, 2, 7, 8])
def test_everyone_is_in_one_pair(num_ranks: int) -> None:
    graph = Matching("matching", num_ranks, seed=1)
    assert graph.period is None
    for step in range(20):
        mixing = graph.at(step)
        assert mixing.degrees.sum() == num_ranks - num_ranks % 2
        assert mixing.degrees.max(initial=0) <= 1
        assert mixing.is_symmetric
        for rank in range(num_ranks):
            assert mixing.self_weight(rank) == (0.5 if mixing.degrees[rank] else 1)


def test_a_step_is_its_own_draw() -> None:
    graph = Matching("matching", 10, seed=5)
    later = graph.at(7).dense()
    for step in range(7):
        assert not np.array_equal(graph.at(step).dense(), later)
    assert np.array_equal(Matching("matching", 10, seed=5).at(7).dense(), later)
    assert not np.array_equal(Matching("matching", 10, seed=6).at(7).dense(), later)


@pytest.mark.parametrize(("num_ranks", "share"), [(2, 1.0), (7, 1.0), (8, 1.0), (6, 0.4)])
def test_mean_square_is_the_second_eigenvalue_of_the_expected_square(
    num_ranks: int, share: float
) -> None:
    graph = Matching("matching", num_ranks, seed=0, share=share)
    draws = 800
    expected_NN = sum(graph.at(t).dense().T @ graph.at(t).dense() for t in range(draws)) / draws
    second = np.sort(np.linalg.eigvalsh(expected_NN))[:-1]
    # An entry is a mean of 800 draws; the eigenvalues stray by some of its standard errors.
    assert second == pytest.approx(np.full(num_ranks - 1, graph.mean_square), abs=0.1)
    assert second.mean() == pytest.approx(graph.mean_square, abs=1e-9)


@pytest.mark.parametrize("num_ranks", [2, 4, 8, 64])
def test_mean_square_in_closed_form(num_ranks: int) -> None:
    closed = 1 / 2 - 1 / (2 * (num_ranks - 1))
    assert Matching("matching", num_ranks).mean_square == pytest.approx(closed)
