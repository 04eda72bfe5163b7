"""`mlscale rl train`: trains one agent, with checkpoints that it goes on from exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.results import Metric, Result
from mlscale.rl.dqn.loop import Budget, train
from mlscale.rl.dqn.parts import flat_parts
from mlscale.rl.dqn.room import note_scarce_memory
from mlscale.rl.dqn.success import success_of
from mlscale.rl.dqn.summary import UNITS, summarise
from mlscale.rl.dqn.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.rl.dqn.config import TrainConfig


def run(config: TrainConfig, run: Run) -> Result:
    """Train up to `config.steps` environment steps, from the last checkpoint where there is one.

    Raises:
        UserError: The environment is unknown or of the wrong kind, or the replay too large.
        WorkFailed: A loss became NaN or infinite; the checkpoints before it are kept.
    """
    import torch

    torch.set_num_threads(1)  # small networks: faster, and the same sums on every machine
    parts = flat_parts(config, config.agent)
    note_scarce_memory(parts.experience.memory, config.steps, run)
    trainer = Trainer(config, config.agent, parts)
    budget = Budget(
        steps=config.steps,
        checkpoint_every_steps=config.checkpoint_every_steps,
        lanes=config.lanes,
    )

    def result(status: Status) -> Result:
        return result_of(config, run, status, budget.describe(trainer.step, config.steps))

    return train(trainer, budget, run, result)


def result_of(config: TrainConfig, run: Run, status: Status, trained: Mapping[str, int]) -> Result:
    """Return the result of the episodes that a run has recorded.

    Args:
        config: The settings.
        run: The run.
        status: How training ended.
        trained: How long it was.
    """
    summary = summarise(run.records)
    return Result(
        study=run.study,
        metrics={
            name: Metric(value, UNITS[name], 1)
            for name, value in summary.items()
            if value is not None
        },
        protocol={
            "env": config.env,
            **trained,
            "success": success_of(config.env).describe(),
            "returns": "of training episodes, exploratory actions included",
        },
        status=status,
    )
