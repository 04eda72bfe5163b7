"""Exchanges between processes: torch.distributed carries each replica's values to its neighbours.

Each neighbour's message is waited for by itself, so that one who is gone costs only what it would
have sent: in every round from then on its weight goes to the own value.

Shape letters: P parameters; S bytes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253
from torch import Tensor  # noqa: TID253

from mlscale.core.errors import WorkFailed
from mlscale.decentral.costs import all_reduce_bytes
from mlscale.decentral.graphs.mixing import Mixing
from mlscale.decentral.mixer import Traffic
from mlscale.decentral.simulated import codec_rng

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.decentral.compression.codec import Codec
    from mlscale.decentral.mixer import Wait

BUCKET_BYTES = 8_000_000


class LostRankError(WorkFailed):
    """Another rank is gone: what its neighbours notice, and not why.

    Args:
        rank: Which; None where only that one of all is gone.

    Attributes:
        rank: As given.
        which: The same in words.
    """

    def __init__(self, rank: int | None) -> None:
        self.which = "another rank" if rank is None else f"rank {rank}"
        super().__init__(f"it lost {self.which}")
        self.rank = rank

    def __reduce__(self) -> tuple[type[LostRankError], tuple[int | None]]:  # type: ignore[override]
        """Pickle with the rank, since it is raised in one process and reported in another."""
        return type(self), (self.rank,)


@dataclass(slots=True)
class _Message:
    """A message of one bucket from or to one rank."""

    peer: int
    part: slice
    work: dist.Work | None
    received: Tensor | None = None
    is_lost: bool = False


@dataclass(slots=True)
class _Posted:
    """All messages of an exchange."""

    mixing: Mixing
    sent: list[_Message] = field(default_factory=list)
    received: list[_Message] = field(default_factory=list)


class ProcessMixer:
    """Sends to and receives from the neighbours of a round.

    Args:
        rank: The own.
        num_ranks: N.
        round_at: The round of a step, its weights as the algorithm uses them.
        seed: Of the run; draws what codecs round.
        goes_on: Whether a rank that is gone is done without.

    Attributes:
        traffic: What was sent and waited for.
        lost: Ranks that are gone.
    """

    def __init__(
        self,
        rank: int,
        num_ranks: int,
        round_at: Callable[[int], Mixing],
        seed: int = 0,
        *,
        goes_on: bool = False,
    ) -> None:
        self._rank, self._num_ranks = rank, num_ranks
        self._round_at, self._seed, self._goes_on = round_at, seed, goes_on
        self.traffic = Traffic()
        self.lost: set[int] = set()

    def start(self, x_P: Tensor, step: int) -> Wait:
        """Post the exchange; see `Mixer.start`.

        Raises:
            LostRankError: When waited for: a neighbour is gone, and is not done without.
        """
        if self._num_ranks == 1:
            return lambda: x_P  # nobody to listen to: nothing to copy
        mixing = self._round_at(step)
        posted = self._post(x_P, mixing)

        def wait() -> Tensor:
            weights = dict(mixing.row(self._rank))
            total_P = x_P * weights.get(self._rank, 0.0)
            for message in self._arrived(posted):
                if message.received is not None:
                    total_P[message.part].add_(message.received, alpha=weights[message.peer])
            for part, weight in self._left_behind(posted):
                total_P[part].add_(x_P[part], alpha=weight)
            return total_P

        return wait

    def start_encoded(self, x_P: Tensor, step: int, codec: Codec) -> tuple[Tensor, Wait]:
        """Post the exchange of encoded values; see `Mixer.start_encoded`.

        Raises:
            LostRankError: When waited for: a neighbour is gone. Its copy cannot be done without.
        """
        mixing, num_parameters = self._round_at(step), len(x_P)
        sent_S = codec.encode(x_P, codec_rng(self._seed, self._rank, step))
        own_P = codec.decode(sent_S, num_parameters).to(x_P.dtype)
        posted = self._post(sent_S, mixing)

        def wait() -> Tensor:
            weights = dict(mixing.row(self._rank))
            total_P = own_P * weights.get(self._rank, 0.0)
            whole: dict[int, list[Tensor]] = {}
            for message in self._arrived(posted):
                if message.received is None:
                    raise LostRankError(message.peer)
                whole.setdefault(message.peer, []).append(message.received)
            for peer, parts in whole.items():
                total_P.add_(codec.decode(torch.cat(parts), num_parameters), alpha=weights[peer])
            return total_P

        return own_P, wait

    def mean(self, x_P: Tensor) -> Tensor:
        """Return the mean over all ranks; see `Mixer.mean`.

        Raises:
            LostRankError: A rank is gone.
        """
        if self._num_ranks == 1:
            return x_P
        mean_P = x_P.clone()
        began_s = time.monotonic()
        try:
            dist.all_reduce(mean_P)
        except RuntimeError:
            raise LostRankError(None) from None
        self.traffic.waited_s += time.monotonic() - began_s
        self.traffic.sent_bytes += all_reduce_bytes(x_P.nbytes, self._num_ranks)
        return mean_P.div_(self._num_ranks)

    def _post(self, x_P: Tensor, mixing: Mixing) -> _Posted:
        """Post all messages, bucket by bucket."""
        posted = _Posted(mixing)
        width = max(1, BUCKET_BYTES // x_P.element_size())
        sources = [source for source, _ in mixing.received(self._rank)]
        targets = mixing.targets(self._rank)
        for first in range(0, len(x_P), width):
            part = slice(first, min(first + width, len(x_P)))
            for peer in sources:
                buffer = torch.empty_like(x_P[part])
                posted.received.append(_Message(peer, part, self._receive(buffer, peer), buffer))
            for peer in targets:
                posted.sent.append(_Message(peer, part, self._send(x_P[part], peer)))
        return posted

    def _send(self, values: Tensor, peer: int) -> dist.Work | None:
        if peer in self.lost:
            return None
        self.traffic.sent_bytes += values.nbytes
        try:
            return dist.isend(values, peer)
        except RuntimeError:
            self._lose(peer)
            return None

    def _receive(self, buffer: Tensor, peer: int) -> dist.Work | None:
        if peer in self.lost:
            return None
        try:
            return dist.irecv(buffer, peer)
        except RuntimeError:
            self._lose(peer)
            return None

    def _arrived(self, posted: _Posted) -> list[_Message]:
        """Wait for all messages and return those received; None in them where a rank is gone."""
        began_s = time.monotonic()
        for message in (*posted.received, *posted.sent):
            if not self._wait(message):
                message.received, message.is_lost = None, True
        self.traffic.waited_s += time.monotonic() - began_s
        return posted.received

    def _left_behind(self, posted: _Posted) -> list[tuple[slice, float]]:
        """Return the weights that go to the own value for ranks that are gone, with their parts.

        Where rows sum to 1 they keep doing so. In push-sum columns do: there a rank keeps what it
        would have sent, or values and weights would grow without end.
        """
        mixing = posted.mixing
        if not any(message.is_lost for message in (*posted.received, *posted.sent)):
            return []
        if mixing.is_row_stochastic:
            weights = dict(mixing.row(self._rank))
            return [(one.part, weights[one.peer]) for one in posted.received if one.is_lost]
        return [
            (one.part, dict(mixing.row(one.peer))[self._rank]) for one in posted.sent if one.is_lost
        ]

    def _wait(self, message: _Message) -> bool:
        if message.work is None:
            return False
        try:
            message.work.wait()
        except RuntimeError:
            self._lose(message.peer)
            return False
        return True

    def _lose(self, peer: int) -> None:
        if not self._goes_on:
            raise LostRankError(peer)
        self.lost.add(peer)
