"""The root command, and the one place where errors become exit codes."""

from __future__ import annotations

import io
import os
import re
import sys
import time
import traceback
from typing import Annotated, Any, TextIO

import typer
from typer.exceptions import TyperException

import mlscale
from mlscale.cli import atari, decentral, doctor, rl, runs
from mlscale.cli.options import setting_without_flag
from mlscale.cli.render import print_error
from mlscale.core.errors import MlscaleError, UserError, nearest
from mlscale.core.files import NO_ROOM
from mlscale.core.torchrun import LEADS_FIRST_S, follows

READER_GONE = 128 + 13  # what a shell reports of a program that SIGPIPE ended

app = typer.Typer(
    name="mlscale",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(atari.app, name="atari")
app.add_typer(rl.app, name="rl")
app.add_typer(decentral.app, name="decentral")
app.add_typer(runs.app, name="runs")
app.command("doctor")(doctor.command)


def _print_version(value: bool) -> None:
    if value:
        sys.stdout.write(f"mlscale {mlscale.__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Studies of scale in machine learning: one command group per study."""


def main() -> None:
    """Run the command line and exit."""
    sys.stdout = sys.stdout or io.StringIO()  # None when it came closed, as by >&-
    sys.stderr = sys.stderr or io.StringIO()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a bar that ASCII lacks is no reason to fail
    code = run_command(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        _flush_or_drop(stream)
    sys.exit(code)


def _flush_or_drop(stream: TextIO) -> None:
    """Write out what is buffered; what cannot be written must not fail again at exit."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code; errors are printed on stderr."""
    debug = "--debug" in arguments
    try:
        code: Any = app(arguments, prog_name="mlscale", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except MlscaleError as error:
        return _fail(error.message, error.hint, error.exit_code, debug=debug)
    except TyperException as error:
        if error.format_message().startswith("Usage:"):  # a group without a command
            sys.stderr.write(error.format_message() + "\n")
            return error.exit_code
        return _fail(*_usage_message(error), error.exit_code, debug=debug)
    except SystemExit as exit_:
        if isinstance(exit_.__context__, BrokenPipeError):  # typer makes an exit of it
            return READER_GONE
        return exit_.code if isinstance(exit_.code, int) else 1
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", None, 130, debug=debug)
    except Exception as error:  # noqa: BLE001 - the last resort
        return _unforeseen(error, debug=debug)


def _unforeseen(error: Exception, *, debug: bool) -> int:
    """Tell apart a reader that has gone (as in `| head`), a full disk, and a bug."""
    if isinstance(error, BrokenPipeError):
        return READER_GONE
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return _fail(str(error), "free some space, then run it again", 1, debug=debug)
    traceback.print_exc()
    return 1


def _fail(message: str, hint: str | None, code: int, *, debug: bool) -> int:
    if rank := follows():
        time.sleep(LEADS_FIRST_S if code == UserError.exit_code else 0)
        message = f"rank {rank}: {message}"
    if debug:
        traceback.print_exc()
        sys.stderr.write(getattr(sys.exception(), "worker_traceback", ""))
    print_error(message, hint)
    return code


def _usage_message(error: TyperException) -> tuple[str, str | None]:
    """Split typer's usage text into what is wrong and what would be right."""
    text = error.format_message().strip()
    found = re.search(r"\s*\(?(Possible options|Did you mean):?\s*(?P<names>[^)?]+)[)?]*\s*$", text)
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "mlscale")
    hint = f"`{path} --help` shows what there is"
    callback = getattr(getattr(context, "command", None), "callback", None)
    config_type = getattr(callback, "config_type", object)
    setting = setting_without_flag(config_type, getattr(error, "option_name", None) or "")
    if found:
        text = text[: found.start()]
        names = re.findall(r"[-\w]+(?:\.[-\w]+)*", found["names"])
        close = nearest(text.rpartition(" ")[2].strip("'"), names) or names[0]
        hint = f"did you mean {close}? {hint}"
    if setting:
        hint = f"set {setting} in a --config file"
    return _lower_first(text.rstrip(".")), hint


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
