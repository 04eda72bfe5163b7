"""Settings of `mlscale decentral train`. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlscale.core.config import BadValue, Seeded, check_fields, opt
from mlscale.core.devices import check_device_name
from mlscale.core.torchrun import torchrun_size
from mlscale.decentral.graphs.names import FormName, WeightsName
from mlscale.decentral.lr_scaling import LrRule

EngineName = Literal["processes", "simulate"]
AlgorithmName = Literal[
    "atc", "awc", "sgp", "qg-dsgdm", "decentlam", "tracking", "d2", "choco", "pga", "local",
    "diloco", "allreduce",
]  # fmt: skip
CodecName = Literal["top-k", "sign", "quantise"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(Seeded):
    """What is learned and how, whatever the graph.

    Args:
        task: What is learned, as `make_task` takes it.
        data_dir: Folder with the task's data.
        max_train: Training examples kept.
        k0: Ada's neighbours at first.
        gamma: Neighbours that Ada loses in an epoch, as in 0.5 or 1/3.
        codec: What choco sends.
        epochs: Passes over the data.
        batch: Examples of a replica's batch.
        optimizer: Of each replica.
        lr: Learning rate of one replica.
        momentum: Of sgd, where the algorithm has none of its own.
        weight_decay: Of the optimizer.
        lr_scaling: How the learning rate grows with the replicas.
        warmup_epochs: Epochs until it is whole.
        schedule: How it falls after that.
        max_grad_norm: Norm that gradients are scaled down to.
        split: How examples are divided between replicas.
        alpha: Concentration of the dirichlet split.
        silence_limit_s: Seconds without a sign of life after which a process is given up.
        device: Where replicas compute.
    """

    task: str = opt("digits", help="What is learned: digits, fashion_mnist, text-gpt, ...")
    data_dir: Path | None = opt(None, help="Folder with the task's data.")
    max_train: int | None = opt(None, help="Training examples kept.", ge=1)
    k0: int | None = opt(None, help="Ada's neighbours at first.", ge=1, flag=False)
    gamma: str | None = opt(None, help="Neighbours Ada loses in an epoch.", flag=False)
    codec: CodecName = opt("top-k", help="What choco sends.", flag=False)
    epochs: int = opt(30, help="Passes over the data.", ge=1)
    batch: int = opt(16, help="Examples of a replica's batch.", ge=1)
    optimizer: Literal["sgd", "adam", "adamw"] = opt("sgd", help="Of each replica.")
    lr: float = opt(0.05, help="Learning rate of one replica.", gt=0)
    momentum: float = opt(0.9, help="Of sgd.", ge=0, le=1, flag=False)
    weight_decay: float = opt(1e-4, help="Of the optimizer.", ge=0, flag=False)
    lr_scaling: LrRule = opt("none", help="How the rate grows with replicas.")
    warmup_epochs: float = opt(0.0, help="Epochs until it is whole.", ge=0, flag=False)
    schedule: Literal["cosine", "constant"] = opt("cosine", help="How the rate falls.", flag=False)
    max_grad_norm: float | None = opt(None, help="Largest norm of gradients.", gt=0, flag=False)
    split: Literal["iid", "dirichlet"] = opt("iid", help="How examples are divided.")
    alpha: float = opt(0.5, help="Concentration of the dirichlet split.", gt=0)
    silence_limit_s: float = opt(
        600.0, help="Seconds of silence to bear.", gt=0, flag=False, may_change=True
    )
    device: str = opt("auto", help="auto, cpu or cuda.", may_change=True)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_device_name(self.device)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig(Recipe):
    """Settings of `mlscale decentral train`.

    Args:
        graph: As `make_graph` takes it, or ada.
        weights: The rule of the graph's weights.
        form: Whether the matrices are used as they are or half-way to doing nothing.
        algorithm: How replicas descend and mix.
        gpus: Replicas: one per GPU, or CPU processes where there is no GPU.
        engine: A process for each replica, or all in this process.
        on_failure: Whether replicas go on without one that is gone.
        judged: Replicas whose own accuracy is measured, chosen evenly; the mean model's always is.
        judged_every_epochs: Epochs between those measurements; the last epoch always has one.
    """

    graph: str = opt("exp", help="exp, ring, torus, onepeer, lattice-4, ada, file:PATH, ...")
    weights: WeightsName = opt("default", help="Rule of the graph's weights.")
    form: FormName = opt("plain", help="Matrices W, or lazy: (I + W) / 2.")
    algorithm: AlgorithmName = opt(
        "atc",
        help="atc, awc, sgp, qg-dsgdm, decentlam, tracking, d2, choco, pga, local, diloco or "
        "allreduce.",
        metavar="NAME",
    )
    gpus: int = opt(
        8, help="Replicas: one per GPU; CPU processes without any.", ge=1, found=torchrun_size
    )
    engine: EngineName = opt("processes", help="Processes, or all replicas in this one.")
    on_failure: Literal["stop", "continue"] = opt(
        "stop", help="When a replica's process ends: stop, or go on without it.", may_change=True
    )
    judged: int = opt(64, help="Replicas measured by themselves.", ge=1, flag=False)
    judged_every_epochs: int = opt(1, help="Epochs between that.", ge=1, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        check_device_name(self.device)
        if self.on_failure == "continue" and self.engine == "simulate":
            raise BadValue(("on_failure",), "is for processes: a simulation has one", has_flag=True)
