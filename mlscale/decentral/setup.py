"""What every process of a training works out from the configuration alone, all the same.

Shape letters: N replicas; B examples of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlscale.core.seeding import derive_seed, generator
from mlscale.decentral.algorithms.fits import check_fits, check_goes_on
from mlscale.decentral.algorithms.registry import find_algorithm, make_algorithm
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.lr_scaling import lr_at
from mlscale.decentral.partition import (
    batch_indices,
    common_batch,
    dirichlet,
    iid,
    steps_per_epoch,
)
from mlscale.decentral.tasks.base import Task
from mlscale.decentral.tasks.registry import make_task
from mlscale.decentral.topology import Topology, topology_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor

    from mlscale.decentral.graphs.mixing import Mixing
    from mlscale.decentral.mixer import Mixer
    from mlscale.decentral.trainer import Replicas, Trainer


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """A training before its first step.

    Args:
        config: The settings.
        task: What is learned.
        parts: The examples of each replica.
        batch: Examples of a batch.
        steps_per_epoch: Steps of an epoch, the same for all replicas.
        topology: The graphs.
        warnings: What the user should know of them.
    """

    config: TrainConfig
    task: Task
    parts: Sequence[NDArray[np.int64]]
    batch: int
    steps_per_epoch: int
    topology: Topology
    warnings: tuple[str, ...]

    @property
    def round_at(self) -> Callable[[int], Mixing]:
        """The round of a step with the weights that the algorithm uses."""
        return self.topology.prepared(find_algorithm(self.config.algorithm).prepared)

    def lr(self, step: int) -> float:
        """Return the learning rate of a step, from 0."""
        config, epoch = self.config, step / self.steps_per_epoch
        lr = lr_at(
            epoch,
            base_lr=config.lr,
            num_replicas=config.gpus,
            rule=config.lr_scaling,
            warmup_epochs=config.warmup_epochs,
        )
        if config.schedule == "constant" or epoch < config.warmup_epochs:
            return lr
        done = (epoch - config.warmup_epochs) / max(config.epochs - config.warmup_epochs, 1e-9)
        return lr * (1 + math.cos(math.pi * done)) / 2

    def judged(self, epoch: int) -> list[int]:
        """Return the replicas whose own accuracy is measured after an epoch, from 0."""
        config = self.config
        if (epoch + 1) % config.judged_every_epochs and epoch + 1 < config.epochs:
            return []
        return evenly(config.gpus, config.judged)

    def trainer(self, replicas: Replicas, mixer: Mixer) -> Trainer:
        """Return what takes the steps of some replicas."""
        from mlscale.decentral.trainer import Trainer

        config = self.config
        algorithm = make_algorithm(config.algorithm, replicas.x.detach(), mixer, codec=config.codec)
        optimizer = make_optimizer(config, replicas.parameters)
        return Trainer(replicas, algorithm, optimizer, config.max_grad_norm)

    def batches(self, rank: int, epoch: int) -> Batches:
        """Return the batches of a replica's epoch."""
        return Batches(self, rank, epoch)


class Batches:
    """The batches of one replica in one epoch.

    Args:
        setup: Of the training.
        rank: Whose.
        epoch: From 0.
    """

    def __init__(self, setup: Setup, rank: int, epoch: int) -> None:
        import torch

        seed = setup.config.seed
        self._task = setup.task
        self._index = batch_indices(setup.parts[rank], epoch, seed, rank, setup.batch)
        self._rng = torch.Generator()
        self._rng.manual_seed(derive_seed(seed, "augment", rank, epoch))

    def take(self, step: int) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of a step of the epoch, to be taken in order."""
        x_B, y_B = self._task.train.take(self._index[step])
        return self._task.augment(x_B, self._rng), y_B


def make_setup(config: TrainConfig) -> Setup:
    """Return a training before its first step.

    Raises:
        UserError: The task, the graph or how they go together is wrong.
    """
    task = make_task(
        config.task, data_dir=config.data_dir, max_train=config.max_train, seed=config.seed
    )
    parts = split_examples(config, task)
    batch = common_batch(parts, config.batch)
    steps = steps_per_epoch(parts, batch)
    topology = topology_of(config, steps)
    warnings = check_fits(config.algorithm, [graph for _, graph in topology.stages])
    if config.on_failure == "continue":
        check_goes_on(config.algorithm)
    return Setup(config, task, parts, batch, steps, topology, tuple(warnings))


def split_examples(config: TrainConfig, task: Task) -> list[NDArray[np.int64]]:
    """Return which training examples each replica has.

    Raises:
        UserError: There are too few, or no labels to skew them by.
    """
    from mlscale.core.errors import UserError

    rng = generator(config.seed, "split")
    if config.split == "iid":
        return iid(len(task.train), config.gpus, rng)
    if task.train.labels is None:
        raise UserError(f"the examples of {task.name} have no labels", "use --split iid")
    return dirichlet(task.train.labels, config.gpus, config.alpha, rng)


def make_optimizer(config: TrainConfig, parameters: Sequence[Tensor]) -> torch.optim.Optimizer:
    """Return the optimizer of some replicas; plain SGD where the algorithm has a momentum."""
    import torch

    common: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    if config.optimizer == "sgd":
        has_own = find_algorithm(config.algorithm).own_momentum
        momentum = 0.0 if has_own else config.momentum
        return torch.optim.SGD(parameters, momentum=momentum, **common)
    kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
    return kind(parameters, **common)


def evenly(num_replicas: int, most: int) -> list[int]:
    """Return at most so many replicas, spread evenly from rank 0 on; all where they are fewer."""
    count = min(num_replicas, most)
    return [k * num_replicas // count for k in range(count)]


def stacked(batches: Sequence[Batches], step: int) -> tuple[Tensor, Tensor]:
    """Return the batches of all replicas in one step, (N, B, ...) each."""
    import torch

    inputs, targets = zip(*(one.take(step) for one in batches), strict=True)
    return torch.stack(inputs), torch.stack(targets)
