"""Run directories: what a run was asked, what it measured on the way and what came out."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlscale.core import environment
from mlscale.core.config import to_dict
from mlscale.core.errors import UserError
from mlscale.core.files import to_json, write_atomic, writing
from mlscale.core.metrics_log import MetricsLog, drop_torn_line, read_records
from mlscale.core.reporter import Listener, Reporter, Silent
from mlscale.core.results import Result, clean, to_document

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

RUNS_FOLDER = Path("runs")
LIST_HINT = "`mlscale runs list` shows the runs here"
COPY_HINT = f"put a copy of that file back, or name another run: {LIST_HINT}"


class Run:
    """One run of one study, with a directory to write to or without one.

    Args:
        study: The study's name, as in "atari.eval".
        config: The study's resolved configuration.
        path: The run directory, or None for a run that leaves nothing behind.
        reporter: Who is told of progress and notes.

    Attributes:
        device: What the study computes on, for the result; the study sets it.
        records: The records of `metrics.jsonl`, those of before first.
        listeners: Who else takes in the records.
        notes: What was said so far.
        artifacts: Names of the files written so far.
    """

    def __init__(
        self,
        study: str,
        config: DataclassInstance,
        path: Path | None = None,
        reporter: Reporter | None = None,
    ) -> None:
        self.study = study
        self.config = config
        self.path = path
        self.reporter = reporter or Silent()
        self.notes: list[str] = []
        self.artifacts: list[str] = []
        self.records: list[dict[str, Any]] = []
        self.listeners: list[Listener] = []
        self._started_s = time.monotonic()
        self._log: MetricsLog | None = None
        self._is_new = False
        self._earlier: dict[str, str] = {}  # files of a reopened run, as they were
        self._earlier_s = 0.0
        self.device = "cpu"

    def log(self, record: Mapping[str, Any]) -> None:
        """Append a flat record to `metrics.jsonl` and keep it in `records`, as it reads back."""
        record = clean(record)
        if self._log is not None:
            self._log.append(record)
        self.records.append(dict(record))
        self._earlier.clear()
        for listener in self.listeners:
            listener.logged(self.records)

    def rewind(self, num_records: int) -> None:
        """Cut `metrics.jsonl` and `records` back to their first `num_records`.

        A run that goes on from a checkpoint logs again what came after it.
        """
        if num_records >= len(self.records):
            return
        self.records = self.records[:num_records]
        for listener in self.listeners:
            listener.close()
        if self._log is not None:
            self._log.keep(num_records)
        self._earlier.clear()

    def note(self, text: str) -> None:
        """Say once what was skipped, defaulted or approximated; it goes into the result too."""
        if text not in self.notes:
            self.notes.append(text)
            self.reporter.note(text)

    def write(self, name: str, content: bytes | str) -> None:
        """Write an artifact of the run whole; without a directory, do nothing."""
        if self.path is not None:
            target = self.path / name
            with writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, content)
            if name not in self.artifacts:
                self.artifacts.append(name)

    def finish(self, result: Result) -> dict[str, Any]:
        """Write `result.json` and return the document it holds."""
        self._close_log()
        document = self._document(result)
        if self.path is not None:
            write_atomic(self.path / "result.json", to_json(document) + "\n")
        return document

    def withdraw(self) -> None:
        """Undo `begin` when the work was refused: nothing was measured or written since.

        A directory that this run created is removed; one it reopened is as it was.
        """
        if self.path is None or self.artifacts:
            return
        self._close_log()
        for name, content in self._earlier.items():
            write_atomic(self.path / name, content)
        if not self._earlier and self._is_new and not self.records:
            for name in ("metrics.jsonl", "config.json", "result.json"):
                (self.path / name).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the user's own files are in it
                self.path.rmdir()

    def _close_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()
        for listener in self.listeners:
            listener.close()

    def begin(self) -> None:
        """Write what is known before the work, so that a killed run can be told and resumed."""
        if self.path is None:
            return
        metrics = self.path / "metrics.jsonl"
        self._is_new = not metrics.exists()
        self._log = MetricsLog(metrics)
        try:
            self._take_up(metrics)
        except BaseException:
            self._close_log()
            raise

    def _take_up(self, metrics: Path) -> None:
        folder = metrics.parent
        if drop_torn_line(metrics):
            self.note("the last line of metrics.jsonl was cut short by a crash and is dropped")
        self.records = read_records(metrics)
        with contextlib.suppress(FileNotFoundError):
            for name in ("config.json", "result.json"):
                self._earlier[name] = (folder / name).read_text(encoding="utf-8")
            self._earlier_s = float(json.loads(self._earlier["result.json"])["elapsed_s"])
        write_atomic(folder / "config.json", to_json(to_dict(self.config)) + "\n")
        unfinished = Result(study=self.study, status="unfinished")
        document = to_json(self._document(unfinished)) + "\n"
        write_atomic(folder / "result.json", document)

    def _document(self, result: Result) -> dict[str, Any]:
        config = to_dict(self.config)
        notes = (*self.notes, *(note for note in result.notes if note not in self.notes))
        return to_document(
            dataclasses.replace(result, notes=notes),
            seed=int(config.get("seed", 0)),
            config=config,
            artifacts=self.artifacts,
            elapsed_s=self._earlier_s + time.monotonic() - self._started_s,
            environment=environment.describe(self.device),
        )


def open_run(
    study: str,
    config: DataclassInstance,
    *,
    out: Path | None = None,
    name: str = "run",
    reporter: Reporter | None = None,
) -> Run:
    """Create a run directory, or reopen the one at `out` when it holds the same configuration.

    Args:
        study: The study's name.
        config: The resolved configuration.
        out: The directory; by default `runs/<study>/<UTC time>-<name>-s<seed>`.
        name: What the default directory is called after.
        reporter: Who is told of progress and notes.

    Raises:
        UserError: `out` cannot be written, is not a run directory, or holds another run.
    """
    path = out or _make_default(study, name, int(getattr(config, "seed", 0)))
    with writing(path):
        if path.exists():
            _check_same_run(path, study, config)
        path.mkdir(parents=True, exist_ok=True)
    run = Run(study, config, path, reporter)
    run.begin()
    return run


def _make_default(study: str, name: str, seed: int) -> Path:
    """Create the default directory, and none that another run created in the same second."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    label = re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-")[:40] or "run"
    base = RUNS_FOLDER / study / f"{stamp}-{label}-s{seed}"
    path, number = base, 1
    with writing(base):
        while True:
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                number += 1
                path = base.with_name(f"{base.name}-{number}")
            else:
                return path


def _check_same_run(path: Path, study: str, config: DataclassInstance) -> None:
    """Refuse to write over anything but a run of the same study and configuration."""
    if not path.is_dir():
        raise UserError(f"{path} is a file", "choose a directory with --out DIR")
    if not any(path.iterdir()):
        return
    earlier = _read_run(
        path,
        none="choose an empty or new directory with --out DIR",
        damaged="start again in another directory with --out DIR",
    )
    if earlier.study != study:
        raise UserError(
            f"{path} holds a run of {earlier.study}, not of {study}",
            "choose another directory with --out DIR",
        )
    changed = changed_fields(config, earlier.config)
    if changed:
        raise UserError(
            f"{path} holds a run with another {', '.join(changed)}",
            f"choose another directory with --out DIR, or `mlscale runs resume {path}`",
        )


def changed_fields(config: DataclassInstance, earlier: Mapping[str, Any]) -> list[str]:
    """Return the fields that differ and may not: all but those marked `may_change`.

    A field of a nested configuration is named with dots, as its flag is.
    """
    now = to_dict(config)
    changed = []
    for field in dataclasses.fields(config):
        value, before = getattr(config, field.name), earlier.get(field.name)
        if now[field.name] == before or field.metadata.get("may_change"):
            continue
        nested = dataclasses.is_dataclass(value) and not isinstance(value, type)
        if nested and isinstance(before, Mapping):
            changed += [f"{field.name}.{name}" for name in changed_fields(value, before)]
        else:
            changed.append(field.name)
    return changed


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run directory as read back from disk.

    Args:
        path: The directory.
        study: The study's name.
        status: "complete", "failed", "interrupted", or "unfinished" (running, or killed).
        config: The configuration as plain values.
        result: The whole `result.json` document.
    """

    path: Path
    study: str
    status: str
    config: Mapping[str, Any]
    result: Mapping[str, Any]


def read_run(path: Path) -> StoredRun:
    """Read a run directory.

    Raises:
        UserError: It is missing, is not a run directory, or one of its files is damaged.
    """
    if not path.is_dir():
        raise UserError(f"{path}: no such directory", LIST_HINT)
    return _read_run(path, none=LIST_HINT, damaged=COPY_HINT)


def _read_run(path: Path, *, none: str, damaged: str) -> StoredRun:
    """Read a run directory; the hints differ between a run to read and one to write to.

    Args:
        path: The directory.
        none: The hint where it is no run directory.
        damaged: The hint where a file cannot be read.
    """
    result = _read_object(path / "result.json", none=none, damaged=damaged)
    config = _read_object(path / "config.json", none=none, damaged=damaged)
    if "study" not in result or "status" not in result:
        raise UserError(f"{path / 'result.json'} is not a result of mlscale", none)
    return StoredRun(
        path=path,
        study=str(result["study"]),
        status=str(result["status"]),
        config=config,
        result=result,
    )


def _read_object(path: Path, *, none: str, damaged: str) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
    except FileNotFoundError:
        raise UserError(
            f"{path.parent} is not a run directory: it has no {path.name}", none
        ) from None
    except (ValueError, OSError) as error:
        raise UserError(f"{path} is damaged: {error}", damaged) from None
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def list_runs(root: Path = RUNS_FOLDER) -> list[StoredRun]:
    """Return the runs below `root`, last written last, passing over what is not a run."""
    found = sorted(root.glob("**/result.json"), key=lambda path: path.stat().st_mtime)
    runs = []
    for file in found:
        try:
            runs.append(read_run(file.parent))
        except UserError:
            continue
    return runs
