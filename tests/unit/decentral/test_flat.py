"""Parameters in one flat tensor: views both ways, what is shared, frozen, unused or mixed."""

import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.decentral.flat import Layout, limit_norm
from mlscale.decentral.replica import Replica


class Tied(nn.Module):
    """Two layers with one weight, a scale without dimensions, and a layer that is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.unused = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(1, 3)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.scale * self.second(self.first(x))
        return output


def squares(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).square().mean()


def test_views_and_the_flat_tensor_are_one_memory() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    before = [one.clone() for one in model.parameters()]
    replica = Replica(model, squares)
    assert torch.equal(replica.x, torch.cat([one.flatten() for one in before]))
    with torch.no_grad():
        replica.x.copy_(torch.arange(11.0))
        assert torch.equal(model[0].weight, torch.arange(6.0).view(2, 3))
        assert torch.equal(model[1].bias, torch.tensor([10.0]))
        model[0].bias.fill_(-1)
    assert replica.x[6:8].tolist() == [-1, -1]
    rows_NP = torch.zeros(4, 11)
    replica.layout.named(rows_NP)["1.weight"].fill_(5)
    assert rows_NP.sum(dim=1).tolist() == [10] * 4


def test_shared_parameters_lie_there_once_and_frozen_ones_not_at_all() -> None:
    model = Tied()
    model.unused.requires_grad_(False)
    layout = Layout.of(model)
    assert layout.names == ("scale", "first.weight", "first.bias", "second.bias")
    assert layout.shapes == ((), (2, 2), (2,), (2,))
    assert layout.num_parameters == 9
    replica = Replica(model, squares)
    assert model.second.weight.data_ptr() == model.first.weight.data_ptr()
    assert model.first.weight.data_ptr() == replica.x[1:].data_ptr()


def test_gradients_are_autograd_s_and_zero_where_the_loss_does_not_look() -> None:
    torch.manual_seed(0)
    model, twin = Tied(), Tied()
    twin.load_state_dict(model.state_dict())
    replica = Replica(model, squares)
    x, y = torch.randn(5, 2), torch.randn(5, 2)
    replica.g.fill_(9)  # of a step before
    loss = replica.compute(x, y)
    expected = squares(twin(x), y)
    expected.backward()
    assert loss.shape == (1,)
    assert float(loss) == pytest.approx(float(expected.detach()))
    named = replica.layout.named(replica.g)
    assert torch.equal(named["unused.weight"], torch.zeros(3, 1))
    for name, one in twin.named_parameters():
        if one.grad is not None:
            assert torch.allclose(named[name], one.grad, atol=1e-6), name
    assert twin.unused.weight.grad is None


def test_an_optimizer_s_step_changes_the_flat_tensor() -> None:
    replica = Replica(nn.Linear(2, 1), squares)
    before = replica.x.clone()
    replica.g.copy_(torch.tensor([1.0, 2.0, 3.0]))
    torch.optim.SGD(replica.parameters, lr=0.5).step()
    assert torch.allclose(replica.x, before - torch.tensor([0.5, 1.0, 1.5]))


def test_two_kinds_of_numbers_are_refused_in_one_line() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    with pytest.raises(UserError) as raised:
        Layout.of(model)
    assert str(raised.value) == (
        "parameters are kept together, and these are torch.float32 on cpu and torch.float64 on cpu"
    )
    assert raised.value.hint == "keep all in float32 on one device; autocast computes in less"


def test_nothing_to_train_is_refused() -> None:
    with pytest.raises(UserError, match="the model has no trainable parameter"):
        Layout.of(nn.Linear(2, 2).requires_grad_(False))


def test_norms_are_those_of_each_tensor() -> None:
    layout = Layout.of(nn.Linear(2, 1))
    x_NP = torch.tensor([[3.0, 4.0, -2.0], [0.0, 0.0, 0.0]])
    assert layout.norms(x_NP).tolist() == [[5, 2], [0, 0]]
    assert layout.norms(x_NP[0]).tolist() == [5, 2]


def test_a_norm_is_limited_row_by_row() -> None:
    g_NP = torch.tensor([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    limit_norm(g_NP, 1.0)
    assert torch.allclose(g_NP, torch.tensor([[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]]))
    one_P = torch.tensor([3.0, 4.0])
    limit_norm(one_P, 10.0)
    assert one_P.tolist() == [3, 4]
