"""Reading idx files, the format of MNIST and its kin."""

from __future__ import annotations

import gzip
import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

UNSIGNED_BYTE = 0x08
"""The code of the only type of value that image sets use."""

GZIP_MAGIC = b"\x1f\x8b"


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the array in an idx file, gzipped or not.

    Args:
        path: The file.

    Raises:
        UserError: It cannot be read, or is no idx file of bytes, whole and nothing more.
    """
    try:
        content = path.read_bytes()
        if content.startswith(GZIP_MAGIC):
            content = gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is cut short or damaged: {error}", "download it again") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        return parse_idx(content)
    except ValueError as error:
        raise UserError(f"{path} {error}", "it must be an idx file as MNIST has them") from error


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Return the array that `content` holds: two zeros, type, rank, sizes as uint32, values.

    Raises:
        ValueError: It is not such an array; the text goes on after the file's name.

    Source: LeCun, Cortes and Burges, the MNIST database, "The IDX file format".
    """
    if len(content) < 4 or content[:2] != b"\0\0":
        raise ValueError("is not an idx file")
    kind, num_axes = content[2], content[3]
    if kind != UNSIGNED_BYTE:
        raise ValueError(f"holds values of type 0x{kind:02x}, not unsigned bytes (0x08)")
    begin = 4 + 4 * num_axes
    if len(content) < begin:
        raise ValueError("is cut short within its sizes")
    sizes = [int.from_bytes(content[i : i + 4], "big") for i in range(4, begin, 4)]
    expected, found = math.prod(sizes), len(content) - begin
    if found != expected:
        shape = " x ".join(map(str, sizes)) or "one value"
        what = "is cut short" if found < expected else "goes on too long"
        raise ValueError(f"{what}: {found} bytes of values where {shape} take {expected}")
    return np.frombuffer(content, np.uint8, offset=begin).reshape(sizes)
