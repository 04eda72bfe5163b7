"""Exchanges of a simulation: all replicas are rows of one matrix.

Shape letters: N replicas; P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch  # noqa: TID253 - nothing imports this early

from mlscale.core.seeding import derive_seed
from mlscale.decentral.costs import all_reduce_bytes
from mlscale.decentral.mixer import Traffic

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from mlscale.decentral.compression.codec import Codec
    from mlscale.decentral.graphs.mixing import Mixing
    from mlscale.decentral.mixer import Wait

DENSE_FROM_SHARE = 0.1
"""Of entries that are not zero: above it a dense product is quicker than a sparse one."""


class SimulatedMixer:
    """Multiplies by the matrix of a round.

    Args:
        round_at: The round of a step, its weights as the algorithm uses them.
        seed: Of the run; draws what codecs round.

    Attributes:
        traffic: What a replica has sent so far, the mean over all.
    """

    def __init__(self, round_at: Callable[[int], Mixing], seed: int = 0) -> None:
        self._round_at, self._seed = round_at, seed
        self.traffic = Traffic()
        self._last: tuple[Mixing, Tensor] | None = None

    def start(self, x_NP: Tensor, step: int) -> Wait:
        """Return what multiplies; see `Mixer.start`."""
        self._count(step, x_NP[0].nbytes)
        return lambda: self._matrix(step, x_NP) @ x_NP

    def start_encoded(self, x_NP: Tensor, step: int, codec: Codec) -> tuple[Tensor, Wait]:
        """Encode and decode every row; see `Mixer.start_encoded`."""
        num_parameters = x_NP.shape[1]
        q_NP = torch.stack(
            [
                codec.decode(codec.encode(x_P, codec_rng(self._seed, rank, step)), num_parameters)
                for rank, x_P in enumerate(x_NP.cpu())
            ]
        ).to(x_NP)
        self._count(step, codec.num_bytes(num_parameters))
        return q_NP, lambda: self._matrix(step, q_NP) @ q_NP

    def mean(self, x_NP: Tensor) -> Tensor:
        """Return the mean row, as often as there are rows."""
        self.traffic.sent_bytes += all_reduce_bytes(x_NP[0].nbytes, len(x_NP))
        return x_NP.mean(dim=0, keepdim=True).expand_as(x_NP).clone()

    def _count(self, step: int, num_bytes: int) -> None:
        self.traffic.sent_bytes += float(self._round_at(step).degrees.mean()) * num_bytes

    def _matrix(self, step: int, like: Tensor) -> Tensor:
        """Return the matrix (N, N) of a step's round, of the dtype and on the device of another."""
        mixing = self._round_at(step)
        if self._last is None or self._last[0] is not mixing or self._last[1].dtype != like.dtype:
            self._last = mixing, _as_tensor(mixing, like.dtype).to(like.device)
        return self._last[1]


def codec_rng(seed: int, rank: int, step: int) -> torch.Generator:
    """Return what draws a replica's rounding in a step, in a simulation as in its process."""
    rng = torch.Generator()
    rng.manual_seed(derive_seed(seed, "codec", rank, step))
    return rng


def _as_tensor(mixing: Mixing, dtype: torch.dtype) -> Tensor:
    num_ranks = mixing.num_ranks
    if len(mixing.weights_E) > DENSE_FROM_SHARE * num_ranks**2:
        return torch.from_numpy(mixing.dense()).to(dtype)
    places_2E = torch.from_numpy(np.stack((mixing.entry_rows, mixing.sources_E)))
    weights_E = torch.from_numpy(mixing.weights_E).to(dtype)
    return torch.sparse_coo_tensor(
        places_2E, weights_E, (num_ranks, num_ranks), check_invariants=True, is_coalesced=True
    )
