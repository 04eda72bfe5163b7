"""What a compressed form is.

Shape letters: P parameters; S bytes sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Generator, Tensor


class Codec(Protocol):
    """Turns parameters into bytes and bytes into what the others take for them."""

    @property
    def consensus_step(self) -> float:
        """How far CHOCO-SGD moves towards the neighbours' average; smaller for coarser forms."""

    def num_bytes(self, num_parameters: int) -> int:
        """Return S, which P alone decides."""

    def encode(self, x_P: Tensor, rng: Generator) -> Tensor:
        """Return bytes (S,) for float32 or float64 values (P,) on the CPU."""

    def decode(self, sent_S: Tensor, num_parameters: int) -> Tensor:
        """Return the float32 values (P,) that bytes (S,) stand for."""
