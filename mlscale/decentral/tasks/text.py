"""Text, byte by byte, with a small LSTM or a small GPT.

Shape letters: N blocks; P bytes of all texts; T positions of a block.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.data.texts import TextSet, load_text, load_wikitext2
from mlscale.core.errors import UserError
from mlscale.decentral.tasks.base import Build, Task
from mlscale.decentral.tasks.in_memory import some
from mlscale.decentral.tasks.language_models import VOCABULARY, ByteGPT, ByteLSTM

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

BLOCK = 128
"""T, bytes that an example predicts."""


class Blocks:
    """Texts one after another, cut into blocks; each byte but the first is predicted once.

    What is left at the end is dropped. A block knows nothing of the one before it.

    Args:
        texts: The texts.
        positions: T.
    """

    def __init__(self, texts: Sequence[bytes], positions: int) -> None:
        self._bytes_P = np.frombuffer(b"".join(texts), np.uint8)
        self._positions = positions
        self._kept = np.arange(max(0, len(self._bytes_P) - 1) // positions)
        self._ends = np.cumsum([len(text) for text in texts])

    @property
    def labels(self) -> NDArray[np.int64]:
        """(N,) the text that each block begins in, by number."""
        return np.searchsorted(self._ends, self._kept * self._positions, "right").astype(np.int64)

    def __len__(self) -> int:
        """Return N."""
        return len(self._kept)

    def keep(self, chosen: NDArray[np.int64]) -> None:
        """Leave only some blocks, by number."""
        self._kept = self._kept[chosen]

    def take(self, index: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return bytes (*index.shape, T) and those after each of them, the same shape."""
        import torch

        begins = self._kept[index] * self._positions
        places = begins[..., None] + np.arange(self._positions + 1)
        block = torch.from_numpy(self._bytes_P[places].astype(np.int64))
        return block[..., :-1], block[..., 1:]


def bits_per_byte(mean_loss: float) -> dict[str, float]:
    """Return the cross entropy of a byte in bits for one in nats."""
    return {"bits_per_byte": mean_loss / math.log(2)}


def make_text(name: str, *, data_dir: Path | None, max_train: int | None, seed: int) -> Task:
    """Return the task of predicting the next byte of text.

    Args:
        name: "text-lstm", "text-gpt", "wikitext2-lstm" or "wikitext2-gpt".
        data_dir: Folder with the text; None for NumPy's documentation strings, or for WikiText-2
            the hub.
        max_train: Training blocks kept, None for all.
        seed: Draws those.

    Raises:
        UserError: The text cannot be had, or is shorter than one block.
    """
    load = load_wikitext2 if name.startswith("wikitext2") else load_text
    build: Build = ByteLSTM if name.endswith("lstm") else partial(ByteGPT, BLOCK)
    loaded = load(data_dir)
    train, test = _blocks(loaded)
    train.keep(some(len(train), max_train, seed))
    return Task(
        name=name,
        train=train,
        test=test,
        num_classes=VOCABULARY,
        source=loaded.source,
        build=build,
        vmap_safe=False,  # vmap does LSTMs and fused attention one replica at a time, and warns
        derived=bits_per_byte,
    )


def _blocks(loaded: TextSet) -> tuple[Blocks, Blocks]:
    parts = []
    for part, texts in (("training", loaded.train), ("test", loaded.test)):
        blocks = Blocks(texts, BLOCK)
        if not len(blocks):
            found = sum(map(len, texts))
            raise UserError(
                f"{found} bytes of {part} text are too few for one block of {BLOCK + 1}",
                f"the text was read from the {loaded.source.origin}",
            )
        parts.append(blocks)
    return parts[0], parts[1]
