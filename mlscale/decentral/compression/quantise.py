"""Values rounded at random to a few levels.

Shape letters: P parameters; B blocks; V values of a block; S bytes sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Generator, Tensor

LEVELS = 127
BLOCK = 512


@dataclass(frozen=True, slots=True)
class Quantise:
    """Sends one byte a value, in units of each block's norm, and the norms.

    Rounding up is as likely as what is rounded is large, so that the mean of many is right; all is
    then divided by 1 + the bound of the variance, which makes it a contraction.

    Args:
        consensus_step: As for `Codec`.

    Source: Alistarh et al. 2017 (QSGD), scaled as in Koloskova, Stich and Jaggi 2019.
    """

    consensus_step: float = 0.8

    def num_bytes(self, num_parameters: int) -> int:
        """Return S."""
        return num_parameters + 4 * -(-num_parameters // BLOCK)

    def encode(self, x_P: Tensor, rng: Generator) -> Tensor:
        """Return norms and levels as bytes (S,)."""
        import torch

        x_BV = _blocks(x_P.float())
        norm_B1 = x_BV.norm(dim=1, keepdim=True)
        scaled_BV = LEVELS * x_BV.abs() / norm_B1.clamp_min(torch.finfo(torch.float32).tiny)
        noise_BV = torch.rand(x_BV.shape, generator=rng)
        levels_BV = (scaled_BV + noise_BV).floor_().clamp_max_(LEVELS) * x_BV.sign()
        levels_P = levels_BV.to(torch.int8).flatten()[: len(x_P)]
        return torch.cat((norm_B1.flatten().view(torch.uint8), levels_P.view(torch.uint8)))

    def decode(self, sent_S: Tensor, num_parameters: int) -> Tensor:
        """Return the values (P,)."""
        import torch

        num_blocks = -(-num_parameters // BLOCK)
        norm_B1 = sent_S[: 4 * num_blocks].clone().view(torch.float32).unsqueeze(1)
        levels_BV = _blocks(sent_S[4 * num_blocks :].view(torch.int8).float())
        size = min(BLOCK, num_parameters)
        variance = min(size / LEVELS**2, size**0.5 / LEVELS)
        x_BV: Tensor = levels_BV * (norm_B1 / (LEVELS * (1 + variance)))
        return x_BV.flatten()[:num_parameters]


def _blocks(x_P: Tensor) -> Tensor:
    """Return values in rows (B, V), the last filled up with zeros."""
    from torch.nn import functional

    return functional.pad(x_P, (0, -len(x_P) % BLOCK)).view(-1, BLOCK)
