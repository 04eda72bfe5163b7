"""Replicas of a simulation compute what models on their own compute with autograd."""

import copy

import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253
from torch.nn import functional as F  # noqa: TID253

from mlscale.decentral.stack import Stack

NUM_REPLICAS = 3


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 4))


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4)
    )


def with_batch_norm() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)
    )


def alike_and_apart(build: object, *, vmap_safe: bool) -> tuple[Stack, list[nn.Module]]:
    """Return a stack in float64 and models of their own with the same, differing parameters."""
    torch.manual_seed(1)
    model = build().double()  # type: ignore[operator]
    models = [copy.deepcopy(model) for _ in range(NUM_REPLICAS)]
    stack = Stack(model, NUM_REPLICAS, F.cross_entropy, vmap_safe=vmap_safe)
    with torch.no_grad():
        stack.x.add_(0.1 * torch.randn_like(stack.x))
        for own, x_P in zip(models, stack.x, strict=True):
            for name, view in stack.layout.named(x_P.detach()).items():
                own.get_parameter(name).copy_(view)
    return stack, models


@pytest.mark.parametrize(
    ("build", "vmap_safe"),
    [
        (perceptron, True),
        (perceptron, False),
        (network, True),
        (network, False),
        (with_batch_norm, False),
    ],
)
def test_gradients_losses_and_statistics_are_those_of_separate_models(
    build: object, vmap_safe: bool
) -> None:
    stack, models = alike_and_apart(build, vmap_safe=vmap_safe)
    for _ in range(2):  # statistics run on
        x_NB = torch.randn(NUM_REPLICAS, 5, 1, 6, 6, dtype=torch.float64)
        y_NB = torch.randint(4, (NUM_REPLICAS, 5))
        losses_N = stack.compute(x_NB, y_NB)
        for own, x_B, y_B, g_P, loss in zip(models, x_NB, y_NB, stack.g, losses_N, strict=True):
            own.zero_grad()
            expected = F.cross_entropy(own(x_B), y_B)
            expected.backward()
            assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-12)
            for name, view in stack.layout.named(g_P).items():
                gradient = own.get_parameter(name).grad
                assert gradient is not None
                assert torch.allclose(view, gradient, rtol=1e-10, atol=1e-12), name
    for name, buffer_N in stack.buffers().items():
        for own, buffer in zip(models, buffer_N, strict=True):
            assert torch.allclose(buffer, own.get_buffer(name)), name


def test_outputs_are_those_of_separate_models_in_evaluation() -> None:
    stack, models = alike_and_apart(with_batch_norm, vmap_safe=False)
    x_NB = torch.randn(NUM_REPLICAS, 5, 1, 6, 6, dtype=torch.float64)
    y_NB = torch.randint(4, (NUM_REPLICAS, 5))
    stack.compute(x_NB, y_NB)
    for own, x_B in zip(models, x_NB, strict=True):
        own(x_B)
        own.eval()
    expected = [own(x_NB[0]) for own in models]
    for output, other in zip(stack.outputs(x_NB[0]), expected, strict=True):
        assert torch.allclose(output, other)
    (only,) = stack.outputs(x_NB[0], ranks=[2])
    assert torch.allclose(only, expected[2])


def test_a_parameter_that_the_loss_does_not_use_gets_zeros() -> None:
    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(2, 3), nn.Linear(2, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            output: torch.Tensor = self.used(x)
            return output

    for vmap_safe in (True, False):
        stack = Stack(Half(), 2, F.cross_entropy, vmap_safe=vmap_safe)
        stack.g.fill_(9)
        stack.compute(torch.randn(2, 4, 2), torch.randint(3, (2, 4)))
        named = stack.layout.named(stack.g)
        assert not named["unused.weight"].any()
        assert named["used.weight"].any()


def test_an_optimizer_s_step_changes_every_row_by_itself() -> None:
    stack = Stack(nn.Linear(2, 1), 2, F.mse_loss)
    before = stack.x.detach().clone()
    with torch.no_grad():
        stack.g.copy_(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 10.0]]))
    torch.optim.SGD(stack.parameters, lr=0.1).step()
    assert torch.allclose(stack.x.detach(), before - 0.1 * stack.g)
