"""One training of a benchmark, as a job: it yields a record for each epoch.

Shape letters: N replicas; K parameter tensors.
"""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from mlscale.core.allocator import keep_freed_memory
from mlscale.core.config import from_dict
from mlscale.core.engine.jobs import Progress, Record
from mlscale.core.errors import WorkFailed
from mlscale.core.results import Result
from mlscale.core.runs import Run, open_run
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.dispersion import MEASURES
from mlscale.decentral.observer import Observer
from mlscale.decentral.setup import make_setup
from mlscale.decentral.train import ENGINES, choose_device

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

PULSE_S = 0.5
"""Between two signs of life: steps of small models are many."""
DIVERGED = "training diverged"
"""What the trainer says when a loss is NaN or infinite."""


def train_job(
    payload: Mapping[str, Any], finished: Sequence[Record]
) -> Iterator[Record | Progress | None]:
    """Train, yielding the epochs that are not finished and at last how it ended; see `Work`.

    Args:
        payload: cell (what every record begins with), training (its settings) and folder (a run
            directory for its checkpoints, or None to begin anew when it is cut off).
        finished: Records of earlier attempts.

    Raises:
        UserError: Task, graph and algorithm do not go together.
        WorkFailed: A replica is gone.
    """
    names: Record = dict(payload["cell"])
    config = from_dict(TrainConfig, dict(payload["training"]), where="settings of the job")
    told = {record["epoch"] for record in finished if "epoch" in record}
    messages = _Messages(told)
    run = _open(config, payload["folder"], messages)
    run.listeners.append(messages)
    try:
        for message in messages.while_running(config, run):
            yield message if isinstance(message, Progress) else {**names, **message}
    except WorkFailed as error:
        if DIVERGED not in error.message:
            raise
        run.finish(Result(study=run.study, status="failed"))
        yield {**names, "outcome": "diverged", "why": error.message}
        return
    run.finish(Result(study=run.study))
    yield {**names, "outcome": "trained"}


def _open(config: TrainConfig, folder: str | None, messages: _Messages) -> Run:
    if folder is None:
        return Run("decentral.train", config, reporter=messages)
    path = Path(folder)
    if not (path / "result.json").exists():  # an attempt that was killed before it began
        shutil.rmtree(path, ignore_errors=True)
    return open_run("decentral.train", config, out=path, reporter=messages)


class TensorObserver(Observer):
    """Also measures the dispersion of each parameter tensor: "gini/NAME" and so on."""

    def by_tensor(self, norms_NK: NDArray[np.float64]) -> dict[str, float]:
        """Return the measures of each tensor."""
        return {
            f"{measure}/{name}": value
            for measure, of in MEASURES.items()
            for name, value in zip(self.mean_model.layout.names, of(norms_NK).tolist(), strict=True)
        }


def train(config: TrainConfig, run: Run) -> None:
    """Train from the last checkpoint on, logging each epoch."""
    import torch

    torch.set_num_threads(1)  # the same sums whatever the engine's threads
    keep_freed_memory()
    run.device = choose_device(config)
    setup = make_setup(config)
    ENGINES[config.engine](setup, run, TensorObserver(setup, run, run.device))


class _Messages:
    """Turns what a training in a thread of its own tells its run into a stream.

    Args:
        told: Numbers of the epochs whose records the caller has.
    """

    def __init__(self, told: set[Any]) -> None:
        self._told = set(told)
        self._queue: SimpleQueue[Record | Progress | BaseException | None] = SimpleQueue()
        self._last_s = 0.0

    def note(self, text: str) -> None:
        """Drop a note: the benchmark says once what holds for all its trainings."""

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Pass on how many epochs are done, now and then."""
        now_s = time.monotonic()
        if now_s - self._last_s >= PULSE_S:
            self._last_s = now_s
            self._queue.put(Progress({"epoch": done}))

    def logged(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Pass on the records that the caller has not; earlier attempts may have kept some."""
        for record in records:
            if record["epoch"] not in self._told:
                self._told.add(record["epoch"])
                self._queue.put(dict(record))

    def close(self) -> None:
        """Do nothing: a training that goes back does the same epochs again."""

    def while_running(self, config: TrainConfig, run: Run) -> Iterator[Record | Progress]:
        """Train in a thread and yield what it tells; raise what it raises."""

        def work() -> None:
            try:
                train(config, run)
                self.logged(run.records)
            except BaseException as error:  # noqa: BLE001 - raised again below
                self._queue.put(error)
            else:
                self._queue.put(None)

        threading.Thread(target=work, daemon=True).start()
        while (message := self._queue.get()) is not None:
            if isinstance(message, BaseException):
                raise message
            yield message
