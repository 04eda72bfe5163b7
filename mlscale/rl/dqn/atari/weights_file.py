"""The weights of a network as they are played and shipped: float16, in one safetensors file.

A trained network acts with its weights rounded to float16 also where its own run is evaluated.
So a score of the run is a score of the shipped file, and the digest of its bytes names both.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Weights = Mapping[str, NDArray[np.float32]]


def to_bytes(weights: Mapping[str, NDArray[np.generic]], where: str) -> bytes:
    """Return the file of a network's weights.

    Args:
        weights: By name in the network's state; rounded to float16.
        where: Whose weights they are, for the error.

    Raises:
        UserError: A weight is not finite, or beyond float16's range of 65504.
    """
    from safetensors.numpy import save

    with np.errstate(over="ignore"):
        rounded = {name: weights[name].astype(np.float16) for name in sorted(weights)}
    if not all(np.isfinite(array).all() for array in rounded.values()):
        raise UserError(f"{where}: a weight is no finite number of at most 65504")
    return save(rounded)


def from_bytes(data: bytes, where: str) -> Weights:
    """Return the weights in a file, as float32.

    Raises:
        UserError: The file is no safetensors file.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(data)
    except SafetensorError as error:
        raise UserError(f"{where} is damaged: {error}", "install mlscale again") from None
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
