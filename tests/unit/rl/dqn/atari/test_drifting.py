"""Running statistics against weighted sums written out."""

import json

import numpy as np
import pytest

from mlscale.rl.dqn.atari.drifting import Drifting

DECAY = 0.97


def batches(num: int, num_values: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    scale = np.arange(1, num_values + 1)
    return [(5 + scale * rng.normal(size=(16, num_values))).astype("f4") for _ in range(num)]


def after(parts: list[np.ndarray]) -> Drifting:
    drifting = Drifting(parts[0].shape[1], DECAY)
    for part in parts:
        drifting = drifting.with_batch(part)
    return drifting


def test_after_one_batch_they_are_that_batchs() -> None:
    (x,) = batches(1)
    drifting = after([x])
    np.testing.assert_allclose(drifting.mean, x.mean(0), rtol=1e-6)
    np.testing.assert_allclose(drifting.std, x.std(0), rtol=1e-5)
    assert drifting.root_mean_square == pytest.approx(np.sqrt(np.square(x).mean()), rel=1e-6)
    assert drifting.num_added == 1


def test_a_batch_counts_for_less_the_older_it_is() -> None:
    parts = batches(30)
    weights = DECAY ** np.arange(30)[::-1]
    weights /= weights.sum()
    means = np.einsum("n,nbd->d", weights, parts) / 16
    squares = np.einsum("n,nbd->d", weights, np.square(parts)) / 16
    drifting = after(parts)
    np.testing.assert_allclose(drifting.mean, means, rtol=1e-5)
    np.testing.assert_allclose(drifting.std, np.sqrt(squares - means**2), rtol=1e-4)


def test_values_that_do_not_vary_get_a_deviation_to_divide_by() -> None:
    x = np.zeros((8, 2), np.float32)
    x[:, 0] = [3, -3] * 4
    # Variances 9 and 0, root of their mean 2.12, a tenth of it 0.212.
    assert after([x]).std.tolist() == pytest.approx([3, 0.212132])
    assert (after([np.ones((8, 2), np.float32)]).std > 0).all()


def test_nothing_has_happened_before_the_first_batch() -> None:
    fresh = Drifting(2, DECAY)
    assert fresh.mean.tolist() == [0, 0]
    assert fresh.root_mean_square == 0
    assert fresh.num_added == 0


def test_the_one_before_stays_as_it_was() -> None:
    before = after(batches(2))
    mean = before.mean.copy()
    before.with_batch(batches(1)[0] + 100)
    np.testing.assert_array_equal(before.mean, mean)


def test_saved_and_loaded_is_the_same() -> None:
    drifting, more = after(batches(5)), batches(1)[0]
    other = Drifting.loaded(json.loads(json.dumps(drifting.saved())))
    for one, two in ((drifting, other), (drifting.with_batch(more), other.with_batch(more))):
        np.testing.assert_array_equal(one.mean, two.mean)
        np.testing.assert_array_equal(one.std, two.std)
        assert one.root_mean_square == two.root_mean_square
        assert one.num_added == two.num_added
