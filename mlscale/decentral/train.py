"""`mlscale decentral train`: replicas that average with their neighbours, and one mean model."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from mlscale.core.devices import resolve_device
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.results import Metric, Result
from mlscale.core.torchrun import torchrun_world
from mlscale.decentral.kept import kept_mean
from mlscale.decentral.observer import Observer
from mlscale.decentral.processes import train_in_processes
from mlscale.decentral.setup import make_setup
from mlscale.decentral.simulate import simulate
from mlscale.decentral.together import check_world, joined, own_device
from mlscale.decentral.train_together import train_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.decentral.config import TrainConfig
    from mlscale.decentral.setup import Setup

    Engine = Callable[[Setup, Run, Observer], None]

ENGINES: dict[str, Engine] = {"processes": train_in_processes, "simulate": simulate}
REPORTED = {
    "accuracy": "share of test targets, mean model",
    "local_accuracy": "share of test targets, mean of replicas",
    "test_loss": "nats, mean model",
    "disagreement": "mean squared distance from the mean",
    "gini": "of tensor norms over replicas before mixing",
    "sent_bytes_per_step": "bytes a replica",
}


def run(config: TrainConfig, run: Run) -> Result:
    """Train, and export the mean model.

    Raises:
        UserError: Task, graph and algorithm do not go together, or there are too few GPUs.
        WorkFailed: A loss became NaN or infinite, or a replica is gone; checkpoints are kept.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the last epoch was saved.
    """
    import torch

    torch.set_num_threads(1)
    world = torchrun_world()
    if world is None:
        run.device = choose_device(config)
        return _train(config, run, ENGINES[config.engine])
    check_world(config, world)
    run.device = own_device(config, world)
    with joined(world, run.device, config.silence_limit_s) as store:
        return _train(config, run, functools.partial(train_together, world=world, store=store))


def _train(config: TrainConfig, run: Run, engine: Engine) -> Result:
    setup = make_setup(config)
    for warning in setup.warnings:
        run.note(warning)
    run.note(setup.task.source.sentence())
    if config.engine == "processes" and run.device == "cpu":
        run.note(f"no GPU is used: {config.gpus} replicas are CPU processes that talk over gloo")
    if config.judged < config.gpus:
        run.note(
            f"the accuracy of replicas by themselves is that of {config.judged} of "
            f"{config.gpus:,}, chosen evenly"
        )
    observer = Observer(setup, run, run.device)
    try:
        engine(setup, run, observer)
    except WorkFailed as error:
        error.partial = result_of(setup, run, "failed")
        raise
    if run.path is not None and not observer.has_measured:  # resumed after its last epoch
        observer.mean_model.load(kept_mean(run.path / "checkpoints"))
    run.write("model.safetensors", observer.mean_model.exported())
    return result_of(setup, run, "complete")


def choose_device(config: TrainConfig) -> str:
    """Return the device of the replicas: "cpu", or "cuda" where there is a GPU for each.

    Raises:
        UserError: There are GPUs, and too few, or replicas may fall out.
    """
    import torch

    device = resolve_device(config.device)
    if config.engine == "simulate" or not device.startswith("cuda"):
        return device if config.engine == "simulate" else "cpu"
    if config.on_failure == "continue":
        raise UserError(
            "exchanges between GPUs end with any of them, so none can go on",
            "use --on-failure stop, or --device cpu for CPU processes",
        )
    found = torch.cuda.device_count()
    if found < config.gpus:
        raise UserError(
            f"--gpus {config.gpus} asks for more GPUs than the {found} here",
            f"use --gpus {found}, or --device cpu for CPU processes",
        )
    return "cuda"


def result_of(setup: Setup, run: Run, status: Status) -> Result:
    """Return the result of the epochs that a run has recorded."""
    last = run.records[-1] if run.records else {}
    return Result(
        study=run.study,
        metrics={
            name: Metric(last[name], unit, 1) for name, unit in REPORTED.items() if name in last
        },
        protocol=protocol_of(setup),
        tables={"epochs": run.records},
        status=status,
    )


def protocol_of(setup: Setup) -> dict[str, Any]:
    """Return what the numbers hold under."""
    config = setup.config
    return {
        "task": config.task,
        "source": setup.task.source.to_json(),
        "graphs": [
            {"epoch": epoch + 1, "graph": graph.name} for epoch, graph in setup.topology.stages
        ],
        "algorithm": config.algorithm,
        "replicas": config.gpus,
        "replicas_judged": len(setup.judged(config.epochs - 1)),
        "engine": config.engine,
        "batch_per_replica": setup.batch,
        "steps_per_epoch": setup.steps_per_epoch,
        "train_examples": sum(map(len, setup.parts)),
        "test_examples": len(setup.task.test),
    }
