"""Residual networks: parameters counted by hand, shapes, another library's ResNet-50."""

import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253 - the same

from mlscale.decentral.tasks.resnets import PlainBlock, make_cifar_resnet, make_resnet50


def count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def by_hand(num_blocks: int, num_channels: int, num_classes: int) -> int:
    total = 9 * num_channels * 16 + 2 * 16
    for width, width_before in ((16, 16), (32, 16), (64, 32)):
        convolutions = 2 * num_blocks - 1
        total += 9 * width_before * width + convolutions * 9 * width**2
        total += (convolutions + 1) * 2 * width
    return total + 64 * num_classes + num_classes


def test_cifar_networks_have_6n_plus_2_layers() -> None:
    for num_blocks, num_layers in ((1, 8), (3, 20)):
        model = make_cifar_resnet(num_blocks, 3, 10)
        layers = [m for m in model.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
        assert len(layers) == num_layers
        assert count(model) == by_hand(num_blocks, 3, 10)
    assert round(by_hand(3, 3, 10) / 1e6, 2) == 0.27  # as the paper's table 6 has ResNet-20


def test_sizes_of_images_halve_twice() -> None:
    model = make_cifar_resnet(1, 1, 10)
    x = torch.rand(2, 1, 28, 28)
    sizes = []
    for module in model:
        x = module(x)
        if isinstance(module, PlainBlock):
            sizes.append(tuple(x.shape[1:]))
    assert sizes == [(16, 28, 28), (32, 14, 14), (64, 7, 7)]
    assert x.shape == (2, 10)


def test_a_shortcut_takes_every_second_pixel_and_adds_empty_channels() -> None:
    block = PlainBlock(2, 4).eval()
    nn.init.zeros_(block.second[1].weight)  # leaves the shortcut alone
    x = torch.rand(1, 2, 6, 6)
    out = block(x)
    assert torch.equal(out[:, :2], x[:, :, ::2, ::2])
    assert (out[:, 2:] == 0).all()


def test_resnet50_has_the_known_number_of_parameters() -> None:
    with torch.device("meta"):
        assert count(make_resnet50(1000)) == 25_557_032


@pytest.mark.slow
def test_resnet50_equals_that_of_transformers() -> None:
    from transformers import ResNetConfig, ResNetForImageClassification

    theirs = ResNetForImageClassification(ResNetConfig(num_labels=7))
    ours = make_resnet50(7)
    their_state = theirs.state_dict()
    # Both list a stage's shortcut before the block's layers, and these in the same order.
    assert [v.shape for v in ours.state_dict().values()] == [v.shape for v in their_state.values()]
    ours.load_state_dict(dict(zip(ours.state_dict(), their_state.values(), strict=True)))
    x = torch.rand(2, 3, 64, 64)
    ours.train()
    theirs.train()
    torch.testing.assert_close(ours(x), theirs(x).logits, rtol=1e-4, atol=1e-4)
