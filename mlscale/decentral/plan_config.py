"""Settings of `mlscale decentral plan`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass

from mlscale.core.config import Seeded, check_fields, opt
from mlscale.core.errors import UserError
from mlscale.decentral.graphs.names import parse_name
from mlscale.decentral.quantities import read_bandwidth, read_count, read_duration

MOST_RANKS = 4096
"""Graphs are built whole, so there is a limit; the formulas hold beyond it."""


def check_ranks(n: tuple[int, ...]) -> None:
    """Refuse no numbers of ranks, or one named twice."""
    if not n or len(set(n)) != len(n):
        raise UserError("--n must name one number of ranks or more, each once", "as in 8,64")


def check_graphs(names: tuple[str, ...]) -> None:
    """Refuse graphs that there are not, or one named twice."""
    for name in names:
        parse_name(name)
    if len(set(names)) != len(names):
        raise UserError("the same graph is named twice", "name each once")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanConfig(Seeded):
    """Settings of `mlscale decentral plan`.

    Args:
        params: Parameters of the model, as text.
        n: Numbers of ranks.
        bandwidth: Of a network card, each way, as text.
        latency: Of a message, as text.
        dtype_bytes: Bytes sent of a parameter.
        ranks_per_nic: Ranks that share a network card.
        compute_ms: Milliseconds that a rank computes in a step; None to leave it out.
        graph: Graphs to set beside all-reduce; an example of every family when empty.
    """

    params: str = opt("25.6M", help="Parameters of the model, as in 25.6M or 7B.", metavar="COUNT")
    n: tuple[int, ...] = opt(
        (8, 64, 1008), help="Numbers of ranks, with commas.", ge=1, le=MOST_RANKS, metavar="N[,N]"
    )
    bandwidth: str = opt(
        "25Gb/s", help="Of a network card: 25Gb/s is bits, 100GB/s bytes.", metavar="RATE"
    )
    latency: str = opt("10us", help="Of a message, as in 10us or 1ms.", metavar="TIME")
    dtype_bytes: int = opt(4, help="Bytes sent of a parameter.", ge=1, le=8)
    ranks_per_nic: int = opt(1, help="Ranks that share a network card.", ge=1)
    compute_ms: float | None = opt(None, help="Milliseconds of computing in a step.", ge=0)
    graph: tuple[str, ...] = opt(
        (), help="Only these graphs, with commas; one of every family by default.", metavar="NAMES"
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_ranks(self.n)
        check_graphs(self.graph)
        _ = self.num_params, self.bandwidth_bytes_per_s, self.latency_s
        if self.ranks_per_nic > min(self.n):
            raise UserError(
                f"--ranks-per-nic is {self.ranks_per_nic}, more than the {min(self.n)} ranks of --n"
            )

    @property
    def num_params(self) -> int:
        """Parameters of the model."""
        return read_count(self.params)

    @property
    def model_bytes(self) -> int:
        """Bytes of the model as it is sent."""
        return self.num_params * self.dtype_bytes

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bandwidth in bytes per second."""
        return read_bandwidth(self.bandwidth)

    @property
    def latency_s(self) -> float:
        """Latency in seconds."""
        return read_duration(self.latency)
