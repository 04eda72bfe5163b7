"""Networks from four grey frames to action values: an encoder, then a head.

Frames come as uint8 and are scaled here. In bfloat16 the encoder computes under autocast, about
twice as fast on CPUs that have the instructions; the head stays in float32, because action values
often differ by less than bfloat16 can tell apart.

Letters: N rows, F = 4 stacked frames, H = W = 84, D features, A actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch import nn  # noqa: TID253 - classes below are networks; nothing imports this early

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor

STACK = 4
SMALL_SHAPE = (16, 32, 32)
NATURE_SHAPE = (32, 64, 64)
IMPALA_SHAPE = (16, 32, 32)


class ValueNetwork(nn.Module):
    """Action values of stacked frames.

    Args:
        encoder: From (N, 4, 84, 84) in 0..1 to (N, D) features.
        head: From (N, D) to (N, A).
        bfloat16: Whether the encoder computes in bfloat16.
        channels_last: Whether the encoder is faster on CPUs with channels last in memory.
    """

    def __init__(
        self,
        encoder: nn.Module,
        head: nn.Module,
        *,
        bfloat16: bool = False,
        channels_last: bool = False,
    ) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self._bfloat16, self._channels_last = bfloat16, channels_last

    def scaled(self, frames_NFHW: Tensor, dtype: torch.dtype) -> Tensor:
        """Return uint8 frames in 0..1, in the order in memory that the encoder is fastest with."""
        import torch

        x_NFHW = frames_NFHW.to(dtype).div_(255)
        # In float32 the gradient of an encoder's first weights takes a third of the time with
        # channels last. Measured on CPUs, so elsewhere the order is left as it is.
        is_recorded_float32 = torch.is_grad_enabled() and dtype == torch.float32
        if x_NFHW.device.type == "cpu" and (self._channels_last or is_recorded_float32):
            x_NFHW = x_NFHW.contiguous(memory_format=torch.channels_last)
        return x_NFHW

    def features(self, frames_NFHW: Tensor) -> Tensor:
        """Return the encoder's features (N, D) of uint8 frames, in float32."""
        import torch

        x_NFHW = self.scaled(frames_NFHW, torch.bfloat16 if self._bfloat16 else torch.float32)
        with torch.autocast(frames_NFHW.device.type, torch.bfloat16, enabled=self._bfloat16):
            features_ND: Tensor = self.encoder(x_NFHW)
        return features_ND.float()

    def forward(self, frames_NFHW: Tensor) -> Tensor:
        """Return the values (N, A) of uint8 frames (N, 4, 84, 84)."""
        values_NA: Tensor = self.head(self.features(frames_NFHW))
        return values_NA


def nature_encoder(channels: tuple[int, int, int], num_features: int) -> nn.Sequential:
    """Return three convolutions and a linear layer.

    Source: Mnih et al. 2015, methods, with 32, 64 and 64 channels and 512 features.
    """
    first, second, third = channels
    return nn.Sequential(
        nn.Conv2d(STACK, first, 8, stride=4),
        nn.ReLU(),
        nn.Conv2d(first, second, 4, stride=2),
        nn.ReLU(),
        nn.Conv2d(second, third, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(third * 7 * 7, num_features),
        nn.ReLU(),
    )


class Residual(nn.Module):
    """Two convolutions whose output is added to their input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1),
        )

    def forward(self, x_NCHW: Tensor) -> Tensor:
        """Return a tensor of the shape of the input."""
        y_NCHW: Tensor = x_NCHW + self.body(x_NCHW)
        return y_NCHW


def impala_encoder(channels: tuple[int, int, int], num_features: int) -> nn.Sequential:
    """Return three stages of a convolution, a pooling and two residual blocks, then a linear layer.

    Source: Espeholt et al. 2018, figure 3, the larger architecture without its LSTM.
    """
    layers: list[nn.Module] = []
    num_in = STACK
    for num_out in channels:
        layers += [
            nn.Conv2d(num_in, num_out, 3, padding=1),
            nn.MaxPool2d(3, stride=2, padding=1),
            Residual(num_out),
            Residual(num_out),
        ]
        num_in = num_out
    size = 11  # 84 halved three times, rounded up
    layers += [nn.ReLU(), nn.Flatten(), nn.Linear(num_in * size * size, num_features), nn.ReLU()]
    return nn.Sequential(*layers)


class Size(NamedTuple):
    """A network by name.

    Attributes:
        encoder: Makes its encoder.
        channels: Channels of its stages.
        num_features: D.
        channels_last: As for `ValueNetwork`.
    """

    encoder: Callable[[tuple[int, int, int], int], nn.Sequential]
    channels: tuple[int, int, int]
    num_features: int
    channels_last: bool = False


SIZES = {
    "small": Size(nature_encoder, SMALL_SHAPE, 256),
    "nature": Size(nature_encoder, NATURE_SHAPE, 512),
    "impala": Size(impala_encoder, IMPALA_SHAPE, 256, channels_last=True),
}


def make_network(
    kind: str,
    num_actions: int,
    seed: int = 0,
    *,
    head: str = "plain",
    bfloat16: bool = False,
) -> ValueNetwork:
    """Return a new network with torch's default first weights.

    Args:
        kind: small, nature or impala.
        num_actions: A.
        seed: Draws the first weights.
        head: plain or duelling; the streams of a duelling head begin after the encoder's last
            layer, where Wang et al. 2016 begin them before it, so that features stay few.
        bfloat16: Whether the encoder computes in bfloat16.
    """
    import torch

    from mlscale.rl.dqn.duelling import DuellingHead

    size = SIZES[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = size.encoder(size.channels, size.num_features)
        last: nn.Module = nn.Linear(size.num_features, num_actions)
        if head == "duelling":
            last = DuellingHead(size.num_features, size.num_features, num_actions)
    return ValueNetwork(encoder, last, bfloat16=bfloat16, channels_last=size.channels_last)
