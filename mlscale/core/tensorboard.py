"""A run's records as TensorBoard shows them: a curve for every number, over the run's steps."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
STEP = "step"


def check_tensorboard() -> None:
    """Make sure that TensorBoard's files can be written here, before any work is done.

    Raises:
        UserError: The extra is missing.
    """
    if importlib.util.find_spec("tensorboard") is None:
        raise UserError(
            "--tensorboard needs the extra 'tensorboard'", "pip install 'mlscale[tensorboard]'"
        )


class TensorBoard:
    """Writes what a run logs to its `tensorboard` folder; see `mlscale.core.runs.Listener`.

    Every process begins a file with all records so far and marks void in it what was written
    before, which TensorBoard leaves out: the run may have been cut back since, going on from a
    checkpoint, or may have gone on for a while without this listener.

    Args:
        run_path: The run directory.
    """

    def __init__(self, run_path: Path) -> None:
        self._folder = run_path / FOLDER
        self._writer: SummaryWriter | None = None

    def logged(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Write the last of the records."""
        if self._writer is None:
            self._writer = self._open(records[:-1])
        self._write(self._writer, records, len(records) - 1)
        self._writer.flush()  # as safe as metrics.jsonl, whatever becomes of the process

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open(self, kept: Sequence[Mapping[str, Any]]) -> SummaryWriter:
        """Begin a file with the records of before, in place of all earlier files."""
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(self._folder), purge_step=0)
        for number in range(len(kept)):
            self._write(writer, kept, number)
        return writer

    @staticmethod
    def _write(writer: SummaryWriter, records: Sequence[Mapping[str, Any]], number: int) -> None:
        step = _step_of(records, number)
        for name, value in records[number].items():
            if name != STEP and isinstance(value, int | float):
                writer.add_scalar(name, float(value), step)


def _step_of(records: Sequence[Mapping[str, Any]], number: int) -> int:
    """Return where on the axis a record stands: its own step or, without one, its number."""
    return int(records[number].get(STEP, number))
