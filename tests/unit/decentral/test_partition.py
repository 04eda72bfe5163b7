"""Splits over ranks and orders of batches: every example once, sizes, seeds, skew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.decentral.partition import (
    batch_indices,
    common_batch,
    dirichlet,
    iid,
    steps_per_epoch,
)


def assert_every_example_once(parts: list[np.ndarray], num_examples: int) -> None:
    assert sorted(np.concatenate(parts).tolist()) == list(range(num_examples))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


@given(st.integers(1, 200), st.integers(1, 40), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_an_iid_split_has_every_example_once(examples: int, ranks: int, seed: int) -> None:
    examples = max(examples, ranks)
    parts = iid(examples, ranks, np.random.default_rng(seed))
    assert len(parts) == ranks
    assert_every_example_once(parts, examples)


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=200),
    st.integers(1, 20),
    st.floats(1e-4, 1e4),
    st.integers(0, 9),
)
@settings(max_examples=100, deadline=None)
def test_a_skewed_split_has_every_example_once(
    labels: list[int], ranks: int, alpha: float, seed: int
) -> None:
    ranks = min(ranks, len(labels))
    parts = dirichlet(np.array(labels) * 3, ranks, alpha, np.random.default_rng(seed))
    assert len(parts) == ranks
    assert_every_example_once(parts, len(labels))


def shares(labels: np.ndarray, parts: list[np.ndarray]) -> np.ndarray:
    return np.array([np.bincount(labels[part], minlength=10) / len(part) for part in parts])


def test_a_small_alpha_leaves_a_rank_few_classes_and_a_large_one_all_alike() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(10), 500))
    rng = np.random.default_rng(1)
    skewed = shares(labels, dirichlet(labels, 5, 0.01, rng))
    assert np.median(skewed.max(axis=1)) > 0.4  # 1,000 of a class that has only 500: two classes
    assert np.median((skewed > 0.01).sum(axis=1)) <= 4
    even = shares(labels, dirichlet(labels, 5, 1e5, rng))
    assert abs(even - 0.1).max() < 0.04


def test_mixtures_have_the_variance_of_the_dirichlet() -> None:
    labels = np.repeat(np.arange(2), [6_000, 14_000])
    alpha, size = 3.0, 100
    parts = dirichlet(labels, 200, alpha, np.random.default_rng(0))
    share = [(labels[part] == 0).mean() for part in parts]
    # Beta-binomial: counts of a class whose share is itself drawn.
    expected = 0.3 * 0.7 / size * (1 + (size - 1) / (alpha + 1))
    assert np.var(share) == pytest.approx(expected, rel=0.2)


def test_splits_depend_on_the_generator_alone() -> None:
    labels = np.arange(100) % 10
    for split in (
        lambda rng: iid(100, 4, rng),
        lambda rng: dirichlet(labels, 4, 0.5, rng),
    ):
        first, same, other = (split(np.random.default_rng(seed)) for seed in (0, 0, 1))
        assert all((a == b).all() for a, b in zip(first, same, strict=True))
        assert any((a != b).any() for a, b in zip(first, other, strict=True))


def test_batches_of_an_epoch_are_the_part_shuffled() -> None:
    part = np.arange(100, 123)
    batches = batch_indices(part, 0, 7, 3, 5)
    assert batches.shape == (4, 5)
    assert len(set(batches.ravel().tolist())) == 20
    assert set(batches.ravel().tolist()) < set(part.tolist())
    assert (batch_indices(part, 0, 7, 3, 5) == batches).all()
    for other in (
        batch_indices(part, 1, 7, 3, 5),
        batch_indices(part, 0, 8, 3, 5),
        batch_indices(part, 0, 7, 2, 5),
    ):
        assert (other != batches).any()
    assert part.tolist() == list(range(100, 123))  # left as it was


def test_what_is_left_out_of_one_epoch_comes_in_others() -> None:
    part = np.arange(7)
    seen = {int(i) for epoch in range(20) for i in batch_indices(part, epoch, 0, 0, 4).ravel()}
    assert seen == set(range(7))


def test_a_part_smaller_than_a_batch_is_one_batch() -> None:
    batches = batch_indices(np.array([4, 9, 2]), 0, 0, 0, 8)
    assert batches.shape == (1, 3)
    assert sorted(batches[0].tolist()) == [2, 4, 9]


def test_all_ranks_take_as_many_steps_as_the_one_with_the_fewest() -> None:
    parts = [np.arange(10), np.arange(9), np.arange(30)]
    assert steps_per_epoch(parts, 5) == 1
    assert steps_per_epoch(parts, 3) == 3
    assert steps_per_epoch(parts, 50) == 1
    assert (common_batch(parts, 5), common_batch(parts, 10)) == (5, 9)


def test_errors_name_both_numbers() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(UserError, match=r"^3 training examples cannot be split over 4 ranks$"):
        iid(3, 4, rng)
    with pytest.raises(UserError, match=r"^3 training examples cannot be split over 4 ranks$"):
        dirichlet(np.zeros(3, np.int64), 4, 1.0, rng)
    with pytest.raises(UserError, match="over 4 ranks with at least 8 each"):
        dirichlet(np.zeros(30, np.int64), 4, 1.0, rng, min_examples=8)
    with pytest.raises(UserError, match="alpha must be a positive number, not 0"):
        dirichlet(np.zeros(30, np.int64), 4, 0.0, rng)
    with pytest.raises(UserError, match="at least one rank"):
        iid(3, 0, rng)
    with pytest.raises(ValueError, match="no batches of 4 from 0"):
        batch_indices(np.empty(0, np.int64), 0, 0, 0, 4)
