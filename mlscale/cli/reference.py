"""Writes `docs/cli.md` from the commands' own --help: `python -m mlscale.cli.reference`."""

from __future__ import annotations

import sys
from typing import Any

import typer

from mlscale.cli.main import app

WIDTH = 80


def reference() -> str:
    """Return the help of every command as one Markdown page."""
    parts = [
        "# Commands",
        "",
        "Written by `python -m mlscale.cli.reference > docs/cli.md`; a test keeps it current.",
    ]
    for path, text in _walk(typer.main.get_command(app), "mlscale", parent=None):
        parts += ["", f"## {path}", "", "```", text, "```"]
    return "\n".join(parts) + "\n"


def _walk(command: Any, path: str, parent: Any) -> list[tuple[str, str]]:
    """Return the path and help text of a command and of all below it."""
    context = command.make_context(
        path.rpartition(" ")[2], [], parent=parent, resilient_parsing=True,
        terminal_width=WIDTH, max_content_width=WIDTH,
    )  # fmt: skip
    lines = command.get_help(context).splitlines()
    found = [(path, "\n".join(line.rstrip() for line in lines).strip())]
    for name, child in getattr(command, "commands", {}).items():
        found += _walk(child, f"{path} {name}", context)
    return found


if __name__ == "__main__":
    sys.stdout.write(reference())
