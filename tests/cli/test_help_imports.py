"""Help stays light: no command's --help imports anything heavy."""

import subprocess
import sys
from typing import Any

import pytest
import typer

from mlscale.cli.main import app

HEAVY = (
    "torch", "transformers", "tokenizers", "datasets", "gymnasium", "ale_py", "numpy", "pandas",
    "matplotlib", "sklearn", "ray", "pyarrow", "scipy", "jinja2", "safetensors",
)  # fmt: skip
CODE = """
import sys
from mlscale.cli.main import run_command
code = run_command(sys.argv[2:])
sys.stderr.write(",".join(sorted(set(sys.argv[1].split(",")) & sys.modules.keys())))
sys.exit(code)
"""


def walk(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = [path]
    for name, child in getattr(command, "commands", {}).items():
        paths += walk(child, (*path, name))
    return paths


PATHS = walk(typer.main.get_command(app))


def test_the_walk_finds_the_commands() -> None:
    assert {(), ("doctor",), ("atari", "eval"), ("runs", "resume")} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_imports_nothing_heavy(path: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", CODE, ",".join(HEAVY), *path, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: {' '.join(('mlscale', *path))} ")
