"""`mlscale runs`: list the run directories under a folder, show one, go on with one."""

from __future__ import annotations

import dataclasses
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.cli.render import make_console, print_document
from mlscale.cli.studies import find_study, load
from mlscale.core.config import Seeded, from_dict, opt
from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.core.runs import RUNS_FOLDER, list_runs, read_run

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from mlscale.core.runs import Run, StoredRun

RUN_COLUMNS: dict[str, JustifyMethod] = {
    "study": "left",
    "status": "left",
    "seconds": "right",
    "run": "left",
}

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="List, show and resume runs.")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ListConfig(Seeded):
    """Settings of `mlscale runs list`."""

    root: Path = opt(RUNS_FOLDER, help="Folder to look below.", argument=True, metavar="FOLDER")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig(Seeded):
    """Settings of `mlscale runs show` and `mlscale runs resume`."""

    seed: int = opt(0, help="Without effect: the run has its own seed.", ge=0)
    run: Path = opt(help="The run directory.", argument=True, metavar="RUN")


@app.command("list")
@takes(ListConfig)
def list_command(config: ListConfig, common: Common) -> None:
    """List the runs below a folder, last written last."""
    execute("runs.list", config, common)


@app.command("show")
@takes(RunConfig)
def show_command(config: RunConfig, common: Common) -> None:
    """Show a run's result again; --json prints its result.json."""
    stored = read_run(config.run)
    if common.json:
        print_document(stored.result)
        return
    console = make_console()
    if stored.result.get("tables"):
        load(find_study(stored.study).render)(stored.result, console)
    if stored.status != "complete":
        console.print(f"{stored.study}: {stored.status}")
        console.print(f"go on with: mlscale runs resume {shlex.quote(str(stored.path))}")


@app.command("resume")
@takes(RunConfig)
def resume_command(config: RunConfig, common: Common) -> None:
    """Go on with a run that was interrupted, killed or failed; what is done is kept."""
    stored = read_run(config.run)
    study = find_study(stored.study)
    where = str(stored.path / "config.json")
    study_config = from_dict(load(study.config), stored.config, where=where)
    if common.out is not None and common.out.resolve() != stored.path.resolve():
        raise UserError("a run goes on in its own directory", "leave --out away")
    path = _go_where_it_began(stored)
    execute(study.name, study_config, dataclasses.replace(common, out=path))


def _go_where_it_began(stored: StoredRun) -> Path:
    """Change to the folder a run was started in and return the run's path from there.

    Its settings may name files and code relative to that folder.
    """
    folder = Path(stored.result.get("environment", {}).get("folder", ""))
    if not folder.is_dir() or folder.resolve() == Path.cwd():
        return stored.path
    path = stored.path.resolve()
    os.chdir(folder)
    return path


def run_list(config: ListConfig, run: Run) -> Result:
    """Return one row per run below the folder.

    Raises:
        UserError: The folder is not there, and is not the default one before its first run.
    """
    if not config.root.is_dir() and config.root != RUNS_FOLDER:
        raise UserError(f"{config.root}: no such directory")
    rows = [
        {
            "run": str(stored.path),
            "study": stored.study,
            "status": stored.status,
            "seed": stored.result.get("seed"),
            "elapsed_s": stored.result.get("elapsed_s"),
        }
        for stored in list_runs(config.root)
    ]
    return Result(study=run.study, tables={"runs": rows})


def draw_list(document: dict[str, Any], console: Console) -> None:
    """Draw the runs as a table."""
    rows = document["tables"]["runs"]
    if not rows:
        console.print("no runs here")
        return
    table = Table(box=None, pad_edge=False)
    for column, justify in RUN_COLUMNS.items():
        table.add_column(column, overflow="fold", justify=justify)
    for row in rows:
        elapsed = row["elapsed_s"]
        table.add_row(
            row["study"], row["status"], "" if elapsed is None else f"{elapsed:.1f}", row["run"]
        )
    console.print(table)
