"""What a result was made with."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mlscale
from mlscale.core import environment


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_describe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/mlscale", "atari", "score", "my file.csv"])
    found = environment.describe("cuda:1")
    assert found["mlscale"] == mlscale.__version__
    assert found["command"] == "mlscale atari score 'my file.csv'"
    assert found["device"] == "cuda:1"
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["torch"] == importlib.metadata.version("torch") == found["packages"]["torch"]
    assert found["threads"] == environment.usable_cpus() >= 1


def test_describe_imports_nothing_heavy() -> None:
    code = (
        "import sys; from mlscale.core import environment as e; e.describe();"
        "print({'torch', 'numpy', 'gymnasium', 'transformers'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_package_that_is_not_there_has_no_version() -> None:
    assert environment.version_of("no-such-package-anywhere") is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs CPU affinity")
def test_cpus_are_those_this_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert environment.usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_the_git_state_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "mlscale"
    package.mkdir()
    code = package / "__init__.py"
    code.write_text("")
    monkeypatch.setattr(mlscale, "__file__", str(code))

    def state() -> tuple[str, bool]:
        found = environment.describe()
        return found["git"], found["dirty"]

    assert state() == ("", False)  # no repository
    git(tmp_path, "init", "-q")
    assert state() == ("", False)  # no commit
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "x")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert len(commit) == 40
    assert state() == (commit, False)
    (tmp_path / "notes.txt").write_text("untracked")
    assert state() == (commit, False)
    code.write_text("x = 1")
    assert state() == (commit, True)
    monkeypatch.setenv("PATH", "")
    assert state() == ("", False)  # no git
