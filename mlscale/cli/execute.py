"""From a configuration to a drawn result: the one path every command takes."""

from __future__ import annotations

import shlex
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlscale.cli.follow import follow
from mlscale.cli.render import TerminalReporter, make_console, print_document
from mlscale.cli.studies import find_study, load
from mlscale.core.errors import Interrupted, MlscaleError, UserError
from mlscale.core.results import Result
from mlscale.core.runs import Run, open_run
from mlscale.core.tensorboard import TensorBoard, check_tensorboard
from mlscale.core.torchrun import follows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mlscale.cli.options import Common
    from mlscale.cli.studies import Study

TO_LOOK_AT = {"report": ("report.html",), "film": ("episode.mp4", "episode.gif")}


def execute(study_name: str, config: Any, common: Common, *, name: str = "run") -> None:
    """Run a study and show its result.

    Args:
        study_name: As in "atari.eval".
        config: The study's configuration.
        common: Output options.
        name: What a default run directory is called after.

    Raises:
        Interrupted: Ctrl-C; the run directory holds what was done.
        MlscaleError: The study's own failure, after its result was written.
    """
    study = find_study(study_name)
    if study.leads and follows():
        follow(study, config)
        return
    reporter = TerminalReporter(quiet=common.quiet, plain=common.json)
    run = _open(study, config, common, name, reporter)
    try:
        with reporter, _terminated_like_interrupted():
            result: Result = load(study.run)(config, run)
    except KeyboardInterrupt:
        _record_failure(run, Result(study=study.name, status="interrupted"))
        raise Interrupted("interrupted; what was done is kept", _resume_hint(run)) from None
    except MlscaleError as error:
        if isinstance(error, UserError) and error.partial is None:
            run.withdraw()
            raise
        partial = error.partial or Result(study=study.name, status="failed")
        document = _record_failure(run, partial)
        if document is not None and (partial.tables or common.json):
            _show(study, document, run, common)
        raise
    except Exception:
        _record_failure(run, Result(study=study.name, status="failed"))
        raise
    document = run.finish(result)
    _show(study, document, run, common)
    if document["status"] != "complete":
        raise SystemExit(1)


def _open(study: Study, config: Any, common: Common, name: str, reporter: TerminalReporter) -> Run:
    """Return the run, with a directory where the study or the user wants one."""
    if not study.keeps_run and common.out is None:
        return Run(study.name, config, reporter=reporter)
    wants_tensorboard = getattr(config, "tensorboard", False)
    if wants_tensorboard:
        check_tensorboard()
    run = open_run(study.name, config, out=common.out, name=name, reporter=reporter)
    if wants_tensorboard and run.path is not None:
        run.listeners.append(TensorBoard(run.path))
    return run


def _show(study: Study, document: dict[str, Any], run: Run, common: Common) -> None:
    if common.json:
        print_document(document)
        return
    load(study.render)(document, make_console())
    _say_where(run, common)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM, as schedulers send it, end a run as Ctrl-C does."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _record_failure(run: Run, partial: Result) -> dict[str, Any] | None:
    """Write the result of work cut short; if even that fails (a full disk), the error stands."""
    try:
        return run.finish(partial)
    except MlscaleError:
        return None


def _resume_hint(run: Run) -> str | None:
    return f"go on with: mlscale runs resume {shlex.quote(str(run.path))}" if run.path else None


def _say_where(run: Run, common: Common) -> None:
    if run.path is None or common.quiet:
        return
    sys.stderr.write(f"run directory: {run.path}\n")
    for kind, names in TO_LOOK_AT.items():
        for name in names:
            if (run.path / name).exists():
                sys.stderr.write(f"{kind}: {run.path / name}\n")
