"""Named random streams from one seed, so that no part's draws shift another's."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def derive_seed(seed: int, *names: str | int, bits: int = 31) -> int:
    """Return a seed for the stream called `names` under the run's `seed`.

    The same arguments give the same number on every machine and Python; different names give
    unrelated ones, so an episode's seed does not depend on which episodes ran before it.

    Args:
        seed: The run's seed.
        names: The path of the stream, as in ("pong", 3).
        bits: Width of the result; 31 fits a C int.
    """
    text = "\x1f".join([str(seed), *(str(name) for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - bits)


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return NumPy's default generator for the stream called `names`."""
    import numpy as np

    return np.random.default_rng(derive_seed(seed, *names, bits=63))
