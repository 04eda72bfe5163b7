"""Signs alone, with one size for all.

Shape letters: P parameters; S bytes sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True, slots=True)
class Sign:
    """Sends a bit for each value and the mean magnitude.

    Args:
        consensus_step: As for `Codec`.

    Source: Karimireddy et al. 2019, the scaled sign.
    """

    consensus_step: float = 0.2

    def num_bytes(self, num_parameters: int) -> int:
        """Return S."""
        return 4 + -(-num_parameters // 8)

    def encode(self, x_P: Tensor, rng: Generator) -> Tensor:
        """Return the mean magnitude and the signs as bytes (S,)."""
        import torch

        bits_S = torch.from_numpy(np.packbits((x_P >= 0).numpy()))
        return torch.cat((x_P.abs().mean().float().reshape(1).view(torch.uint8), bits_S))

    def decode(self, sent_S: Tensor, num_parameters: int) -> Tensor:
        """Return values (P,) of one magnitude."""
        import torch

        size = sent_S[:4].clone().view(torch.float32)
        positive_P = np.unpackbits(sent_S[4:].numpy(), count=num_parameters)
        return size * (2.0 * torch.from_numpy(positive_P).float() - 1.0)
