"""Settings of `mlscale decentral bench`. Standard library only: `--help` imports this."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from mlscale.core.config import check_fields, opt
from mlscale.core.devices import check_device_name
from mlscale.core.errors import UserError
from mlscale.decentral.config import AlgorithmName, EngineName, Recipe, TrainConfig
from mlscale.decentral.graphs.names import FormName, WeightsName
from mlscale.decentral.plan_config import check_graphs, check_ranks

ADA = "ada"
MOST_REPLICAS = 1024
"""A simulation holds them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchConfig(Recipe):
    """Settings of `mlscale decentral bench`.

    Args:
        graphs: As `make_graph` takes them, or ada.
        n: Numbers of replicas.
        algorithms: Each trains on each graph; all-reduce is always there to compare with.
        seeds: Trainings of each: `seed`, `seed` + 1, ...
        epochs: Passes over the data; the same number of examples at each number of replicas.
        replicas: All of a training in one process, or a process for each.
        engine: Where trainings run.
        workers: Trainings at one time; as many as the cores hold when None.
        weights: The rule of the graphs' weights.
        form: Whether matrices are used as they are or half-way to doing nothing.
        judged: Replicas whose own accuracy is measured, chosen evenly.
        resamples: Bootstrap resamples behind the 95 % intervals.
        report: Whether figures and report.html are drawn.
    """

    graphs: tuple[str, ...] = opt(
        ("complete", "exp", "torus", "ring", "onepeer", ADA),
        help="Graphs to compare, with commas.",
        metavar="NAMES",
    )
    n: tuple[int, ...] = opt(
        (8,), help="Numbers of replicas, with commas.", ge=2, le=MOST_REPLICAS, metavar="N[,N]"
    )
    algorithms: tuple[AlgorithmName, ...] = opt(
        ("atc",),
        help="Algorithms of train, with commas; all-reduce is always compared with.",
        metavar="NAMES",
    )
    seeds: int = opt(5, help="Trainings of each.", ge=1, may_change=True)
    epochs: int = opt(20, help="Passes over the data, at each n the same examples.", ge=1)
    replicas: EngineName = opt("simulate", help="All in one process, or a process for each.")
    engine: Literal["local", "ray"] = opt(
        "local", help="Run trainings in local processes or on Ray.", may_change=True
    )
    workers: int | None = opt(None, help="Trainings at once.", ge=1, may_change=True)
    weights: WeightsName = opt("default", help="Rule of the graphs' weights.", flag=False)
    form: FormName = opt("plain", help="Matrices W, or lazy: (I + W) / 2.", flag=False)
    judged: int = opt(64, help="Replicas measured by themselves.", ge=1, flag=False)
    resamples: int = opt(10_000, help="Resamples.", ge=100, le=1_000_000, flag=False)
    report: bool = opt(True, help="Draw figures and report.html.", flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_device_name(self.device)
        check_ranks(self.n)
        check_graphs(tuple(name for name in self.graphs if name != ADA))
        if self.graphs.count(ADA) > 1:
            raise UserError("the same graph is named twice", "name each once")
        if not self.algorithms or len(set(self.algorithms)) != len(self.algorithms):
            raise UserError("--algorithms must name one or more, each once", "as in atc,tracking")
        if self.replicas == "processes" and self.engine == "ray":
            raise UserError(
                "--replicas processes talk to one another on this machine, not on Ray",
                "use --engine local, or --replicas simulate",
            )

    def training(
        self, algorithm: str, graph: str | None, n: int, *, seed: int, epochs: int
    ) -> TrainConfig:
        """Return the settings of one training.

        Args:
            algorithm: As the user names it.
            graph: As the user names it; None where the algorithm uses none.
            n: Replicas.
            seed: Of this training.
            epochs: Of this training.
        """
        shared: dict[str, Any] = {
            field.name: getattr(self, field.name) for field in dataclasses.fields(Recipe)
        }
        if graph != ADA:
            shared |= {"k0": None, "gamma": None}
        own: dict[str, Any] = {
            "algorithm": algorithm,
            "graph": graph or "complete",
            "gpus": n,
            "seed": seed,
            "epochs": epochs,
            "engine": self.replicas,
            "weights": self.weights if graph else "default",
            "form": self.form if graph else "plain",
            "judged": self.judged,
            "judged_every_epochs": epochs,  # the last alone: it costs more than training does
        }
        return TrainConfig(**(shared | own))
