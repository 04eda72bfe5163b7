"""Small models for small images, without anything `torch.func.vmap` refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def make_mlp(num_values: int, num_hidden: int, num_classes: int) -> nn.Module:
    """Return a perceptron of one hidden ReLU layer from images of any shape to logits.

    Args:
        num_values: Values of an image, all channels together.
        num_hidden: Hidden units.
        num_classes: Logits.
    """
    from torch import nn

    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(num_values, num_hidden),
        nn.ReLU(),
        nn.Linear(num_hidden, num_classes),
    )


def make_cnn(num_channels: int, size: int, num_classes: int) -> nn.Module:
    """Return two 3 x 3 convolutions of 16 and 32 channels and a linear layer.

    Each convolution is followed by ReLU and 2 x 2 pooling.

    Args:
        num_channels: Channels of an image.
        size: Its height and width in pixels, a multiple of 4.
        num_classes: Logits.
    """
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(num_channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (size // 4) ** 2, num_classes),
    )
