"""Reading pickles of plain values and arrays without running anything they name.

A pickle is a program. Here the few names that CIFAR's batches use are answered by stand-ins of
ours, which only copy bytes, and every other name is refused; NumPy's own code for pickles is not
reached either.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import struct
from typing import Any

import numpy as np

NUMBERS = re.compile(r"[<>|=]?[biu][1248]")
ERRORS = (
    pickle.UnpicklingError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    AssertionError,
    struct.error,
    MemoryError,
)
"""What a damaged pickle raises."""


class _Dtype:
    """Stands for numpy.dtype: booleans and integers."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code = _text(code)
        if not NUMBERS.fullmatch(self.code):
            raise pickle.UnpicklingError(f"array of type {self.code!r}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = _text(state[1])
        if order not in set("<>|="):
            raise pickle.UnpicklingError(f"byte order {order!r}")
        self.code = order + self.code.lstrip("<>|=")


class _Array:
    """Stands for numpy.ndarray."""

    values: np.ndarray[Any, Any]

    def __init__(self, *_: object) -> None:
        self.values = np.empty(0, np.uint8)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, is_fortran, content = state
        if not isinstance(dtype, _Dtype) or not isinstance(content, bytes):
            raise pickle.UnpicklingError("array of other than numbers")
        flat = np.frombuffer(content, dtype.code)
        if any(size < 0 for size in shape) or math.prod(shape) != flat.size:
            raise pickle.UnpicklingError(f"array of {flat.size} values in shape {shape}")
        self.values = flat.reshape(shape, order="F" if is_fortran else "C")


def _new_array(*_: object) -> _Array:
    return _Array()


def _encode(text: str, encoding: str | bytes) -> bytes:
    """Stand for _codecs.encode, by which Python 3 writes bytes in protocols below 3."""
    if _text(encoding) != "latin1":
        raise pickle.UnpicklingError(f"bytes as {encoding!r}")
    return text.encode("latin1")


STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
}


class _Reader(pickle._Unpickler):
    # The one in Python: that in C sets aside as much memory as a damaged file names.

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in STAND_INS:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not read")
        return STAND_INS[module, name]


def read_plain_pickle(content: bytes) -> Any:
    """Return what a pickle of dicts, lists, tuples, numbers, text, bytes and arrays holds.

    Strings of Python 2 come back as bytes.

    Args:
        content: The pickle.

    Raises:
        ValueError: It holds anything else, or is damaged.
    """
    try:
        return _plain(_Reader(io.BytesIO(content), encoding="bytes").load())
    except EOFError as error:
        raise ValueError("it is cut short") from error
    except ERRORS as error:
        raise ValueError(str(error) or type(error).__name__) from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.values
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(each) for each in value)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    raise pickle.UnpicklingError(f"it holds a {type(value).__name__.lstrip('_')}")


def _text(value: str | bytes) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else value
