"""Which round of averaging a training step has, and whether an algorithm can use it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError
from mlscale.core.seeding import derive_seed
from mlscale.decentral import ada
from mlscale.decentral.graphs.connected import check_connected
from mlscale.decentral.graphs.names import FormName, WeightsName
from mlscale.decentral.graphs.registry import make_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.decentral.config import TrainConfig
    from mlscale.decentral.graphs.mixing import Graph, Mixing

ADA = "ada"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphChoice:
    """What a user says of the graph.

    Args:
        name: As `make_graph` takes it, or "ada".
        num_ranks: N.
        weights: As for `make_graph`.
        form: As for `make_graph`.
        seed: Of graphs that are drawn.
        k0: Ada's neighbours at first; None for the default.
        gamma: Neighbours that Ada loses in an epoch, exactly; None for the default.
    """

    name: str
    num_ranks: int
    weights: WeightsName = "default"
    form: FormName = "plain"
    seed: int = 0
    k0: int | None = None
    gamma: Fraction | str | None = None


class Topology:
    """The graphs of a training's epochs.

    Args:
        stages: The first epoch of each graph, beginning with 0, and the graph.
        steps_per_epoch: Training steps of an epoch.
    """

    def __init__(self, stages: list[tuple[int, Graph]], steps_per_epoch: int) -> None:
        self.stages, self._steps_per_epoch = stages, steps_per_epoch

    def graph_of(self, epoch: int) -> Graph:
        """Return an epoch's graph."""
        return [graph for first, graph in self.stages if first <= epoch][-1]

    def at(self, step: int) -> Mixing:
        """Return the round of a training step, from 0."""
        return self.graph_of(step // self._steps_per_epoch).at(step)

    def prepared(self, change: Callable[[Mixing], Mixing]) -> Callable[[int], Mixing]:
        """Return the rounds of training steps with the weights an algorithm uses instead."""
        known = functools.lru_cache(maxsize=64)(change)
        return lambda step: known(self.at(step))


def make_topology(choice: GraphChoice, num_epochs: int, steps_per_epoch: int) -> Topology:
    """Return the graphs of a training.

    Args:
        choice: What the user says.
        num_epochs: Epochs of the training.
        steps_per_epoch: Training steps of an epoch.

    Raises:
        UserError: There is no such graph, or some ranks never hear of others.
    """
    named: list[tuple[int, str]] = [(0, choice.name)]
    if choice.name == ADA:
        k0 = ada.default_k0(choice.num_ranks) if choice.k0 is None else choice.k0
        gamma = ada.default_gamma(k0, num_epochs) if choice.gamma is None else choice.gamma
        named = [
            (stage.epoch, stage.graph)
            for stage in ada.stages(num_epochs, choice.num_ranks, k0, gamma)
        ]
    elif choice.k0 is not None or choice.gamma is not None:
        raise UserError(f"{choice.name} does not shrink", "k0 and gamma are for --graph ada")
    graphs = [
        (
            epoch,
            make_graph(
                name,
                choice.num_ranks,
                weights=choice.weights,
                form=choice.form,
                seed=choice.seed,
            ),
        )
        for epoch, name in named
    ]
    for _, graph in graphs:
        check_connected(graph)
    return Topology(graphs, steps_per_epoch)


def topology_of(config: TrainConfig, steps_per_epoch: int = 1) -> Topology:
    """Return the graphs of a training as its settings ask for them.

    Raises:
        UserError: There is no such graph, or some ranks never hear of others.
    """
    choice = GraphChoice(
        name=config.graph,
        num_ranks=config.gpus,
        weights=config.weights,
        form=config.form,
        seed=derive_seed(config.seed, "graph"),
        k0=config.k0,
        gamma=config.gamma,
    )
    return make_topology(choice, config.epochs, steps_per_epoch)
