"""What an algorithm asks of whoever carries values between replicas.

Values are flat: (P,) for the one replica of a process, (N, P) for all replicas of a simulation. So
each algorithm is written once, and a simulation does what the processes do.

Shape letters: N replicas; P parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from mlscale.decentral.compression.codec import Codec

    Wait = Callable[[], Tensor]
    """Waits for an exchange and returns the weighted sum of what came and of the own values.

    Where nothing comes, it may be the values themselves and no copy.
    """


@dataclass(slots=True)
class Traffic:
    """What a replica has sent and waited for.

    Attributes:
        sent_bytes: Bytes handed over for sending; in a simulation, the mean over replicas.
        waited_s: Seconds in which nothing else was done.
    """

    sent_bytes: float = 0.0
    waited_s: float = 0.0


class Mixer(Protocol):
    """Carries values between replicas along the rounds of a graph.

    Attributes:
        traffic: What was sent and waited for so far.
    """

    traffic: Traffic

    def start(self, x: Tensor, step: int) -> Wait:
        """Begin to exchange values with the neighbours of a step's round.

        Args:
            x: (..., P) what every replica sends; unchanged until the exchange is waited for.
            step: Whose round it is.
        """

    def start_encoded(self, x: Tensor, step: int, codec: Codec) -> tuple[Tensor, Wait]:
        """Begin to exchange values in a shorter form.

        Args:
            x: (..., P) what is encoded.
            step: Whose round it is.
            codec: The form.

        Returns:
            What the others get of the own values, decoded, and what waits for the weighted sum.
        """

    def mean(self, x: Tensor) -> Tensor:
        """Return the mean over all replicas, in the shape of x (..., P); of one, x itself."""
