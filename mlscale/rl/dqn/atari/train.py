"""`mlscale atari train`: trains one agent on one game, with checkpoints it goes on from exactly."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from mlscale.core.allocator import keep_freed_memory
from mlscale.core.devices import resolve_device, resolve_number_format
from mlscale.core.errors import UserError
from mlscale.core.results import Metric, Result
from mlscale.rl.atari.games import parse_games
from mlscale.rl.dqn.atari.config import FRAME_SKIP
from mlscale.rl.dqn.atari.parts import atari_parts
from mlscale.rl.dqn.loop import Budget, train
from mlscale.rl.dqn.room import note_scarce_memory
from mlscale.rl.dqn.summary import UNITS, summarise
from mlscale.rl.dqn.trainer import Trainer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.rl.dqn.atari.config import AtariTrainConfig

REPORTED = ("episodes", "mean_return", "final_return", "best_return")


def run(config: AtariTrainConfig, run: Run) -> Result:
    """Train for `config.frames` emulator frames, from the last checkpoint where there is one.

    Raises:
        UserError: There is no such game, or no such device here, or the replay is too large.
        WorkFailed: A loss became NaN or infinite; the checkpoints before it are kept.
    """
    import torch
    from threadpoolctl import threadpool_limits

    games = parse_games(config.game)
    if len(games) != 1:
        raise UserError("one game is trained on at a time", "for example --game pong")
    config = dataclasses.replace(config, game=games[0].rom_id)  # from Pong or ALE/Pong-v5, too
    torch.set_num_threads(config.threads)
    keep_freed_memory()
    run.device = resolve_device(config.device)
    quickest = resolve_number_format("auto", run.device)
    if config.number_format == "bfloat16" != quickest:
        run.note("no bfloat16 instructions are known here, and emulating them is many times slower")

    def report(done: int, total: int) -> None:
        run.reporter.progress(done, total, "playing the checkpoint's actions again")

    parts = atari_parts(config, run.device, report)
    note_scarce_memory(parts.experience.memory, config.steps, run)
    trainer = Trainer(config, config.agent, parts)
    budget = Budget(
        steps=config.steps,
        checkpoint_every_steps=config.checkpoint_every_frames // FRAME_SKIP,
        unit="frames",
        per_step=FRAME_SKIP,
        lanes=config.lanes,
    )

    def result(status: Status) -> Result:
        return result_of(config, run, status, budget.describe(trainer.step, config.frames))

    with threadpool_limits(config.threads):  # NumPy's own threads
        return train(trainer, budget, run, result)


def result_of(
    config: AtariTrainConfig, run: Run, status: Status, trained: Mapping[str, int]
) -> Result:
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
            for name in REPORTED
            if (value := summary[name]) is not None
        },
        protocol={
            "game": config.game,
            **trained,
            "conditions": config.protocol,
            "number_format": resolve_number_format(config.number_format, run.device),
            "returns": "game points of training episodes, exploratory actions included",
        },
        status=status,
    )
