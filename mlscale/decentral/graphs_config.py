"""Settings of `mlscale decentral graphs`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass

from mlscale.core.config import Seeded, check_fields, opt
from mlscale.decentral.graphs.names import FormName, WeightsName
from mlscale.decentral.plan_config import check_graphs, check_ranks

MOST_RANKS = 2048
"""Some graphs need the eigenvalues of a whole matrix, (N, N)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphsConfig(Seeded):
    """Settings of `mlscale decentral graphs`.

    Args:
        n: Numbers of ranks.
        graph: Graphs to list; an example of every family when empty.
        weights: The rule that gives links their weights; each family's own by default.
        form: The matrices W as they are, lazy, (I + W) / 2, or damped, (1 - a) I + a W.
        damping: a of the damped form.
        draw: Whether to draw each graph; a run directory that is named has the drawings too.
    """

    n: tuple[int, ...] = opt(
        (8, 16, 64), help="Numbers of ranks, with commas.", ge=1, le=MOST_RANKS, metavar="N[,N]"
    )
    graph: tuple[str, ...] = opt(
        (),
        help="Only these, with commas, as in ring,lattice-4,file:PATH; one of every family by "
        "default.",
        metavar="NAMES",
    )
    weights: WeightsName = opt("default", help="Rule of the weights; by default the family's own.")
    form: FormName = opt("plain", help="W, lazy (I + W) / 2 or damped (1 - a) I + a W.")
    damping: float = opt(0.5, help="The a of the damped form.", gt=0, le=1)
    draw: bool = opt(False, help="Draw each graph into a run directory; --out DIR draws too.")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_ranks(self.n)
        check_graphs(self.graph)
