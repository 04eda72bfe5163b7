"""`mlscale rl train`: trains one agent, with checkpoints that it goes on from exactly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint, save_checkpoint
from mlscale.core.errors import WorkFailed
from mlscale.core.results import Metric, Result
from mlscale.rl.dqn.success import success_of
from mlscale.rl.dqn.summary import UNITS, summarise
from mlscale.rl.dqn.trainer import Trainer

if TYPE_CHECKING:
    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.rl.dqn.config import TrainConfig
    from mlscale.rl.dqn.trainer import Episode

REPORT_EVERY_STEPS = 1_000


def run(config: TrainConfig, run: Run) -> Result:
    """Train up to `config.steps` environment steps, from the last checkpoint where there is one.

    Raises:
        UserError: The environment is unknown or of the wrong kind.
        WorkFailed: A loss became NaN or infinite; the checkpoints before it are kept.
    """
    import torch

    torch.set_num_threads(1)  # small networks: faster, and the same sums on every machine
    trainer = Trainer(config, config.agent)
    try:
        _resume(trainer, config, run)
        _train(trainer, config, run)
    except WorkFailed as error:
        kept = _checkpoints(run, config.steps)
        where = f"the last checkpoint is that of step {kept[-1]:,}" if kept else "no checkpoint yet"
        failure = WorkFailed(f"step {trainer.step:,}: {error.message}; {where}", error.hint)
        failure.partial = result_of(config, run, "failed")
        raise failure from error
    finally:
        trainer.close()
    return result_of(config, run, "complete")


def result_of(config: TrainConfig, run: Run, status: Status) -> Result:
    """Return the result of the episodes that a run has recorded."""
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
            "steps": config.steps,
            "success": success_of(config.env).describe(),
            "returns": "of training episodes, exploratory actions included",
        },
        status=status,
    )


def _train(trainer: Trainer, config: TrainConfig, run: Run) -> None:
    progress = _Progress(run, trainer.step, config.steps)
    saved_at = trainer.step
    while trainer.step < config.steps:
        for episode in trainer.advance():
            run.log(episode.record())
            progress.take(episode)
        if trainer.step // REPORT_EVERY_STEPS != progress.step // REPORT_EVERY_STEPS:
            progress.show(trainer.step)
        if trainer.step - saved_at >= config.checkpoint_every_steps:
            saved_at = trainer.step
            _save(trainer, run)
    if trainer.step > saved_at:
        _save(trainer, run)


def _save(trainer: Trainer, run: Run) -> None:
    if run.path is not None:
        tensors, state = trainer.saved()
        state["num_records"] = len(run.records)
        save_checkpoint(run.path / "checkpoints", trainer.step, tensors, state)


def _resume(trainer: Trainer, config: TrainConfig, run: Run) -> None:
    """Put the trainer where the last checkpoint was, and the log back to it."""
    steps = _checkpoints(run, config.steps)
    if run.path is None or not steps:
        run.rewind(0)
        return
    tensors, state = load_checkpoint(run.path / "checkpoints", steps[-1])
    trainer.load(tensors, state)
    run.rewind(int(state["num_records"]))
    run.note(f"goes on from the checkpoint of step {trainer.step:,}")


def _checkpoints(run: Run, limit: int) -> list[int]:
    """Return the steps of the run's checkpoints within the budget."""
    steps = checkpoint_steps(run.path / "checkpoints") if run.path is not None else []
    return [step for step in steps if step <= limit]


class _Progress:
    """Tells the reporter how far training is, how fast, and how the last episodes went."""

    def __init__(self, run: Run, step: int, total: int) -> None:
        self._reporter, self._total = run.reporter, total
        self._began_step, self._began_s = step, time.monotonic()
        self.step = step
        self._last: list[Episode] = []

    def take(self, episode: Episode) -> None:
        """Take in a finished episode."""
        self._last = [*self._last[-9:], episode]

    def show(self, step: int) -> None:
        """Report the present step."""
        self.step = step
        rate = (step - self._began_step) / max(time.monotonic() - self._began_s, 1e-3)
        self._reporter.progress(step, self._total, f"{rate:,.0f} steps/s{self._episodes()}")

    def _episodes(self) -> str:
        if not self._last:
            return ""
        newest = self._last[-1]
        numbers: dict[str, Any] = {
            "return": sum(episode.episode_return for episode in self._last) / len(self._last),
            "epsilon": newest.epsilon,
            "loss": newest.loss,
            "novelty": newest.novelty,
        }
        shown = [f"{name} {value:.3g}" for name, value in numbers.items() if value is not None]
        return ", " + ", ".join(shown)
