"""Images held in memory as bytes, made into floats batch by batch.

Bytes take a quarter of the memory of floats, which counts where every rank holds the whole set.

Shape letters: N images; C channels; H, W height and width; V values of a pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlscale.core.seeding import generator

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.core.data.images import Images


CHUNK = 4096
"""Images counted at a time, since counting takes eight times their memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Takes pixels to (pixel - shift_C) / scale_C, channel by channel.

    Args:
        shift_C: (C,) what becomes 0.
        scale_C: (C,) what is one unit.
    """

    shift_C: NDArray[np.float32]
    scale_C: NDArray[np.float32]

    def __call__(self, pixels_NCHW: Tensor) -> Tensor:
        """Return float32 for (..., C, H, W) of uint8."""
        import torch

        shift, scale = (torch.from_numpy(v)[:, None, None] for v in (self.shift_C, self.scale_C))
        return (pixels_NCHW.float() - shift) / scale


def up_to(largest: int, num_channels: int = 1) -> Scale:
    """Return the scale that takes 0..largest to 0..1."""
    ones_C = np.ones(num_channels, np.float32)
    return Scale(0 * ones_C, largest * ones_C)


def standardised(pixels_NCHW: NDArray[np.uint8]) -> Scale:
    """Return the scale that gives every channel of these images mean 0 and deviation 1."""
    num_channels = pixels_NCHW.shape[1]
    counts_CV = np.zeros((num_channels, 256), np.int64)
    for begin in range(0, len(pixels_NCHW), CHUNK):
        chunk = pixels_NCHW[begin : begin + CHUNK]
        for channel in range(num_channels):
            counts_CV[channel] += np.bincount(chunk[:, channel].ravel(), minlength=256)
    # Counts are whole numbers: the order of the images makes no difference to the last bit.
    values_V = np.arange(256)
    num_values = pixels_NCHW.size // num_channels
    mean_C = counts_CV @ values_V / num_values
    mean_square_C = counts_CV @ values_V**2 / num_values
    deviation_C = np.sqrt(np.maximum(mean_square_C - mean_C**2, 0))
    deviation_C[deviation_C == 0] = 1  # a constant channel stays finite
    return Scale(mean_C.astype(np.float32), deviation_C.astype(np.float32))


class InMemory:
    """Labelled images as examples.

    Args:
        images: The images.
        scale: Makes floats of bytes.

    Attributes:
        x_N: (N, C, H, W) uint8.
        y_N: (N,) int64 classes.
    """

    def __init__(self, images: Images, scale: Scale) -> None:
        import torch

        self.x_N = torch.tensor(images.pixels_NCHW)  # copied: what was read may be read-only
        self.y_N = torch.tensor(images.labels_N)
        self._labels_N, self._scale = images.labels_N, scale

    @property
    def labels(self) -> NDArray[np.int64]:
        """(N,) classes."""
        return self._labels_N

    def __len__(self) -> int:
        """Return N."""
        return len(self._labels_N)

    def take(self, index: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return images (*index.shape, C, H, W) as floats and their classes (*index.shape)."""
        import torch

        rows = torch.from_numpy(np.asarray(index, np.int64))
        return self._scale(self.x_N[rows]), self.y_N[rows]


def some(num_examples: int, max_examples: int | None, seed: int) -> NDArray[np.int64]:
    """Return which examples to keep, ascending: all, or `max_examples` drawn without replacement.

    Args:
        num_examples: N.
        max_examples: None for all.
        seed: Draws them.
    """
    if max_examples is None or max_examples >= num_examples:
        return np.arange(num_examples)
    drawn = generator(seed, "max_train").choice(num_examples, max_examples, replace=False)
    return np.sort(drawn)
