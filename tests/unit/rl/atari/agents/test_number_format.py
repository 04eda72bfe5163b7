"""Number formats: float32 is the network itself, bfloat16 keeps its outputs apart."""

import copy

import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import Tensor, nn  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.number_format import acting_network

FRAMES = torch.randint(
    256, (5, 4, 84, 84), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)
)


@pytest.fixture
def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(4, 8, 8, 4),
        nn.ReLU(),
        nn.Conv2d(8, 8, 4, 4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(200, 32),
        nn.ReLU(),
        nn.Linear(32, 6),
    )


@torch.no_grad()
def test_float32_is_the_network_itself_bit_for_bit(network: nn.Sequential) -> None:
    expected = network(FRAMES.float() / 255)
    assert torch.equal(acting_network(network, "float32")(FRAMES), expected)


@torch.no_grad()
def test_bfloat16_is_near_and_its_values_are_finer_than_bfloat16(network: nn.Sequential) -> None:
    expected = network(FRAMES.float() / 255)
    values = acting_network(network, "bfloat16")(FRAMES)
    assert values.dtype == torch.float32
    assert not torch.equal(values, expected)
    torch.testing.assert_close(values, expected, rtol=0.02, atol=0.02)
    assert not torch.equal(values, values.bfloat16().float())


@torch.no_grad()
def test_in_bfloat16_all_layers_but_the_last_are(network: nn.Sequential) -> None:
    """What the last layer takes is bfloat16's; what it does with it, by hand, is float32's."""
    hidden = network[:-1].bfloat16()(FRAMES.bfloat16() / 255).float()
    last = network[-1].float()
    expected = hidden @ last.weight.T + last.bias
    torch.manual_seed(0)
    values = acting_network(network.float(), "bfloat16")(FRAMES)
    torch.testing.assert_close(values, expected, rtol=1e-6, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("number_format", ["float32", "bfloat16"])
def test_a_row_does_not_depend_on_the_others(network: nn.Sequential, number_format: str) -> None:
    act = acting_network(network, number_format)
    others = FRAMES.flip(1).roll(1, 0)
    others[2] = FRAMES[2]
    assert torch.equal(act(FRAMES)[2], act(others)[2])
    assert not torch.equal(act(FRAMES)[1], act(others)[1])


@pytest.mark.parametrize("number_format", ["float32", "bfloat16"])
def test_the_network_and_the_frames_are_left_as_they_are(
    network: nn.Sequential, number_format: str
) -> None:
    before, frames = copy.deepcopy(network.state_dict()), FRAMES.clone()
    network.train()
    acting_network(network, number_format)(frames)
    assert torch.equal(frames, FRAMES)
    assert network.training
    for name, value in network.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, before[name])
    assert not network[-1]._forward_pre_hooks


def test_it_acts_without_dropout() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(4 * 84 * 84, 6))
    act = acting_network(network, "float32")
    assert torch.equal(act(FRAMES), act(FRAMES))


def test_frames_become_0_to_1() -> None:
    class Ends(nn.Module):
        def forward(self, frames: Tensor) -> Tensor:
            return torch.stack([frames.amin(), frames.amax()])

    frames = torch.tensor([0, 51, 255], dtype=torch.uint8)
    assert acting_network(Ends(), "float32")(frames).tolist() == [0.0, 1.0]


def test_bfloat16_needs_a_layer_to_end_with() -> None:
    with pytest.raises(UserError, match="a network without a linear layer cannot act in bfloat16"):
        acting_network(nn.Sequential(nn.Conv2d(4, 6, 84)), "bfloat16")
