"""Exchanges between GPUs over NCCL. Written after torch's documentation and not tried on GPUs yet.

Shape letters: P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253

from mlscale.decentral import exchange
from mlscale.decentral.exchange import ProcessMixer, _Message, _Posted

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from mlscale.decentral.graphs.mixing import Mixing


class NcclMixer(ProcessMixer):
    """Posts the messages of a bucket as one batch.

    NCCL runs what is posted one after another, so that two ranks that both receive first would
    wait for each other; within a batch the order is free. Waiting holds up the GPU's stream, not
    the process, so the time waited is not measured, and nobody who is gone is done without.

    Args:
        rank: As for `ProcessMixer`.
        num_ranks: As for `ProcessMixer`.
        round_at: As for `ProcessMixer`.
        seed: As for `ProcessMixer`.
        device: The own GPU.
    """

    def __init__(
        self,
        rank: int,
        num_ranks: int,
        round_at: Callable[[int], Mixing],
        seed: int = 0,
        *,
        device: torch.device,
    ) -> None:
        super().__init__(rank, num_ranks, round_at, seed)
        # All ranks must take part in the first call of a group, and in a round some may be idle.
        dist.all_reduce(torch.zeros(1, device=device))

    def _post(self, x_P: Tensor, mixing: Mixing) -> _Posted:
        posted = _Posted(mixing)
        width = max(1, exchange.BUCKET_BYTES // x_P.element_size())
        sources = [source for source, _ in mixing.received(self._rank)]
        targets = mixing.targets(self._rank)
        for first in range(0, len(x_P) if sources or targets else 0, width):
            part = slice(first, min(first + width, len(x_P)))
            buffers = {source: torch.empty_like(x_P[part]) for source in sources}
            ops = [dist.P2POp(dist.irecv, buffer, peer) for peer, buffer in buffers.items()]
            ops += [dist.P2POp(dist.isend, x_P[part], peer) for peer in targets]
            works = dist.batch_isend_irecv(ops)
            if len(works) == 1:  # the backend joins a batch
                works *= len(ops)
            posted.received += [
                _Message(peer, part, work, buffer)
                for (peer, buffer), work in zip(buffers.items(), works, strict=False)
            ]
            posted.sent += [
                _Message(peer, part, work)
                for peer, work in zip(targets, works[len(buffers) :], strict=True)
            ]
            self.traffic.sent_bytes += x_P[part].nbytes * len(targets)
        return posted
