"""Residual networks: those of CIFAR with 6n + 2 layers, and ResNet-50.

Shape letters: B images; C channels; H, W height and width; K classes.

Source: He et al. 2016 (arXiv 1512.03385), sections 3.3 and 4.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn  # noqa: TID253 - classes below are networks; nothing imports this early
from torch.nn import functional as F  # noqa: TID253 - the same

if TYPE_CHECKING:
    from torch import Tensor


def make_cifar_resnet(num_blocks: int, num_channels: int, num_classes: int) -> nn.Module:
    """Return a network of 6n + 2 layers from images (B, C, H, W) to logits (B, K).

    Stages of 16, 32 and 64 channels, shortcuts without parameters (option A).

    Args:
        num_blocks: n, blocks of each stage: 1 makes ResNet-8, 3 ResNet-20.
        num_channels: C.
        num_classes: K.
    """
    layers: list[nn.Module] = [ConvNorm(num_channels, 16, 3), nn.ReLU()]
    width_in = 16
    for width in (16, 32, 64):
        for _ in range(num_blocks):
            layers.append(PlainBlock(width_in, width))
            width_in = width
    return _with_first_weights(nn.Sequential(*layers, *_head(64, num_classes)))


def make_resnet50(num_classes: int) -> nn.Module:
    """Return ResNet-50 from images (B, 3, H, W) to logits (B, K).

    The stride of a stage is in the 3 x 3 convolution, not in the 1 x 1 before it as in the paper:
    that is the network most libraries mean by the name.

    Args:
        num_classes: K.
    """
    layers: list[nn.Module] = [
        ConvNorm(3, 64, 7, stride=2),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    width_in = 64
    for width, num_blocks, first_stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(num_blocks):
            layers.append(Bottleneck(width_in, width, first_stride if block == 0 else 1))
            width_in = EXPANSION * width
    return _with_first_weights(nn.Sequential(*layers, *_head(width_in, num_classes)))


class ConvNorm(nn.Sequential):
    """A convolution without bias that keeps the size but for its stride, and batch norm.

    Args:
        num_in: Channels in.
        num_out: Channels out.
        size: Height and width of the kernel, odd.
        stride: Pixels.
    """

    def __init__(self, num_in: int, num_out: int, size: int, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(num_in, num_out, size, stride=stride, padding=size // 2, bias=False),
            nn.BatchNorm2d(num_out),
        )


class PlainBlock(nn.Module):
    """Two 3 x 3 convolutions; where channels double the size halves.

    The shortcut is the input, every second row and column of it and zeros in new channels.

    Args:
        num_in: Channels in.
        num_out: Channels out, as many or more.
    """

    def __init__(self, num_in: int, num_out: int) -> None:
        super().__init__()
        self.stride, self.num_new = 1 if num_in == num_out else 2, num_out - num_in
        self.first = ConvNorm(num_in, num_out, 3, self.stride)
        self.second = ConvNorm(num_out, num_out, 3)

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return what the next block takes."""
        shortcut = F.pad(
            x_BCHW[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.num_new)
        )
        return F.relu(self.second(F.relu(self.first(x_BCHW))) + shortcut)


EXPANSION = 4
"""Channels out of a bottleneck for each within."""


class Bottleneck(nn.Module):
    """Convolutions of 1 x 1, 3 x 3 and 1 x 1; the shortcut is a 1 x 1 one where shapes change.

    Args:
        num_in: Channels in.
        num_within: Channels of the 3 x 3 convolution.
        stride: Of the 3 x 3 convolution, in pixels.
    """

    def __init__(self, num_in: int, num_within: int, stride: int) -> None:
        super().__init__()
        num_out = EXPANSION * num_within
        changes = stride != 1 or num_in != num_out
        self.shortcut = ConvNorm(num_in, num_out, 1, stride) if changes else nn.Identity()
        self.layers = nn.Sequential(
            ConvNorm(num_in, num_within, 1),
            nn.ReLU(),
            ConvNorm(num_within, num_within, 3, stride),
            nn.ReLU(),
            ConvNorm(num_within, num_out, 1),
        )

    def forward(self, x_BCHW: Tensor) -> Tensor:
        """Return what the next block takes."""
        return F.relu(self.layers(x_BCHW) + self.shortcut(x_BCHW))


def _head(num_in: int, num_classes: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(num_in, num_classes)]


def _with_first_weights(network: nn.Sequential) -> nn.Sequential:
    """Draw convolutions so that ReLU keeps the variance of gradients, as He et al. 2015 do."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return network
