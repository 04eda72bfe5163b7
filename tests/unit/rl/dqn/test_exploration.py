"""Exploration: choices against brute force, models against the truth, the gate, the bonus."""

import math

import gymnasium  # noqa: TID253 - every test here needs it
import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.errors import UserError
from mlscale.rl.dqn.config import MbeConfig, RndConfig
from mlscale.rl.dqn.exploration.density import mahalanobis, surprise
from mlscale.rl.dqn.exploration.dynamics import DifferenceDynamics, DirectDynamics, Dynamics
from mlscale.rl.dqn.exploration.gate import Gate
from mlscale.rl.dqn.exploration.mbe import ModelBased
from mlscale.rl.dqn.exploration.moments import Moments
from mlscale.rl.dqn.exploration.oracle import MountainCarDynamics, true_dynamics
from mlscale.rl.dqn.exploration.regressor import Regressor
from mlscale.rl.dqn.exploration.rnd import Distilled
from mlscale.rl.dqn.exploration.window import Window
from mlscale.rl.dqn.networks import make_mlp
from mlscale.rl.dqn.replay import Batch


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_log_density_of_a_gaussian_by_hand() -> None:
    recent = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    # Mean 0, covariance diag(2/3, 8/3); with ridge 1/3: diag(1, 3).
    got = surprise(recent, np.array([[0.0, 0.0], [2.0, 3.0]]), ridge=1 / 3)
    at_mean = 0.5 * (2 * math.log(2 * math.pi) + math.log(3))
    assert got == pytest.approx([at_mean, at_mean + 0.5 * (4 + 3)])
    assert mahalanobis(recent, np.array([[2.0, 4.0]])) == pytest.approx([4 * 3 / 2 + 16 * 3 / 8])


def test_the_choice_is_that_of_brute_force() -> None:
    recent = rng(1).normal(size=(50, 3)) @ rng(2).normal(size=(3, 3))
    for seed in range(20):
        x = 3 * rng(seed).normal(size=(4, 3))
        inverse = np.linalg.inv(np.cov(recent.T))
        distances = [float((s - recent.mean(0)) @ inverse @ (s - recent.mean(0))) for s in x]
        assert mahalanobis(recent, x).argmax() == np.argmax(distances)
        assert mahalanobis(recent, x) == pytest.approx(distances)
        assert surprise(recent, x, ridge=1e-9).argmax() == np.argmax(distances)


def test_a_direction_that_never_varied_is_ignored_by_the_papers_density_and_not_by_ours() -> None:
    recent = np.column_stack([rng().normal(size=50), np.zeros(50)])
    x = np.array([[0.1, 0.0], [0.0, 1.0]])
    assert mahalanobis(recent, x)[1] < 1
    assert surprise(recent, x, ridge=1e-6).argmax() == 1


class Fixed:
    """Predicts the given next states whatever is asked."""

    is_fitted = True

    def __init__(self, next_AD: np.ndarray) -> None:
        self.next_AD = next_AD

    def predict(self, s_LD: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.next_AD, (len(s_LD), *self.next_AD.shape))

    def observe(self, s_tm1_LD: np.ndarray, s_t_LD: np.ndarray) -> None: ...


def test_the_least_likely_next_state_is_chosen_in_every_lane() -> None:
    model = Fixed(np.array([[0.0, 0.1], [0.0, -5.0], [1.0, 0.0]]))
    explorer = ModelBased(3, 2, model, MbeConfig(), rng())  # type: ignore[arg-type]
    for _ in range(50):
        s = rng(1).normal(size=(2, 2)).astype(np.float32)
        explorer.observe(s, s)
        explorer.observe(-s, -s)
    assert explorer.act(np.zeros((2, 2), np.float32)).tolist() == [1, 1]
    assert explorer.novelty is not None


def test_actions_are_random_before_anything_was_seen() -> None:
    explorer = ModelBased(3, 2, MountainCarDynamics(), MbeConfig(), rng())
    actions = {int(explorer.act(np.zeros((1, 2), np.float32))[0]) for _ in range(50)}
    assert actions == {0, 1, 2}


def test_the_window_keeps_the_last_states() -> None:
    window = Window(3, 1)
    for value in range(5):
        window.add(np.array([[value]], np.float32))
    assert sorted(window.states.ravel()) == [2, 3, 4]


def test_the_oracle_is_the_environment() -> None:
    env, oracle = gymnasium.make("MountainCar-v0").unwrapped, MountainCarDynamics()
    state, _ = env.reset(seed=0)
    for action in rng().integers(0, 3, 500):
        predicted = oracle.predict(state[None])[0, action]
        env.state = tuple(state)  # the environment itself holds more digits
        state, *_ = env.step(int(action))
        np.testing.assert_allclose(predicted, state, atol=1e-6)
    env.state = (-1.19, -0.05)
    hit, *_ = env.step(0)
    np.testing.assert_allclose(oracle.predict(np.array([[-1.19, -0.05]]))[0, 0], hit, atol=1e-6)


def test_the_oracle_knows_one_environment() -> None:
    with pytest.raises(UserError, match="no oracle for CartPole-v1"):
        true_dynamics("CartPole-v1")


def transitions(count: int, seed: int = 0) -> Batch:
    draws = rng(seed)
    s = draws.uniform([-1.2, -0.07], [0.5, 0.07], (count, 2)).astype(np.float32)
    a = draws.integers(0, 3, count)
    next_ = MountainCarDynamics().predict(s)[np.arange(count), a].astype(np.float32)
    zeros = torch.zeros(count)
    s_tm1, s_t, a_tm1 = map(torch.from_numpy, (s, next_, a))
    return Batch(s_tm1, a_tm1, zeros, zeros, s_t, zeros, zeros)


def fit(dynamics: Dynamics, num_fits: int) -> float:
    for seed in range(num_fits):
        batch = transitions(64, seed)
        dynamics.observe(batch.s_tm1_BD.numpy(), batch.s_t_BD.numpy())
        dynamics.fit(batch)
    return dynamics.error(transitions(500, seed=999_999))


@pytest.mark.parametrize("kind", [DirectDynamics, DifferenceDynamics])
def test_models_learn_the_dynamics(kind: type) -> None:
    config = MbeConfig(lr=0.02 if kind is DirectDynamics else 3e-3)
    dynamics = kind(2, 3, config, rng())
    assert not dynamics.is_fitted
    assert fit(dynamics, 1) > fit(dynamics, 300)
    assert dynamics.is_fitted
    assert dynamics.predict(np.zeros((4, 2), np.float32)).shape == (4, 3, 2)


def test_differences_are_learned_more_closely_than_raw_next_states() -> None:
    direct = fit(DirectDynamics(2, 3, MbeConfig(lr=0.02), rng()), 300)
    difference = fit(DifferenceDynamics(2, 3, MbeConfig(lr=3e-3), rng()), 300)
    assert difference < 0.7 * direct


def test_the_gate_opens_at_the_first_check_that_passes_and_stays_open() -> None:
    gate = Gate(0.1, every_steps=500)
    gate.check(499, lambda: 0.0)
    assert not gate.is_open
    gate.check(500, lambda: 0.2)
    assert not gate.is_open
    gate.check(1000, lambda: 0.05)
    assert gate.is_open
    gate.check(1500, lambda: 9.0)
    assert gate.is_open
    assert Gate(None, every_steps=500).is_open


def test_moments_are_those_of_all_rows() -> None:
    x = rng().normal(3, 2, (100, 2))
    moments = Moments(2)
    for part in np.split(x, [1, 2, 40, 41]):
        moments.add(part)
    np.testing.assert_allclose(moments.mean_D, x.mean(0))
    np.testing.assert_allclose(moments.std, x.std(0))


def test_the_bonus_of_a_familiar_state_fades_below_that_of_a_new_one() -> None:
    explorer = Distilled(3, 2, RndConfig(lr=1e-2), rng())
    explorer.observe(np.zeros((1, 2)), rng(1).normal(size=(500, 2)).astype(np.float32))
    zeros = torch.zeros(8)

    def bonus(value: float) -> float:
        s = torch.full((8, 2), value)
        batch = Batch(s, torch.zeros(8, dtype=torch.long), torch.zeros(8), zeros, s, zeros, zeros)
        explorer.add_bonus(batch)
        return float(batch.r_t_B.mean())

    for _ in range(200):
        bonus(0.5)
    assert 0 <= bonus(0.5) < 0.1 * bonus(-2.0)


def test_a_fit_is_that_of_a_plain_torch_loop() -> None:
    regressor, twin = Regressor((3, 6, 2), 0.01, rng()), make_mlp((3, 6, 2), rng())
    adam = torch.optim.Adam(twin.parameters(), lr=0.01)
    x = torch.from_numpy(rng(1).normal(size=(9, 3)).astype(np.float32))
    y = torch.from_numpy(rng(2).normal(size=(9, 2)).astype(np.float32))
    for _ in range(4):
        loss = torch.nn.functional.mse_loss(twin(x), y)
        adam.zero_grad()
        loss.backward()
        adam.step()
        assert regressor.fit(x, y) == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(regressor.predict(x.numpy()), twin(x).detach(), rtol=1e-4)


def test_bonuses_are_those_of_a_plain_torch_loop() -> None:
    explorer, twins = Distilled(3, 2, RndConfig(lr=0.01), rng()), rng()
    seen, s = rng(1).normal(size=(2, 400, 2)).astype(np.float32)
    explorer.observe(seen, seen)
    constant, predictor = make_mlp((2, 48, 16), twins), make_mlp((2, 48, 16), twins)
    adam = torch.optim.Adam(predictor.parameters(), lr=0.01)
    x, errors = torch.from_numpy((s - seen.mean(0)) / seen.std(0)), []
    for _ in range(4):
        batch = Batch(x, *torch.zeros(3, 400), torch.from_numpy(s), *torch.zeros(2, 400))
        explorer.add_bonus(batch)
        error = (predictor(x) - constant(x)).square().mean(dim=1)
        adam.zero_grad()
        error.mean().backward()
        adam.step()
        errors.append(error.detach())
        want = 0.5 * errors[-1] / torch.cat(errors).std(correction=0)
        torch.testing.assert_close(batch.r_t_B, want, rtol=1e-3, atol=1e-5)
