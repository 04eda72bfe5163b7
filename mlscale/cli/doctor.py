"""`mlscale doctor`: what this machine can run, and the command that mends each lack."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rich.table import Table

from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.core.config import Seeded
from mlscale.core.results import Result

if TYPE_CHECKING:
    from rich.console import Console

    from mlscale.core.runs import Run

MARKS = {"ok": "ok", "absent": "--", "broken": "!!"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DoctorConfig(Seeded):
    """Settings of `mlscale doctor`."""


@takes(DoctorConfig)
def command(config: DoctorConfig, common: Common) -> None:
    """Check what this machine can run; say how to mend what is missing."""
    execute("doctor", config, common)


def run(config: DoctorConfig, run: Run) -> Result:
    """Make every check and report them, failed when something required is broken."""
    from mlscale.core.health import check_all

    checks = [dataclasses.asdict(check) for check in check_all()]
    broken = any(check["state"] == "broken" for check in checks)
    return Result(
        study=run.study, tables={"checks": checks}, status="failed" if broken else "complete"
    )


def draw(document: dict[str, Any], console: Console) -> None:
    """Draw the checks as a table, then the commands that mend the lacks."""
    table = Table(box=None, pad_edge=False)
    for column in ("", "check", "found"):
        table.add_column(column, overflow="fold")
    checks = document["tables"]["checks"]
    for check in checks:
        table.add_row(MARKS[check["state"]], check["name"], check["found"])
    console.print(table)
    mends = [check for check in checks if check["mend"]]
    if mends:
        console.print("\nto add what is missing:")
    for check in mends:
        console.print(f"  {check['name']}: {check['mend']}", soft_wrap=True)
