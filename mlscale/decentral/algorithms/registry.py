"""Algorithms by name, and which of them fit which graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.errors import unknown_name
from mlscale.decentral.algorithms.allreduce import AllReduce
from mlscale.decentral.algorithms.atc import AdaptThenCombine
from mlscale.decentral.algorithms.awc import CombineWhileAdapt
from mlscale.decentral.algorithms.choco import Choco
from mlscale.decentral.algorithms.d2 import D2
from mlscale.decentral.algorithms.decentlam import DecentLaM
from mlscale.decentral.algorithms.diloco import DiLoCo
from mlscale.decentral.algorithms.gossip_pga import GossipPGA
from mlscale.decentral.algorithms.gradient_tracking import GradientTracking
from mlscale.decentral.algorithms.local_sgd import LocalSGD
from mlscale.decentral.algorithms.push_sum import PushSum
from mlscale.decentral.algorithms.quasi_global import QuasiGlobalMomentum

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.algorithms.base import Algorithm
    from mlscale.decentral.mixer import Mixer

ALGORITHMS: dict[str, type[Algorithm]] = {
    "atc": AdaptThenCombine,
    "awc": CombineWhileAdapt,
    "sgp": PushSum,
    "qg-dsgdm": QuasiGlobalMomentum,
    "decentlam": DecentLaM,
    "tracking": GradientTracking,
    "d2": D2,
    "choco": Choco,
    "pga": GossipPGA,
    "local": LocalSGD,
    "diloco": DiLoCo,
    "allreduce": AllReduce,
}


def find_algorithm(name: str) -> type[Algorithm]:
    """Return the algorithm of a name.

    Raises:
        UserError: There is none.
    """
    if name not in ALGORITHMS:
        listing = f"algorithms: {', '.join(ALGORITHMS)}"
        raise unknown_name("algorithm", name, ALGORITHMS, listing=listing)
    return ALGORITHMS[name]


def make_algorithm(name: str, x: Tensor, mixer: Mixer, *, codec: str = "top-k") -> Algorithm:
    """Return an algorithm at its start.

    Args:
        name: As in `ALGORITHMS`.
        x: (..., P) the parameters.
        mixer: Carries values between replicas.
        codec: What choco sends.

    Raises:
        UserError: There is no such algorithm or codec.
    """
    from mlscale.decentral.compression.registry import CODECS

    kind = find_algorithm(name)
    if kind is not Choco:
        return kind(x, mixer)
    if codec not in CODECS:
        raise unknown_name("codec", codec, CODECS, listing=f"codecs: {', '.join(CODECS)}")
    return Choco(x, mixer, CODECS[codec])
