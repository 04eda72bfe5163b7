"""Compressed forms by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.decentral.compression.quantise import Quantise
from mlscale.decentral.compression.sign import Sign
from mlscale.decentral.compression.top_k import TopK

if TYPE_CHECKING:
    from mlscale.decentral.compression.codec import Codec

CODECS: dict[str, Codec] = {"top-k": TopK(), "sign": Sign(), "quantise": Quantise()}
