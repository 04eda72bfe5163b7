"""What a measure of unfamiliarity is, and the last latents visited that most of them look at.

Shape letters: N latents in question; F latents kept; L lanes; D features of a latent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    FloatArray = NDArray[np.float32]


class Density(Protocol):
    """Knows the latents visited and says how unfamiliar others are.

    Novelties may be equal: whoever takes the largest should break ties at random.
    """

    @property
    def num_seen(self) -> int:
        """Latents taken in so far; `novelty` needs two."""

    def add(self, z_LD: FloatArray) -> None:
        """Take in visited latents (L, D)."""

    def novelty(self, x_ND: FloatArray) -> NDArray[np.float64]:
        """Return how unfamiliar latents (N, D) are, (N,): the higher, the less familiar."""

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and plain values that `load` needs, for a checkpoint."""

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""


class Recent:
    """The last latents visited, across lanes and the ends of episodes.

    Args:
        capacity: F, the latents kept.
        num_features: D.

    Attributes:
        num_seen: Latents taken in so far, forgotten ones included.
    """

    def __init__(self, capacity: int, num_features: int) -> None:
        self._ring_FD = np.zeros((capacity, num_features), np.float32)
        self.num_seen = 0

    def add(self, z_LD: FloatArray) -> None:
        """Take in latents (L, D), no more than F at once."""
        slots_L = (self.num_seen + np.arange(len(z_LD))) % len(self._ring_FD)
        self._ring_FD[slots_L] = z_LD
        self.num_seen += len(z_LD)

    @property
    def latents(self) -> FloatArray:
        """The latents there are, in no particular order."""
        return self._ring_FD[: self.num_seen]

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the latents and their number, for a checkpoint."""
        import torch

        return {"recent": torch.from_numpy(self._ring_FD.copy())}, {"num_seen": self.num_seen}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        self._ring_FD[:] = tensors["recent"].numpy()
        self.num_seen = int(state["num_seen"])
