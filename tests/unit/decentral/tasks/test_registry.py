"""Names of tasks are known without importing what they need."""

import subprocess
import sys

from mlscale.decentral.tasks.registry import TASKS


def test_names_are_known_without_torch_or_numpy() -> None:
    code = "import sys, mlscale.decentral.tasks.registry as r; print(len(r.TASKS), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    number, *modules = done.stdout.split()
    assert int(number) == len(TASKS)
    assert not {"torch", "numpy", "sklearn", "datasets", "PIL"} & set(modules)


def test_every_task_has_a_description_of_one_line() -> None:
    assert all(0 < len(entry.description) < 72 for entry in TASKS.values())


def test_every_task_finds_what_makes_it() -> None:
    assert all(callable(entry.find()) for entry in TASKS.values())
