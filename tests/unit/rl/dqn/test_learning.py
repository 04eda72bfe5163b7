"""Targets, losses, schedules, networks and one update against hand-computed numbers and torch."""

import math
from typing import Any

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253 - every test here needs it

from mlscale.core.errors import UserError, WorkFailed
from mlscale.rl.dqn.config import ExploreConfig, LearnConfig
from mlscale.rl.dqn.duelling import DuellingHead
from mlscale.rl.dqn.gradients import differentiable
from mlscale.rl.dqn.learner import Learner
from mlscale.rl.dqn.losses import huber, mse
from mlscale.rl.dqn.networks import Mirror, glorot_bound, make_mlp, make_value_network
from mlscale.rl.dqn.optimizer import FusedAdam, clip_norm
from mlscale.rl.dqn.presets import faithful, fixed
from mlscale.rl.dqn.replay import Batch
from mlscale.rl.dqn.schedules import epsilon_at, linear, multiplicative
from mlscale.rl.dqn.td_targets import double_target, plain_target


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def a_learner(config: LearnConfig) -> Learner:
    online, target = (make_value_network(2, 2, config, rng()) for _ in range(2))
    return Learner(online, target, config)


class Wrapped(nn.Module):
    """A network that is no perceptron by its looks."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x)


def a_batch(reward: float = 1.0, weights: tuple[float, float] = (0.5, 0.5)) -> Batch:
    return Batch(
        torch.tensor([[0.1, 0.2], [0.3, -0.4]]), torch.tensor([0, 1]),
        torch.tensor([reward, -2.0]), torch.tensor([0.9, 0.0]),
        torch.tensor([[0.5, 0.6], [0.7, 0.8]]), torch.tensor(weights), torch.tensor([0, 1]),
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
    errors, weights = torch.linspace(-3, 3, 25), torch.linspace(0, 2, 25)
    loss, gradient = huber(errors, weights)
    losses = nn.functional.huber_loss(errors, torch.zeros(25), reduction="none")
    torch.testing.assert_close(loss, (weights * losses).sum())
    torch.testing.assert_close(gradient, errors.clamp(-1, 1) * weights)


def test_mse_by_hand() -> None:
    loss, gradient = mse(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.25]))
    assert loss == 1.5
    assert gradient.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("sizes", [(3, 2), (3, 8, 2), (3, 8, 5, 2)])
@pytest.mark.parametrize("wrap", [nn.Sequential, Wrapped])
def test_gradients_are_autograds(sizes: tuple[int, ...], wrap: type[nn.Module]) -> None:
    network = make_mlp(sizes, rng())
    torch.manual_seed(0)
    for parameter in network.parameters():
        parameter.data.normal_()
    x, gradient = torch.randn(6, 3), torch.randn(6, 2)
    quick = differentiable(network if wrap is nn.Sequential else Wrapped(network))
    y, pull_back = quick.linearise(x)
    theirs = network(x)
    theirs.backward(gradient)
    torch.testing.assert_close(y, theirs.detach())
    torch.testing.assert_close(quick(x), theirs.detach())
    assert not y.requires_grad
    for ours, parameter in zip(pull_back(gradient), network.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad)


@pytest.mark.parametrize(
    "network",
    [
        nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)),
        nn.Sequential(nn.Linear(3, 2), nn.ReLU()),
        nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2), nn.Linear(2, 2)),
    ],
)
def test_what_only_looks_like_a_perceptron_is_not_taken_for_one(network: nn.Sequential) -> None:
    x = torch.linspace(-2, 2, 12).view(4, 3)
    y, pull_back = differentiable(network).linearise(x)
    torch.testing.assert_close(y, network(x).detach())
    theirs = torch.autograd.grad(network(x).sum(), list(network.parameters()))
    for ours, want in zip(pull_back(torch.ones_like(y)), theirs, strict=True):
        torch.testing.assert_close(ours, want)


def test_fused_adam_is_torchs_also_after_loading() -> None:
    ours, theirs = make_mlp((3, 4, 2), rng()), make_mlp((3, 4, 2), rng())
    adam, reference = FusedAdam(ours, 0.01), torch.optim.Adam(theirs.parameters(), lr=0.01)
    for step in range(6):
        gradients = [torch.full_like(p, step - 2.5) for p in theirs.parameters()]
        for parameter, gradient in zip(theirs.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        reference.step()
        adam.step(gradients)
        if step == 2:
            fresh = FusedAdam(ours, 0.01)
            fresh.load("adam", {name: t.clone() for name, t in adam.saved("adam").items()})
            adam = fresh
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("limit", [0.5, 1e3])
def test_the_limit_on_gradients_is_torchs(limit: float) -> None:
    gradients = [torch.tensor([[3.0, -4.0]]), torch.tensor([12.0])]
    parameters = [nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient.clone()
    assert nn.utils.clip_grad_norm_(parameters, limit).item() == 13.0
    clip_norm(gradients, limit)
    for ours, parameter in zip(gradients, parameters, strict=True):
        torch.testing.assert_close(ours, parameter.grad, rtol=1e-5, atol=0)


def test_gradients_of_zero_stay_zero() -> None:
    gradients = [torch.zeros(3)]
    clip_norm(gradients, 1.0)
    assert gradients[0].tolist() == [0.0, 0.0, 0.0]


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


@pytest.mark.parametrize("head", ["plain", "duelling"])
@pytest.mark.parametrize("hidden", [(8,), (8, 8)])
def test_the_mirror_computes_what_torch_does_and_sees_updates(
    head: Any, hidden: tuple[int, ...]
) -> None:
    network = make_value_network(3, 2, LearnConfig(hidden=hidden, head=head), rng())
    mirror, x = Mirror(network), torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    for _ in range(2):
        np.testing.assert_allclose(mirror(x.numpy()), network(x).detach(), rtol=1e-5, atol=1e-6)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.linspace(0, 0.1, parameter.numel()).view_as(parameter))


def test_spread_first_weights_are_within_torchs_bound_biases_too() -> None:
    layer = make_mlp((400, 3_000), rng(), "spread")[0]
    bound = 1 / math.sqrt(400)
    for parameter in (layer.weight, layer.bias, nn.Linear(400, 3_000).weight):
        assert bound * 0.99 < parameter.abs().max() <= bound
        assert parameter.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.03)


@pytest.mark.parametrize("head", ["plain", "duelling"])
def test_a_value_network_starts_as_its_settings_say(head: Any) -> None:
    def biases(first: Any) -> list[torch.Tensor]:
        config = LearnConfig(hidden=(6, 5), head=head, first_weights=first)
        return [p for p in make_value_network(3, 4, config, rng()).parameters() if p.ndim == 1]

    assert not any(bias.any() for bias in biases("glorot"))
    assert all(bias.all() for bias in biases("spread"))


def test_there_is_no_mirror_of_other_layers() -> None:
    with pytest.raises(TypeError, match="no mirror of Tanh"):
        Mirror(nn.Sequential(nn.Tanh()))


def test_duelling_values_by_hand() -> None:
    head = DuellingHead(1, 1, 3)
    for stream, outputs in ((head.value, [[2.0]]), (head.advantage, [[0.0], [3.0], [6.0]])):
        stream[0].weight.data.fill_(1.0)
        stream[2].weight.data.copy_(torch.tensor(outputs))
        stream[0].bias.data.zero_()
        stream[2].bias.data.zero_()
    assert head(torch.tensor([[1.0], [-1.0]])).tolist() == [[-1.0, 2.0, 5.0], [0.0, 0.0, 0.0]]


def test_the_streams_share_all_hidden_layers_but_the_last() -> None:
    network = make_value_network(3, 4, LearnConfig(hidden=(6, 5), head="duelling"), rng())
    assert [tuple(p.shape) for p in network.parameters() if p.ndim == 2] == [
        (6, 3), (5, 6), (1, 5), (5, 6), (4, 5)
    ]  # fmt: skip
    bounds = [glorot_bound(*p.shape) for p in network.parameters() if p.ndim == 2]
    weights = [p for p in network.parameters() if p.ndim == 2]
    assert all(w.abs().max() <= bound for w, bound in zip(weights, bounds, strict=True))
    assert not any(p.any() for p in network.parameters() if p.ndim == 1)


def test_duelling_without_a_hidden_layer_is_refused() -> None:
    with pytest.raises(UserError, match="a duelling head needs a hidden layer"):
        LearnConfig(hidden=(), head="duelling")


@pytest.mark.parametrize("max_grad_norm", [None, 0.1])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.5, 0.1)])
def test_one_update_is_that_of_a_plain_torch_loop(
    max_grad_norm: float | None, weights: tuple[float, float]
) -> None:
    config = LearnConfig(hidden=(8,), lr=0.01, target="double", max_grad_norm=max_grad_norm)
    learner, twin = a_learner(config), a_learner(config)
    adam = torch.optim.Adam(twin.online.parameters(), lr=0.01)
    batch = a_batch(weights=weights)
    for _ in range(5):
        got = learner.update(batch)
        with torch.no_grad():
            best = twin.online(batch.s_t_BD).argmax(1)
            value = twin.target(batch.s_t_BD)[torch.arange(2), best]
            target = batch.r_t_B + batch.discount_t_B * value
        predicted = twin.online(batch.s_tm1_BD)[torch.arange(2), batch.a_tm1_B]
        losses = nn.functional.huber_loss(predicted, target, reduction="none")
        loss = (batch.weight_B * losses).sum()
        adam.zero_grad()
        loss.backward()
        if max_grad_norm is not None:
            nn.utils.clip_grad_norm_(twin.online.parameters(), max_grad_norm)
        adam.step()
        assert got.loss == pytest.approx(loss.item(), rel=1e-5)
        torch.testing.assert_close(got.error_B, (predicted - target).detach())
    for ours, theirs in zip(learner.online.parameters(), twin.online.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_target_network_is_a_copy_until_the_next_copy() -> None:
    learner = a_learner(LearnConfig(hidden=(4,)))
    before = [p.clone() for p in learner.target.parameters()]
    learner.update(a_batch())
    same = zip(before, learner.target.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    learner.copy_to_target()
    pairs = zip(learner.online.parameters(), learner.target.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_and_leaves_the_weights(reward: float) -> None:
    learner = a_learner(LearnConfig(hidden=(4,)))
    before = [p.clone() for p in learner.online.parameters()]
    with pytest.raises(WorkFailed, match="the loss became"):
        learner.update(a_batch(reward))
    assert all(torch.equal(a, b) for a, b in zip(before, learner.online.parameters(), strict=True))


def test_linear_schedule_in_a_config() -> None:
    config = ExploreConfig(only_steps=0, schedule="linear", linear_steps=100, epsilon_final=0.07)
    assert epsilon_at(config, 0, 0) == 1.0
    assert epsilon_at(config, 100, 0) == pytest.approx(0.07)
