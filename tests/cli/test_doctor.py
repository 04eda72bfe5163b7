"""`mlscale doctor`: its table, its commands, its exit code."""

import pytest

from mlscale.cli import main
from mlscale.core import health
from mlscale.core.health import Check

GOOD = Check("torch", "ok", "2.13.0 [cpu]")
LACKING = Check("extra ray", "absent", "many machines", "pip install 'mlscale[ray]'")
BROKEN = Check("numpy", "broken", "not installed", "pip install numpy")


@pytest.mark.parametrize(
    ("checks", "code", "shown"),
    [
        ([GOOD], 0, ["check found", "ok torch 2.13.0 [cpu]"]),
        (
            [GOOD, LACKING],
            0,
            ["check found", "ok torch 2.13.0 [cpu]", "-- extra ray many machines", "",
             "to add what is missing:", "extra ray: pip install 'mlscale[ray]'"],
        ),
        (
            [BROKEN, GOOD],
            1,
            ["check found", "!! numpy not installed", "ok torch 2.13.0 [cpu]", "",
             "to add what is missing:", "numpy: pip install numpy"],
        ),
    ],
)  # fmt: skip
def test_what_is_shown_and_the_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    checks: list[Check],
    code: int,
    shown: list[str],
) -> None:
    monkeypatch.setattr(health, "check_all", lambda: checks)
    assert main.run_command(["doctor"]) == code
    out, err = capsys.readouterr()
    assert [" ".join(line.split()) for line in out.splitlines()] == shown
    assert err == ""


def test_this_machine_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run_command(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "!!" not in out
    assert "Atari ROMs" in out
