"""`mlscale decentral graphs`: what graphs are like, and drawings of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.decentral.graphs.connected import check_connected
from mlscale.decentral.graphs.names import FAMILIES, FILE_ABOUT
from mlscale.decentral.graphs.properties import measure
from mlscale.decentral.graphs.registry import make_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlscale.core.runs import Run
    from mlscale.decentral.graphs.mixing import Graph
    from mlscale.decentral.graphs_config import GraphsConfig

PROTOCOL = {
    "degree": "the most others that a rank hears in a round",
    "gap": "the share of the distance to the mean that a round takes away at least",
    "rounds": "until a thousandth of the distance is left",
    "disagreement": "mean square distance to the mean when unit noise comes in each round",
    "effective": "effective neighbours, a value keeping 0.9 of itself each round",
    "exact": "rounds that leave exactly the mean",
}
"""What the columns of the table mean; of several rounds the gap is that of the mean one."""


def run(config: GraphsConfig, run: Run) -> Result:
    """Return the properties of every graph at every number of ranks; draw them if there is room."""
    graphs = list(_graphs(config, run))
    rows = []
    for done, graph in enumerate(graphs):
        run.reporter.progress(done, len(graphs), f"measuring {graph.name}, n = {graph.num_ranks}")
        rows.append(_row(graph))
    if run.path is not None:
        _draw(graphs, run)
    families = [{"graph": family.pattern, "about": family.about} for family in FAMILIES]
    families.append({"graph": "file:PATH", "about": FILE_ABOUT})
    return Result(study=run.study, protocol=PROTOCOL, tables={"graphs": rows, "families": families})


def _graphs(config: GraphsConfig, run: Run) -> Iterator[Graph]:
    """Return the graphs asked for; a family that has none of so many ranks is left out."""
    for num_ranks in config.n:
        for name in config.graph or [family.named() for family in FAMILIES]:
            try:
                graph = make_graph(
                    name,
                    num_ranks,
                    weights=config.weights,
                    form=config.form,
                    damping=config.damping,
                    seed=config.seed,
                )
            except UserError as error:
                if config.graph:
                    raise
                run.note(f"{name} left out at n = {num_ranks}: {error.message}")
                continue
            if name in config.graph:
                check_connected(graph)
            yield graph


def _row(graph: Graph) -> dict[str, Any]:
    found = measure(graph)
    return {
        "n": graph.num_ranks,
        "graph": graph.name,
        "period": graph.period,
        "degree": found.degree,
        "sends": found.sends,
        "rho": found.rho_round,
        "gap": found.gap,
        "rounds": found.rounds,
        "lambda_min": found.lambda_min,
        "disagreement": found.disagreement,
        "effective_neighbours": found.effective[0.9],
        "effective_neighbours_99": found.effective[0.99],
        "symmetric": found.is_symmetric,
        "keeps_mean": found.keeps_mean,
        "exact_after": found.exact_after,
    }


def _draw(graphs: list[Graph], run: Run) -> None:
    from mlscale.decentral.drawing import draw_graph  # matplotlib, which a listing needs not

    for done, graph in enumerate(graphs):
        run.reporter.progress(done, len(graphs), f"drawing {graph.name}, n = {graph.num_ranks}")
        draw_graph(graph, run)
