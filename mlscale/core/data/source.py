"""Where data came from, in a form that results carry."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which data a run used.

    Args:
        name: What it is, as in "Fashion-MNIST".
        origin: Where it was read from: a folder, a package, the hub.
        version: Of the package or of the set, "" where there is none.
        licence: As its owner states it, "" where that is not known.
        sha256: Hash by which the same data is known wherever it was read from.
        hashed: What that is the hash of.
    """

    name: str
    origin: str
    version: str
    licence: str
    sha256: str
    hashed: str

    def to_json(self) -> dict[str, Any]:
        """Return the fields, for `result.json`."""
        return asdict(self)

    def sentence(self) -> str:
        """Return one line for the terminal: which data, from where."""
        version = f" {self.version}" if self.version else ""
        return f"data: {self.name} from {self.origin}{version}, sha256 {self.sha256[:12]}"


def hash_arrays(arrays: Iterable[NDArray[Any]]) -> str:
    """Return the sha256 of arrays: of each its type, shape and bytes, in order.

    Args:
        arrays: Of any shapes; byte order and memory layout make no difference.
    """
    digest = hashlib.sha256()
    for array in arrays:
        plain = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        digest.update(f"{plain.dtype.str}{plain.shape}".encode())
        digest.update(plain.data.cast("B") if plain.size else b"")
    return digest.hexdigest()


def hash_texts(lines: Iterable[str]) -> str:
    """Return the sha256 of lines of text, each ended by a newline."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return digest.hexdigest()
