"""Networks from frames to action values: sizes, number formats, first weights."""

import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.rl.dqn.atari.latents import Latents
from mlscale.rl.dqn.atari.networks import SIZES, make_network


def frames(num: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (num, 4, 84, 84), dtype=torch.uint8, generator=generator)


@pytest.mark.parametrize(
    ("kind", "num_weights"),
    [
        # By hand: convolutions c_out (c_in k k + 1), linear layers out (in + 1).
        ("nature", 32 * 257 + 64 * 513 + 64 * 577 + 512 * 3_137 + 18 * 513),
        ("small", 16 * 257 + 32 * 257 + 32 * 289 + 256 * 1_569 + 18 * 257),
        (
            "impala",
            (16 * 37 + 4 * 16 * 145)
            + (32 * 145 + 4 * 32 * 289)
            + (32 * 289 + 4 * 32 * 289)
            + 256 * (32 * 121 + 1)
            + 18 * 257,
        ),
    ],
)
def test_networks_have_the_weights_of_their_sources(kind: str, num_weights: int) -> None:
    network = make_network(kind, 18)
    assert sum(parameter.numel() for parameter in network.parameters()) == num_weights
    assert network(frames()).shape == (3, 18)
    assert network.features(frames()).shape == (3, SIZES[kind].num_features)


def test_frames_are_scaled_to_one() -> None:
    network = make_network("small", 6)
    scaled = network.head(network.encoder(frames().float() / 255))
    torch.testing.assert_close(network(frames()), scaled)


def test_bfloat16_rounds_features_but_not_the_head() -> None:
    exact, rounded = make_network("small", 6), make_network("small", 6, bfloat16=True)
    values_NA = rounded(frames())
    assert values_NA.dtype == torch.float32
    torch.testing.assert_close(values_NA, exact(frames()), atol=0.02, rtol=0.05)
    assert not torch.equal(values_NA, exact(frames()))
    features_ND = rounded.features(frames())
    assert torch.equal(features_ND, features_ND.bfloat16().float())
    assert torch.equal(values_NA, rounded.head(features_ND))


@pytest.mark.parametrize(
    ("kind", "bfloat16", "recorded", "channels_last"),
    [
        ("nature", False, True, True),
        ("nature", False, False, False),
        ("nature", True, True, False),
        ("impala", True, False, True),
    ],
)
def test_frames_lie_in_memory_as_is_fastest(
    kind: str, bfloat16: bool, recorded: bool, channels_last: bool
) -> None:
    network = make_network(kind, 6, bfloat16=bfloat16)
    seen = []
    network.encoder.register_forward_pre_hook(lambda _encoder, inputs: seen.append(*inputs))
    with torch.set_grad_enabled(recorded):
        network(frames())
    assert seen[0].is_contiguous(memory_format=torch.channels_last) == channels_last


def test_gradients_do_not_depend_on_where_values_lie() -> None:
    network = make_network("impala", 6)
    weights = list(network.parameters())
    scaled = network.encoder(frames().float() / 255)
    expected = torch.autograd.grad(network.head(scaled).sum(), weights)
    gradients = torch.autograd.grad(network(frames()).sum(), weights)
    torch.testing.assert_close(gradients, expected, rtol=1e-3, atol=1e-4)


def test_a_seed_gives_one_network_and_leaves_torch_s_own_draws_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again, other = (make_network("small", 4, seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first(frames()), again(frames()))
    assert not torch.equal(first(frames()), other(frames()))


def test_a_duelling_head_follows_the_encoder() -> None:
    network = make_network("small", 5, head="duelling")
    values_NA = network(frames())
    features_ND = network.features(frames())
    state_N1 = network.head.value(features_ND)
    torch.testing.assert_close(values_NA.mean(dim=1, keepdim=True), state_N1)


def test_latents_are_exact_where_the_network_rounds() -> None:
    exact, rounded = make_network("small", 6), make_network("small", 6, bfloat16=True)
    latents_ND = Latents(rounded).of(frames())
    assert not latents_ND.requires_grad
    torch.testing.assert_close(latents_ND, exact.features(frames()), rtol=1e-4, atol=1e-6)
    assert not torch.equal(latents_ND, latents_ND.bfloat16().float())
