"""The latent model: what it learns, what it leaves alone, what a checkpoint keeps."""

import math

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.atari.latent import LatentDynamics

D, A, B = 6, 5, 64


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def make(seed: int = 0) -> LatentDynamics:
    return LatentDynamics(D, A, hidden=32, lr=3e-3, rng=rng(seed))


MATRIX = 0.1 * rng(1).normal(size=(D, D)).astype(np.float32)
SHIFTS = 0.5 * rng(2).normal(size=(A, D)).astype(np.float32)


def linear(z: np.ndarray, a: np.ndarray) -> np.ndarray:
    """A linear system with a shift per action."""
    return z + z @ MATRIX + SHIFTS[a]


def transitions(seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    z = rng(seed).normal(size=(B, D)).astype(np.float32)
    a = rng(seed).integers(0, A, B)
    return torch.from_numpy(z), torch.from_numpy(a), torch.from_numpy(linear(z, a))


def fitted(num_fits: int, seed: int = 0) -> LatentDynamics:
    model = make(seed)
    for number in range(num_fits):
        model.fit(*transitions(number))
    return model


def test_nothing_moves_before_the_first_fit() -> None:
    z = rng().normal(size=(3, D)).astype(np.float32)
    next_ = make().predict(z)
    assert next_.shape == (3, A, D)
    np.testing.assert_array_equal(next_, np.repeat(z[:, None], A, axis=1))


def test_it_learns_what_each_action_does() -> None:
    model = fitted(500)
    z = rng(9_999).normal(size=(50, D)).astype(np.float32)
    truth = np.stack([linear(z, np.full(50, a)) for a in range(A)], axis=1)
    predicted = model.predict(z)
    copying = np.square(z[:, None] - truth).mean()
    assert np.square(predicted - truth).mean() < 0.05 * copying
    # And the differences between actions themselves, which are all that a choice depends on.
    differences = (truth - truth.mean(1, keepdims=True), predicted - predicted.mean(1, keepdims=1))
    error = np.square(differences[0] - differences[1]).mean()
    assert error < 0.05 * np.square(differences[0]).mean()


def test_it_learns_features_that_hardly_vary_beside_a_constant() -> None:
    # As those of an untrained encoder do; what each action does must show in few updates.
    offset, unit = 3.0, 0.05 * (1 + torch.arange(D))
    model = make()
    for number in range(500):
        z, a, next_ = transitions(number)
        model.fit(offset + unit * z, a, offset + unit * next_)
    z = rng(9_999).normal(size=(50, D)).astype(np.float32)
    truth = np.stack([linear(z, np.full(50, a)) for a in range(A)], axis=1)
    unit = unit.numpy()
    error = np.square((model.predict(offset + unit * z) - offset) / unit - truth).mean()
    assert error < 0.05 * np.square(z[:, None] - truth).mean()


def test_the_loss_is_that_of_the_prediction_made_with_the_same_weights() -> None:
    z, a, next_ = transitions(0)
    model, other = make(), make()
    loss = model.fit(z, a, next_)
    for weights, same in zip(model._weights.values(), other._weights.values(), strict=True):
        weights[:] = same  # as before the update, with the statistics after it
    error = model.predict(z.numpy())[np.arange(B), a] - next_.numpy()
    changes = (next_ - z).numpy() / z.numpy().std(0)
    expected = np.square(error / z.numpy().std(0)).mean() / np.square(changes).mean()
    assert loss == pytest.approx(expected, rel=1e-4)


def test_copying_costs_about_one_whatever_the_unit() -> None:
    losses = []
    for unit in (1e-3, 1.0, 1e3):
        model = make()
        z, a, next_ = transitions(0)
        losses.append(model.fit(z, a, z + unit * (next_ - z)))
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-2)
    assert 0.9 < losses[0] < 3


def test_a_batch_in_which_nothing_moved_can_be_fitted() -> None:
    model = make()
    z, a, _ = transitions(0)
    assert math.isfinite(model.fit(z, a, z))
    np.testing.assert_array_equal(model.predict(z.numpy())[:, 0], z.numpy())


def test_no_gradient_reaches_the_latents() -> None:
    z, a, next_ = transitions(0)
    before, after = z.clone().requires_grad_(), next_.clone().requires_grad_()
    make().fit(2 * before, a, 3 * after)
    assert before.grad is None
    assert after.grad is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_no_number_changes_nothing(bad: float) -> None:
    model = fitted(3)
    tensors = {name: tensor.clone() for name, tensor in model.saved()[0].items()}
    state = dict(model.saved()[1])
    z, a, next_ = transitions(5)
    with pytest.raises(WorkFailed, match="latent model diverged"):
        model.fit(z, a, next_ + bad)
    assert all(tensors[name].equal(tensor) for name, tensor in model.saved()[0].items())
    assert model.saved()[1] == state


def test_going_on_from_what_was_saved_is_going_on() -> None:
    model, other = fitted(5), make(seed=1)
    tensors, state = model.saved()
    other.load({name: tensor.clone() for name, tensor in tensors.items()}, state)
    z = transitions(7)[0].numpy()
    for number in range(5, 8):
        np.testing.assert_array_equal(model.predict(z), other.predict(z))
        assert model.fit(*transitions(number)) == other.fit(*transitions(number))
    assert other.num_fits == 8


def test_the_first_weights_come_from_the_generator() -> None:
    z = transitions(0)[0].numpy()
    np.testing.assert_array_equal(fitted(2).predict(z), fitted(2).predict(z))
    assert (fitted(2).predict(z) != fitted(2, seed=1).predict(z)).any()
