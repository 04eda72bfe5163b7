"""Densities of latents against dense formulas, loops and numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.rl.dqn.atari.density import Density, Recent
from mlscale.rl.dqn.atari.low_rank import LowRankGaussian, ridged_mahalanobis
from mlscale.rl.dqn.atari.neighbours import Neighbours, mean_distance


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def f4(values: object) -> np.ndarray:
    return np.array(values, np.float32)


def normal(seed: int, *shape: int) -> np.ndarray:
    return rng(seed).normal(size=shape).astype(np.float32)


def make(kind: str, window: int = 6, num_features: int = 3) -> Density:
    if kind == "low_rank":
        return LowRankGaussian(window, num_features, ridge=0.1)
    return Neighbours(window, num_features, num_neighbours=2)


KINDS = ["low_rank", "neighbours"]


def test_the_ring_keeps_the_last_latents() -> None:
    recent = Recent(4, 1)
    recent.add(f4([[0], [1], [2]]))
    assert recent.latents.ravel().tolist() == [0, 1, 2]
    recent.add(f4([[3], [4], [5]]))
    assert sorted(recent.latents.ravel()) == [2, 3, 4, 5]
    assert recent.num_seen == 6


def test_mahalanobis_with_fewer_latents_than_features_by_hand() -> None:
    recent = f4([[3, 5, 5], [-1, 5, 5]])
    # Mean (1, 5, 5), variances (8, 0, 0), their mean 8/3; ridge 3/4 adds 2: diag(10, 2, 2).
    x = f4([[1, 5, 5], [11, 5, 5], [1, 7, 5], [6, 5, 6]])
    assert ridged_mahalanobis(recent, x, 0.75) == pytest.approx([0, 10, 2, 3], abs=1e-5)


def test_mahalanobis_with_more_latents_than_features_by_hand() -> None:
    recent = f4([[1, 0], [-1, 0], [0, 2], [0, -2]])
    # Mean 0, variances (2/3, 8/3), their mean 5/3; ridge 0.2 adds 1/3: diag(1, 3).
    got = ridged_mahalanobis(recent, f4([[0, 0], [2, 3], [1, 0]]), 0.2)
    assert got == pytest.approx([0, 7, 1], abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    num=st.integers(2, 40), width=st.integers(2, 30),
    ridge=st.sampled_from([0.001, 0.01, 1.0]), seed=st.integers(0, 99),
)  # fmt: skip
def test_mahalanobis_is_the_dense_formula(num: int, width: int, ridge: float, seed: int) -> None:
    # Correlated features far from 0, as latents are.
    recent = normal(seed, num, width) @ normal(seed + 1, width, width) + 3
    x = recent[:1] + normal(seed + 2, 5, width)
    covariance = np.cov(recent.astype("f8").T)
    covariance += ridge * np.trace(covariance) / width * np.eye(width)
    y = x.astype("f8") - recent.mean(0, dtype="f8")
    dense = np.einsum("nd,de,ne->n", y, np.linalg.inv(covariance), y)
    np.testing.assert_allclose(ridged_mahalanobis(recent, x, ridge), dense, rtol=2e-3, atol=1e-3)


def test_latents_that_never_varied_make_anything_else_novel() -> None:
    got = ridged_mahalanobis(np.ones((5, 3), np.float32), f4([[1, 1, 1], [1, 1, 1.5]]), 0.1)
    assert np.isfinite(got).all()
    assert got[1] > got[0]


def test_distances_by_hand() -> None:
    recent = f4([[0, 0], [3, 4], [30, 40]])
    assert mean_distance(recent, f4([[0, 0], [3, 0]]), 2) == pytest.approx([2.5, 3.5], abs=1e-4)
    assert mean_distance(recent, f4([[0, 0]]), 9) == pytest.approx([55 / 3], rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(num=st.integers(1, 30), k=st.integers(1, 8), seed=st.integers(0, 99))
def test_distances_are_those_of_a_loop(num: int, k: int, seed: int) -> None:
    recent, x = normal(seed, num, 4) + 5, normal(seed + 1, 6, 4) + 5
    slow = [np.mean(sorted(np.linalg.norm(recent - row, axis=1))[:k]) for row in x]
    np.testing.assert_allclose(mean_distance(recent, x, k), slow, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_visited_is_less_novel_than_what_was_not(kind: str) -> None:
    density = make(kind)
    z = f4([[1, 1, 1], [1, 1.2, 1]])
    for _ in range(5):
        density.add(z)
    assert density.num_seen == 10
    visited, other = density.novelty(f4([[1, 1.1, 1], [-4, 1, 3]]))
    assert visited < other


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_is_the_same(kind: str) -> None:
    density, other = make(kind), make(kind)
    density.add(normal(0, 4, 3))
    density.add(normal(1, 4, 3))
    tensors, state = density.saved()
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    other.load(tensors, state)
    for number in range(2, 4):
        z, x = normal(number, 2, 3), normal(number + 10, 50, 3)
        np.testing.assert_array_equal(density.novelty(x), other.novelty(x))
        density.add(z)
        other.add(z)
    assert density.num_seen == other.num_seen == 12
    assert all(before[name].equal(tensor) for name, tensor in tensors.items())
