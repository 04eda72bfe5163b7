"""Small image sets that fit in memory.

Shape letters: N images; H, W height and width in pixels; C channels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlscale.core.data.source import Source, hash_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Labelled images.

    Args:
        pixels_NCHW: (N, C, H, W) uint8.
        labels_N: (N,) class numbers from 0.
    """

    pixels_NCHW: NDArray[np.uint8]
    labels_N: NDArray[np.int64]

    def __len__(self) -> int:
        """Return N."""
        return len(self.labels_N)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ImageSet:
    """Training and test images of one set.

    Args:
        train: To learn from.
        test: To measure on.
        classes: What the class numbers stand for.
        source: Where it was read from.
    """

    train: Images
    test: Images
    classes: tuple[str, ...]
    source: Source


def image_set(
    train: Images,
    test: Images,
    classes: Sequence[str],
    *,
    name: str,
    origin: str,
    version: str = "",
    licence: str,
) -> ImageSet:
    """Return a set with its source, whose hash covers all pixels and labels.

    The hash is that of the decoded images, so it is the same for every file format.
    """
    arrays = (train.pixels_NCHW, train.labels_N, test.pixels_NCHW, test.labels_N)
    source = Source(
        name=name,
        origin=origin,
        version=version,
        licence=licence,
        sha256=hash_arrays(arrays),
        hashed="training pixels and labels, then those of the test",
    )
    return ImageSet(train=train, test=test, classes=tuple(classes), source=source)
