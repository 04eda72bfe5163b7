"""The outer loop of every training command: go on, log episodes, report, save."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlscale.core.checkpoints import checkpoint_steps, load_checkpoint, save_checkpoint
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.interrupts import deferred_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.core.results import Result, Status
    from mlscale.core.runs import Run
    from mlscale.rl.dqn.trainer import Episode, Trainer

    ResultOf = Callable[[Status], Result]

REPORT_EVERY_STEPS = 1_000
LAST_EPISODES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How long a training is and how it is counted.

    Args:
        steps: Environment steps in all.
        checkpoint_every_steps: Environment steps between checkpoints.
        unit: What progress is counted in.
        per_step: How many of these one environment step is.
        lanes: Environments stepped side by side.
    """

    steps: int
    checkpoint_every_steps: int
    unit: str = "steps"
    per_step: int = 1
    lanes: int = 1

    @property
    def last_step(self) -> int:
        """The step that training ends at: every lane takes its last step with the others."""
        return -(-self.steps // self.lanes) * self.lanes

    def describe(self, trained_steps: int, asked: int) -> dict[str, int]:
        """Return, for a result, how long training was and, where it differs, was to be.

        Args:
            trained_steps: Environment steps trained.
            asked: Units asked for.
        """
        trained = self.per_step * trained_steps
        described = {self.unit: trained}
        return described if trained == asked else {**described, f"{self.unit}_asked": asked}


def train(trainer: Trainer, budget: Budget, run: Run, result_of: ResultOf) -> Result:
    """Train to the end of a budget, from the run's last checkpoint where there is one.

    Args:
        trainer: The training, at its start; closed when this returns.
        budget: How long.
        run: Where episodes are logged and checkpoints are kept.
        result_of: Makes the result, given how the training ended.

    Raises:
        UserError: The run has been trained for longer already; it is left as it was.
        WorkFailed: A loss became NaN or infinite; the checkpoints before it are kept.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the state of that moment is saved.
    """
    try:
        _resume(trainer, budget, run)
        _note_rounding(budget, run)
        _train(trainer, budget, run)
    except WorkFailed as error:
        kept = _checkpoints(run)
        where = f"the last checkpoint is that of step {kept[-1]:,}" if kept else "no checkpoint yet"
        failure = WorkFailed(f"step {trainer.step:,}: {error.message}; {where}", error.hint)
        failure.partial = result_of("failed")
        raise failure from error
    finally:
        trainer.close()
    return result_of("complete")


def _train(trainer: Trainer, budget: Budget, run: Run) -> None:
    progress = _Progress(run, trainer.step, budget)
    saved_at = trainer.step
    with deferred_interrupts() as interrupts:
        while trainer.step < budget.last_step and not interrupts.pending:
            for episode in trainer.advance():
                run.log(episode.record())
                progress.take(episode)
            if trainer.step // REPORT_EVERY_STEPS != progress.step // REPORT_EVERY_STEPS:
                progress.show(trainer.step)
            if trainer.step - saved_at >= budget.checkpoint_every_steps:
                saved_at = trainer.step
                _save(trainer, run)
        if interrupts.pending:
            step = f"{trainer.step:,}"
            run.reporter.note(f"interrupted at step {step}: saving; Ctrl-C again stops without it")
        if trainer.step > saved_at:
            _save(trainer, run)


def _save(trainer: Trainer, run: Run) -> None:
    if run.path is not None:
        tensors, state = trainer.saved()
        state["num_records"] = len(run.records)
        save_checkpoint(run.path / "checkpoints", trainer.step, tensors, state)


def _resume(trainer: Trainer, budget: Budget, run: Run) -> None:
    """Put the trainer where the last checkpoint was, and the log back to it."""
    steps = _checkpoints(run)
    if run.path is None or not steps:
        run.rewind(0)
        return
    if steps[-1] > budget.last_step:  # what it saved would count as older than these
        done = f"{budget.per_step * steps[-1]:,} {budget.unit}"
        raise UserError(
            f"{run.path} has been trained for {done} already",
            "ask for at least as many, or choose another directory with --out DIR",
        )
    run.note(f"goes on from the checkpoint of step {steps[-1]:,}")
    tensors, state = load_checkpoint(run.path / "checkpoints", steps[-1])
    trainer.load(tensors, state)
    run.rewind(int(state["num_records"]))


def _note_rounding(budget: Budget, run: Run) -> None:
    if budget.last_step != budget.steps:
        trained, asked = (budget.per_step * steps for steps in (budget.last_step, budget.steps))
        run.note(
            f"trains for {trained:,} {budget.unit}, not {asked:,}: "
            f"the {budget.lanes} lanes take their last steps together"
        )


def _checkpoints(run: Run) -> list[int]:
    """Return the steps of the run's checkpoints, smallest first."""
    return [] if run.path is None else checkpoint_steps(run.path / "checkpoints")


class _Progress:
    """Tells the reporter how far training is, how fast, and how the last episodes went."""

    def __init__(self, run: Run, step: int, budget: Budget) -> None:
        self._reporter, self._budget = run.reporter, budget
        self._began_step, self._began_s = step, time.monotonic()
        self.step = step
        self._last: list[Episode] = []

    def take(self, episode: Episode) -> None:
        """Take in a finished episode."""
        self._last = [*self._last[1 - LAST_EPISODES :], episode]

    def show(self, step: int) -> None:
        """Report the present step."""
        self.step = step
        factor, unit = self._budget.per_step, self._budget.unit
        elapsed_s = max(time.monotonic() - self._began_s, 1e-3)
        rate = factor * (step - self._began_step) / elapsed_s
        text = f"{rate:,.0f} {unit}/s{self._episodes()}"
        self._reporter.progress(factor * step, factor * self._budget.last_step, text)

    def _episodes(self) -> str:
        if not self._last:
            return ""
        newest = self._last[-1]
        numbers: dict[str, Any] = {
            "return": sum(episode.episode_return for episode in self._last) / len(self._last),
            "epsilon": newest.epsilon,
            "loss": next((e.loss for e in reversed(self._last) if e.loss is not None), None),
            "novelty": newest.novelty,
        }
        shown = [f"{name} {value:.3g}" for name, value in numbers.items() if value is not None]
        return ", " + ", ".join(shown)
