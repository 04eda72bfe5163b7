"""Small models of the next byte: an LSTM and a decoder-only transformer.

Shape letters: B texts; T positions; V values of a byte; D width; H heads.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch  # noqa: TID253 - classes below are networks; nothing imports this early
from torch import nn  # noqa: TID253 - the same
from torch.nn import functional as F  # noqa: TID253 - the same

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARY = 256


class ByteLSTM(nn.Module):
    """One LSTM layer over embedded bytes; every text starts from a state of zeros.

    Args:
        width: D, of the embedding.
        num_hidden: Units of the LSTM.
    """

    def __init__(self, width: int = 64, num_hidden: int = 256) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, num_hidden, batch_first=True)
        self.head = nn.Linear(num_hidden, VOCABULARY)

    def forward(self, x_BT: Tensor) -> Tensor:
        """Return logits (B, T, V) of the byte after each."""
        hidden_BTD, _ = self.lstm(self.embed(x_BT))
        logits_BTV: Tensor = self.head(hidden_BTD)
        return logits_BTV


class ByteGPT(nn.Module):
    """Pre-norm transformer blocks with learned positions.

    Args:
        max_positions: The longest text.
        num_layers: Blocks.
        width: D.
        num_heads: H, a divisor of D.

    Source: Radford et al. 2019 (GPT-2), section 2.3: norms before each part, a last one, and
    weights into the residual stream divided by the root of the number of such parts.
    """

    def __init__(
        self, max_positions: int, *, num_layers: int = 3, width: int = 96, num_heads: int = 4
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width)
        self.position = nn.Embedding(max_positions, width)
        self.blocks = nn.Sequential(*(Block(width, num_heads) for _ in range(num_layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                is_residual = name.endswith(("mix.weight", "narrow.weight"))
                scale = 1 / math.sqrt(2 * num_layers) if is_residual else 1
                nn.init.normal_(parameter, std=0.02 * scale)

    def forward(self, x_BT: Tensor) -> Tensor:
        """Return logits (B, T, V) of the byte after each."""
        positions_T = torch.arange(x_BT.shape[1], device=x_BT.device)
        hidden_BTD = self.blocks(self.embed(x_BT) + self.position(positions_T))
        logits_BTV: Tensor = self.head(self.norm(hidden_BTD))
        return logits_BTV


class Block(nn.Module):
    """Causal attention, then a perceptron of four times the width, each added to its input.

    Args:
        width: D.
        num_heads: H.
    """

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norm_before_attention, self.norm_before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return what the next block takes, (B, T, D)."""
        x_BTD = x_BTD + self.mix(self._attention(self.norm_before_attention(x_BTD)))
        mlp_BTD: Tensor = self.narrow(F.gelu(self.widen(self.norm_before_mlp(x_BTD))))
        return x_BTD + mlp_BTD

    def _attention(self, x_BTD: Tensor) -> Tensor:
        batch, positions, width = x_BTD.shape
        q, k, v = (
            part.view(batch, positions, self.num_heads, -1).transpose(1, 2)
            for part in self.attend(x_BTD).split(width, dim=2)
        )
        heads_BHTd = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return heads_BHTd.transpose(1, 2).reshape(x_BTD.shape)
