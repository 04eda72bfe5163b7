"""How often latents with the same hash were visited.

Shape letters: N latents in question; L lanes; D features of a latent; K bits of a hash; T hashes
met so far.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    FloatArray = NDArray[np.float32]

MAX_BITS = 62
"""So that a hash fits a signed 64-bit integer."""


class HashCounts:
    """Novelty as 1 / sqrt(1 + visits) of a latent's hash, over everything visited.

    The hash holds the signs of random projections: latents at a small angle share it. Its bits
    decide how coarse it is, from 1 to 62.

    Args:
        num_features: D.
        num_bits: K.
        rng: Draws the projections.

    Source: Charikar 2002 (SimHash); Tang et al. 2017, #Exploration, section 2.2.
    """

    def __init__(self, num_features: int, num_bits: int, rng: np.random.Generator) -> None:
        if not 1 <= num_bits <= MAX_BITS:
            raise ValueError(f"num_bits is {num_bits}: between 1 and {MAX_BITS} are possible")
        self._projection_DK = rng.standard_normal((num_features, num_bits), np.float32)
        self._place_K = np.int64(1) << np.arange(num_bits)
        self._visits: Counter[int] = Counter()
        self.num_seen = 0

    def hashes(self, x_ND: FloatArray) -> NDArray[np.int64]:
        """Return the hash (N,) of each latent (N, D)."""
        hash_N: NDArray[np.int64] = (x_ND @ self._projection_DK > 0) @ self._place_K
        return hash_N

    def add(self, z_LD: FloatArray) -> None:
        """Take in visited latents (L, D)."""
        self._visits.update(self.hashes(z_LD).tolist())
        self.num_seen += len(z_LD)

    def novelty(self, x_ND: FloatArray) -> NDArray[np.float64]:
        """Return 1 / sqrt(1 + visits) (N,) of latents (N, D)."""
        visits_N = [self._visits[key] for key in self.hashes(x_ND).tolist()]
        return 1.0 / np.sqrt(1.0 + np.asarray(visits_N))

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the projections and every hash with its visits."""
        import torch

        tensors = {
            "projection": torch.from_numpy(self._projection_DK.copy()),
            "hashes": torch.tensor(list(self._visits), dtype=torch.int64),
            "visits": torch.tensor(list(self._visits.values()), dtype=torch.int64),
        }
        return tensors, {"num_seen": self.num_seen}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        self._projection_DK[:] = tensors["projection"].numpy()
        self._visits = Counter(
            dict(zip(tensors["hashes"].tolist(), tensors["visits"].tolist(), strict=True))
        )
        self.num_seen = int(state["num_seen"])
