"""Handwritten digits that come with scikit-learn: data without any download."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.data.images import Images, ImageSet, image_set
from mlscale.core.environment import version_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 16
"""The brightest value of a pixel."""

EVERY = 5
"""One image in so many of each class is for the test."""


def load_digits() -> ImageSet:
    """Return 1,797 grey images of 8 x 8 pixels, valued 0 to 16, in 10 classes.

    The set has no official test part: the fifth, tenth, ... image of each class makes one.
    """
    from sklearn.datasets import load_digits as sklearn_digits

    loaded = sklearn_digits()
    pixels_NCHW = np.asarray(loaded.images, np.uint8)[:, None]
    labels_N = np.asarray(loaded.target, np.int64)
    is_test_N = every_nth_of_class(labels_N, EVERY)
    return image_set(
        Images(pixels_NCHW[~is_test_N], labels_N[~is_test_N]),
        Images(pixels_NCHW[is_test_N], labels_N[is_test_N]),
        [str(digit) for digit in range(10)],
        name="digits",
        origin="package scikit-learn",
        version=version_of("scikit-learn") or "",
        licence="BSD-3-Clause",
    )


def every_nth_of_class(labels_N: NDArray[np.int64], nth: int) -> NDArray[np.bool_]:
    """Return which examples are the nth, 2nth, ... of their class, in the order given.

    Args:
        labels_N: (N,) classes.
        nth: At least 1.

    Returns:
        (N,) true for those.
    """
    chosen_N = np.zeros(len(labels_N), bool)
    for label in np.unique(labels_N):
        chosen_N[np.flatnonzero(labels_N == label)[nth - 1 :: nth]] = True
    return chosen_N
