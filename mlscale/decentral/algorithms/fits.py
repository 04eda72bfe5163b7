"""Which algorithms converge on which graphs: refused before launch, with the mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.errors import UserError
from mlscale.decentral.algorithms.registry import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mlscale.decentral.graphs.mixing import Graph, Mixing

SYMMETRIC_ONLY = {"decentlam": "DecentLaM", "d2": "D2"}
GRAPHLESS = {"local", "diloco", "allreduce"}
D2_SMALLEST = -1 / 3
CLOSE = 1e-9
MANY_ROUNDS = 64


def check_fits(algorithm: str, graphs: Sequence[Graph]) -> list[str]:
    """Refuse graphs that do not fit an algorithm when a training goes from one to the next.

    Args:
        algorithm: As in `ALGORITHMS`.
        graphs: One after another.

    Returns:
        Warnings, none twice.

    Raises:
        UserError: They do not fit; the hint says what would.
    """
    if algorithm == "choco" and len(graphs) > 1:
        raise UserError(
            "choco needs the same neighbours in every step, and the graph changes with the epochs",
            "choose a graph of one round, as exp or ring",
        )
    warnings = [warning for graph in graphs for warning in check_fit(algorithm, graph)]
    return list(dict.fromkeys(warnings))


def check_goes_on(algorithm: str) -> None:
    """Refuse an algorithm that cannot go on when a replica is gone.

    D2, gradient tracking and CHOCO-SGD keep sums whose parts cancel only as long as all are there:
    the others would drift for ever.

    Raises:
        UserError: It cannot.
    """
    if ALGORITHMS[algorithm].needs_all:
        can = [name for name, kind in ALGORITHMS.items() if not kind.needs_all]
        raise UserError(
            f"{algorithm} cannot go on when a replica is gone: it counts on all of them",
            f"use --on-failure stop, or one of {', '.join(can)}",
        )


def check_fit(algorithm: str, graph: Graph) -> list[str]:
    """Refuse a graph on which an algorithm diverges or ends away from the mean.

    Args:
        algorithm: As in `ALGORITHMS`.
        graph: The graph; of one without a period the first rounds are looked at.

    Returns:
        Warnings.

    Raises:
        UserError: The two do not fit; the hint says what would.
    """
    if algorithm in GRAPHLESS:
        return []
    rounds = [graph.at(step) for step in range(graph.period or MANY_ROUNDS)]
    if algorithm != "sgp":
        _check_mean_is_kept(algorithm, graph, rounds)
    if algorithm in SYMMETRIC_ONLY and not all(one.is_symmetric for one in rounds):
        raise UserError(
            f"{SYMMETRIC_ONLY[algorithm]} diverges on {graph.name}, which is not symmetric",
            "choose a symmetric graph, as exp_sym, torus or ring, or --algorithm sgp or tracking",
        )
    if algorithm == "choco" and len(rounds) > 1:
        raise UserError(
            f"choco needs the same neighbours in every step, and {graph.name} changes them",
            "choose a graph of one round, as exp or ring",
        )
    return _check_eigenvalues(graph, rounds) if algorithm == "d2" else []


def _check_mean_is_kept(algorithm: str, graph: Graph, rounds: Iterable[Mixing]) -> None:
    if all(one.is_row_stochastic and one.is_column_stochastic for one in rounds):
        return
    symmetric = all(_is_undirected(one) for one in rounds)
    mend = "--weights metropolis" if symmetric else "--algorithm sgp, which is for directed graphs"
    raise UserError(
        f"on {graph.name} some ranks count more than others, and {algorithm} would not train the "
        f"mean",
        f"use {mend}",
    )


def _is_undirected(mixing: Mixing) -> bool:
    links_NN = mixing.dense() != 0
    return bool((links_NN == links_NN.T).all())


def _check_eigenvalues(graph: Graph, rounds: Iterable[Mixing]) -> list[str]:
    """Refuse or warn of eigenvalues of -1/3 or less, for D2."""
    smallest = min(float(np.linalg.eigvalsh(one.dense())[0]) for one in rounds)
    if smallest < D2_SMALLEST - CLOSE:
        raise UserError(
            f"D2 diverges on {graph.name} with {graph.num_ranks} ranks: its smallest eigenvalue "
            f"is {smallest:.3g}, below -1/3",
            "use --form lazy",
        )
    if smallest < D2_SMALLEST + CLOSE:
        return [f"the smallest eigenvalue of {graph.name} is -1/3, the last that D2 bears"]
    return []
