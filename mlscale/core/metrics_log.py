"""`metrics.jsonl`: one flat JSON object a line, appended and flushed, readable after a crash."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.core.files import to_json, writing
from mlscale.core.results import clean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Self


class MetricsLog:
    """Appends records to a file, each line whole or absent.

    A write that fails half-way (a full disk) is cut back, so the file always ends after a
    complete line as long as this process lives; `read_records` deals with the rest. The file is
    locked against another process that would write to the same run.

    Args:
        path: The file; created when missing.

    Raises:
        UserError: The file cannot be written, or another process is writing to it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing(path):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if not _lock(self._file):
            os.close(self._file)
            raise UserError(
                f"another process is writing to {path.parent}",
                "wait for it, or choose another directory with --out DIR",
            )

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record as a line.

        Raises:
            WorkFailed: The disk is full; the lines before this one are safe.
        """
        line = (to_json(clean(record), indent=None) + "\n").encode()
        with writing(self._path):
            start = os.fstat(self._file).st_size
            try:
                remaining = memoryview(line)
                while remaining:
                    remaining = remaining[os.write(self._file, remaining) :]
            except BaseException:  # Ctrl-C too may come in the middle of a line
                os.ftruncate(self._file, start)
                raise

    def keep(self, num_records: int) -> None:
        """Cut off all but the first `num_records` lines."""
        lines = _read(self._path).split(b"\n")[:num_records]
        with writing(self._path):
            os.ftruncate(self._file, sum(len(line) + 1 for line in lines))

    def close(self) -> None:
        """Flush to the disk itself and close."""
        with writing(self._path):
            try:
                os.fsync(self._file)
            finally:
                os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(file: int) -> bool:
    """Lock an open file until it is closed; return False when another process has it.

    Where there are no such locks (Windows, some network disks) nothing is locked.
    """
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the records of a metrics file; a last line cut off by a crash is left out.

    Raises:
        UserError: The file cannot be read, or a line other than a torn last one is no JSON object.
    """
    lines = _read(path).split(b"\n")
    return [_record(path, number, line) for number, line in enumerate(lines[:-1], start=1)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise UserError(
            f"{path}: line {number} is not a JSON object, the file is damaged",
            "delete that line to go on without it, or start again in another directory",
        )
    return record


def drop_torn_line(path: Path) -> bool:
    """Cut off a last line that a crash left without its end; return whether there was one."""
    content = _read(path)
    keep = content.rfind(b"\n") + 1
    if keep == len(content):
        return False
    with writing(path):
        os.truncate(path, keep)
    return True
