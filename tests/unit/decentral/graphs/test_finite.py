"""The base-(k+1) graphs: lengths, degrees, and products that are the exact mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.decentral.graphs.finite import base_graph

NUM_RANKS = [4, 5, 6, 7, 8, 9, 12, 16, 24, 25, 32, 48, 64, 96, 128, 1008]
LENGTHS = {
    1: [2, 5, 4, 5, 3, 7, 5, 4, 6, 9, 5, 7, 6, 8, 7, 15],
    2: [2, 3, 2, 4, 3, 2, 3, 4, 4, 6, 5, 5, 6, 6, 7, 10],
    3: [1, 3, 2, 3, 2, 2, 2, 2, 3, 5, 3, 3, 3, 4, 4],
    4: [1, 1, 2, 3, 2, 2, 2, 2, 3, 2, 3, 3, 3, 4, 4, 7],
    6: [1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4],
}


@pytest.mark.parametrize("most", LENGTHS)
def test_length_of_a_period(most: int) -> None:
    for num_ranks, length in zip(NUM_RANKS, LENGTHS[most], strict=False):
        assert len(base_graph(num_ranks, most)) == length, num_ranks


@settings(max_examples=50, deadline=None)
@given(num_ranks=st.integers(1, 130), most=st.integers(1, 7))
def test_a_period_is_the_exact_mean(num_ranks: int, most: int) -> None:
    product_NN = np.eye(num_ranks)
    for mixing in base_graph(num_ranks, most):
        assert mixing.degrees.max() <= most
        assert mixing.is_symmetric
        assert mixing.is_row_stochastic
        assert (mixing.weights_E > 0).all()
        product_NN = mixing.dense() @ product_NN
    assert np.abs(product_NN - 1 / num_ranks).max() < 1e-14


def test_messages_of_a_period_at_1008_ranks() -> None:
    rounds = base_graph(1008, 1)
    assert sum(int(mixing.degrees.sum()) for mixing in rounds) / 1008 == pytest.approx(
        14.83, abs=0.005
    )
    vector_N = np.arange(1008.0)
    for mixing in rounds:
        vector_N = np.add.reduceat(
            vector_N[mixing.sources_E] * mixing.weights_E, mixing.starts[:-1]
        )
    assert vector_N == pytest.approx(np.full(1008, 503.5), rel=1e-13)


def test_five_ranks_of_one_neighbour_by_hand() -> None:
    # 5 = 4 + 1: the four average in two rounds, rank 4 meets one of them (and of the other three
    # two meet, though they are equal by then), then the four average again.
    dense = [mixing.dense() for mixing in base_graph(5, 1)]
    assert dense[0][4].tolist() == [0, 0, 0, 0, 1]
    meeting = dense[2][4]
    assert sorted(meeting.tolist()) == pytest.approx([0, 0, 0, 0.2, 0.8])
    assert meeting[3] == pytest.approx(0.8)
    assert dense[2][:3, :3].tolist() == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]
    assert dense[4][4].tolist() == [0, 0, 0, 0, 1]
