"""The largest values alone.

Shape letters: P parameters; K values sent; S bytes sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True)
class TopK:
    """Sends the values of largest magnitude with their places, in 8 bytes each.

    Args:
        share: Share of the values that is sent, at least one.
        consensus_step: As for `Codec`.

    Source: Stich, Cordonnier and Jaggi 2018.
    """

    share: float = 0.1
    consensus_step: float = 0.2

    def _num_values(self, num_parameters: int) -> int:
        return min(max(1, round(self.share * num_parameters)), num_parameters)

    def num_bytes(self, num_parameters: int) -> int:
        """Return S."""
        return 8 * self._num_values(num_parameters)

    def encode(self, x_P: Tensor, rng: Generator) -> Tensor:
        """Return places and values as bytes (S,)."""
        import torch

        places_K = x_P.abs().topk(self._num_values(len(x_P)), sorted=False).indices
        values_K = x_P[places_K].float()
        return torch.cat((places_K.int().view(torch.uint8), values_K.view(torch.uint8)))

    def decode(self, sent_S: Tensor, num_parameters: int) -> Tensor:
        """Return the values (P,), zero where none was sent."""
        import torch

        places_S, values_S = sent_S.chunk(2)
        x_P = torch.zeros(num_parameters)
        x_P[places_S.view(torch.int32).long()] = values_S.view(torch.float32)
        return x_P
