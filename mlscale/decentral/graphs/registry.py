"""Graphs by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.errors import UserError
from mlscale.decentral.graphs import circles, grids
from mlscale.decentral.graphs.edge_list import read_graph
from mlscale.decentral.graphs.finite import base_graph
from mlscale.decentral.graphs.matching import Matching
from mlscale.decentral.graphs.mixing import Graph, Periodic
from mlscale.decentral.graphs.names import GraphName, parse_name
from mlscale.decentral.graphs.offsets import equi_static
from mlscale.decentral.graphs.weights import damped, metropolis, uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.decentral.graphs.links import Links
    from mlscale.decentral.graphs.mixing import Mixing
    from mlscale.decentral.graphs.names import FormName, WeightsName

STATIC: dict[str, Callable[[int], Links]] = {
    "complete": circles.complete,
    "ring": circles.ring,
    "torus": grids.torus,
    "grid": grids.grid,
    "exp": circles.exponential,
    "exp_sym": circles.exponential_both_ways,
    "hypercube": grids.hypercube,
    "star": grids.star,
}


def make_graph(
    name: str,
    num_ranks: int,
    *,
    weights: WeightsName = "default",
    form: FormName = "plain",
    damping: float = 0.5,
    seed: int = 0,
) -> Graph:
    """Return a graph.

    Args:
        name: As in "ring", "lattice-4", "base-3", "equi-4" or "file:PATH".
        num_ranks: N, at least 1.
        weights: The rule that gives links their weights; each kind of graph has its default.
        form: The matrices W as they are, lazy, (I + W) / 2, or damped, (1 - a) I + a W.
        damping: a, in (0, 1]; used by the damped form alone.
        seed: Of graphs that are drawn.

    Raises:
        UserError: There is no such graph, not for so many ranks, not with that rule, or its file
            is wrong.
    """
    if num_ranks < 1:
        raise UserError(f"a graph needs at least one rank, not {num_ranks}")
    share = _share(form, damping)
    parsed = parse_name(name)
    if isinstance(parsed, GraphName):
        if parsed.family.stem == "matching":
            return Matching(name, num_ranks, seed, share)
        rounds = _rounds(name, parsed, num_ranks, weights, seed)
    else:
        rounds = list(read_graph(parsed, num_ranks, weights).rounds)
    if share < 1:
        rounds = [damped(mixing, share) for mixing in rounds]
    return Periodic(name, tuple(rounds))


def _share(form: FormName, damping: float) -> float:
    """Return a of (1 - a) I + a W."""
    if form == "plain":
        return 1.0
    if form == "lazy":
        return 0.5
    if not 0 < damping <= 1:
        raise UserError(f"damping is {damping:g}, not above 0 and up to 1", "0.5 is the lazy form")
    return damping


def _rounds(
    name: str, parsed: GraphName, num_ranks: int, weights: WeightsName, seed: int
) -> list[Mixing]:
    """Return the rounds of a named graph with a period."""
    family, number = parsed.family, parsed.number
    if family.weights == "own":
        if weights != "default":
            raise UserError(
                f"{name} has weights of its own, which the {weights} rule would spoil",
                "leave the rule out",
            )
        if family.stem == "base":
            return base_graph(num_ranks, number - 1)
        return [equi_static(num_ranks, number, seed)]
    if family.stem == "onepeer":
        rounds = circles.one_peer(num_ranks)
    elif family.stem == "lattice":
        rounds = [circles.lattice(num_ranks, number)]
    else:
        rounds = [STATIC[family.stem](num_ranks)]
    if (family.weights if weights == "default" else weights) == "metropolis":
        return [metropolis(links, name) for links in rounds]
    return [uniform(links) for links in rounds]
