"""What a training has learned, read back from its run directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint
from mlscale.core.config import from_dict
from mlscale.core.errors import UserError
from mlscale.core.runs import read_run
from mlscale.core.seeding import generator
from mlscale.rl.dqn.config import TrainConfig
from mlscale.rl.dqn.networks import Mirror, load_weights, make_value_network

if TYPE_CHECKING:
    from pathlib import Path


def find_training(path: Path) -> tuple[TrainConfig, int]:
    """Return the settings of a training and the step of its newest checkpoint.

    Raises:
        UserError: The run is not a training, or has no checkpoint yet.
    """
    stored = read_run(path)
    if stored.study != "rl.train":
        raise UserError(
            f"{path} is a run of {stored.study}, not of rl.train", "train with `mlscale rl train`"
        )
    steps = checkpoint_steps(path / "checkpoints")
    if not steps:
        raise UserError(f"{path} has no checkpoint yet", f"go on with: mlscale runs resume {path}")
    return from_dict(TrainConfig, stored.config, where=str(path / "config.json")), steps[-1]


def load_values(
    path: Path, step: int, trained: TrainConfig, num_values: int, num_actions: int
) -> Mirror:
    """Return the action values of a checkpoint.

    Args:
        path: The training's run directory.
        step: The checkpoint.
        trained: The training's settings.
        num_values: Values of an observation.
        num_actions: Actions of the environment.

    Raises:
        UserError: The checkpoint is damaged.
    """
    rng = generator(0, "overwritten")
    network = make_value_network(num_values, num_actions, trained.learn, rng)
    tensors, _ = load_checkpoint(path / "checkpoints", step)
    load_weights(network, "online", tensors)
    return Mirror(network)
