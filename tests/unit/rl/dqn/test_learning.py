"""Targets, losses, schedules, networks and one update against hand-computed numbers and torch."""

import math

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253 - every test here needs it

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.config import ExploreConfig, LearnConfig
from mlscale.rl.dqn.learner import Learner
from mlscale.rl.dqn.losses import huber, mse
from mlscale.rl.dqn.networks import Mirror, glorot_bound, make_mlp
from mlscale.rl.dqn.presets import faithful, fixed
from mlscale.rl.dqn.replay import Batch
from mlscale.rl.dqn.schedules import epsilon_at, linear, multiplicative
from mlscale.rl.dqn.td_targets import double_target, plain_target


def make_learner(config: LearnConfig) -> Learner:
    sizes = (2, *config.hidden, 2)
    return Learner(make_mlp(sizes, rng()), make_mlp(sizes, rng()), config)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def a_batch(reward: float = 1.0) -> Batch:
    return Batch(
        torch.tensor([[0.1, 0.2], [0.3, -0.4]]), torch.tensor([0, 1]),
        torch.tensor([reward, -2.0]), torch.tensor([0.9, 0.0]),
        torch.tensor([[0.5, 0.6], [0.7, 0.8]]),
    )  # fmt: skip


def test_plain_targets_by_hand() -> None:
    q_t = torch.tensor([[1.0, 3.0], [5.0, 2.0]])
    got = plain_target(torch.tensor([1.0, -1.0]), torch.tensor([0.5, 0.0]), q_t)
    assert got.tolist() == [2.5, -1.0]  # the second is terminal


def test_double_targets_take_the_action_of_one_and_the_value_of_the_other_network() -> None:
    q_target, q_online = torch.tensor([[1.0, 3.0]]), torch.tensor([[9.0, 0.0]])
    got = double_target(torch.tensor([1.0]), torch.tensor([0.5]), q_target, q_online)
    assert got.tolist() == [1.5]


def test_huber_is_torchs_and_its_gradient_the_clipped_error() -> None:
    errors = torch.linspace(-3, 3, 25, requires_grad=True)
    loss = huber(errors, torch.zeros(25))
    torch.testing.assert_close(loss, nn.functional.huber_loss(errors, torch.zeros(25)))
    loss.backward()
    torch.testing.assert_close(errors.grad, errors.detach().clamp(-1, 1) / 25)


def test_mse_by_hand() -> None:
    assert mse(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 1.0])) == 2.5


def test_the_papers_epsilon_reaches_its_floor_at_action_9209() -> None:
    assert multiplicative(9_208, 0.9995, 0.01) > 0.01
    assert multiplicative(9_209, 0.9995, 0.01) == 0.01
    assert multiplicative(0, 0.9995, 0.01) == 1.0
    assert multiplicative(2, 0.9995, 0.01) == pytest.approx(0.99900025)


def test_a_linear_epsilon() -> None:
    assert [linear(n, 100, 0.2) for n in (0, 50, 100, 1000)] == pytest.approx([1, 0.6, 0.2, 0.2])


def test_epsilon_falls_from_the_first_action_or_after_the_exploration_only_phase() -> None:
    paper, mended = faithful()["explore"], fixed()["explore"]
    assert epsilon_at(paper, 9_999, 10_000) == epsilon_at(mended, 9_999, 10_000) == 1.0
    assert epsilon_at(paper, 10_000, 10_000) == 0.01
    assert epsilon_at(mended, 10_000, 10_000) == 1.0
    assert epsilon_at(mended, 10_000 + 9_209, 10_000) == 0.01


def test_the_papers_baselines_skip_the_exploration_only_phase_and_the_mended_do_not() -> None:
    paper, mended = faithful()["explore"], fixed()["explore"]
    assert [paper.only_steps_of(agent) for agent in ("dqn", "dqn_mbe")] == [0, 10_000]
    assert [mended.only_steps_of(agent) for agent in ("dqn", "dqn_rnd")] == [10_000, 10_000]


def test_what_the_paper_has_and_what_is_mended() -> None:
    paper, mended = faithful(), fixed()
    assert (paper["learn"].loss, mended["learn"].loss) == ("mse", "huber")
    assert (paper["learn"].time_limits, mended["learn"].time_limits) == ("terminal", "bootstrap")
    assert (paper["mbe"].dynamics, mended["mbe"].dynamics) == ("direct", "difference")
    assert (paper["mbe"].density, mended["mbe"].density) == ("gaussian", "regularised")
    assert (paper["mbe"].fit_every_steps, mended["mbe"].fit_every_steps) == (25, 1)
    assert (paper["mbe"].lr, mended["mbe"].lr) == (0.02, 0.003)
    assert (paper["mbe"].gate_mse, mended["mbe"].gate_mse) == (0.0003, None)
    assert (paper["learn"].lr, paper["learn"].batch, paper["learn"].discount) == (0.05, 16, 0.99)
    assert paper["mbe"].hidden == (24, 24)
    assert paper["mbe"].window == 50


def test_first_weights_are_glorot_uniform_and_biases_zero() -> None:
    layer = make_mlp((400, 200), rng())[0]
    bound = glorot_bound(400, 200)
    assert bound == pytest.approx(0.1)
    assert bound * 0.99 < layer.weight.abs().max() <= bound
    assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert not layer.bias.any()


def test_the_mirror_computes_what_torch_does_and_sees_updates() -> None:
    network = make_mlp((3, 8, 8, 2), rng())
    mirror, x = Mirror(network), torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    for _ in range(2):
        np.testing.assert_allclose(mirror(x.numpy()), network(x).detach(), rtol=1e-5, atol=1e-6)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.1)


def test_one_update_is_that_of_a_plain_torch_loop() -> None:
    config = LearnConfig(hidden=(8,), lr=0.01, target="double")
    learner, twin = make_learner(config), make_learner(config)
    adam = torch.optim.Adam(twin.online.parameters(), lr=0.01)
    batch = a_batch()
    for _ in range(5):
        got = learner.update(batch)
        with torch.no_grad():
            best = twin.online(batch.s_t_BD).argmax(1)
            value = twin.target(batch.s_t_BD)[torch.arange(2), best]
            target = batch.r_t_B + batch.discount_t_B * value
        predicted = twin.online(batch.s_tm1_BD)[torch.arange(2), batch.a_tm1_B]
        loss = nn.functional.huber_loss(predicted, target)
        adam.zero_grad()
        loss.backward()
        adam.step()
        assert got == pytest.approx(loss.item(), rel=1e-5)
    for ours, theirs in zip(learner.online.parameters(), twin.online.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_target_network_is_a_copy_until_the_next_copy() -> None:
    learner = make_learner(LearnConfig(hidden=(4,)))
    before = [p.clone() for p in learner.target.parameters()]
    learner.update(a_batch())
    same = zip(before, learner.target.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    learner.copy_to_target()
    pairs = zip(learner.online.parameters(), learner.target.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_and_leaves_the_weights(reward: float) -> None:
    learner = make_learner(LearnConfig(hidden=(4,)))
    before = [p.clone() for p in learner.online.parameters()]
    with pytest.raises(WorkFailed, match="the loss became"):
        learner.update(a_batch(reward))
    assert all(torch.equal(a, b) for a, b in zip(before, learner.online.parameters(), strict=True))


def test_linear_schedule_in_a_config() -> None:
    config = ExploreConfig(only_steps=0, schedule="linear", linear_steps=100, epsilon_final=0.07)
    assert epsilon_at(config, 0, 0) == 1.0
    assert epsilon_at(config, 100, 0) == pytest.approx(0.07)
