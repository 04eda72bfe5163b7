"""Commands from configurations, and back again through the command line itself."""

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import pytest

from mlscale.core.config import Seeded, opt
from mlscale.rl.atari.config import EVAL_PRESETS, EvalConfig
from mlscale.rl.dqn.atari.command_line import command_line


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Inner(Seeded):
    rate: float = opt(0.5, help="A rate.")
    on: bool = opt(True, help="A switch.")
    hidden: int = opt(3, help="Of no flag.", flag=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outer(Seeded):
    name: str = opt(help="Needed.")
    some_steps: tuple[int, ...] = opt((1, 2), help="Several.")
    inner: Inner = opt(Inner(), help="Nested.")
    limit: int | None = opt(None, help="May be none.")


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, "--name x"),
        ({"seed": 3, "some_steps": (4,)}, "--seed 3 --name x --some-steps 4"),
        ({"inner": Inner(rate=0.1, on=False)}, "--name x --inner.rate 0.1 --inner.no-on"),
        ({"name": "two words", "limit": 7}, "--name 'two words' --limit 7"),
    ],
)
def test_what_differs_from_the_defaults_becomes_flags(changes: dict[str, Any], flags: str) -> None:
    assert command_line("do", Outer(**{"name": "x", **changes})) == f"do {flags}"


def test_the_nearest_preset_is_started_from() -> None:
    presets = {
        "slow": lambda: Outer(name="x", inner=Inner(rate=0.01, hidden=9), some_steps=(7, 8)),
        "odd": lambda: Outer(name="y", seed=5, limit=2),
    }
    config = Outer(name="z", inner=Inner(rate=0.01, hidden=9), some_steps=(7, 8))
    assert command_line("do", config, presets) == "do --preset slow --name z"
    assert command_line("do", Outer(name="z"), presets) == "do --name z"


def test_a_setting_without_a_flag_cannot_be_said() -> None:
    assert command_line("do", Outer(name="x", inner=Inner(hidden=4))) is None
    presets = {"some": lambda: Outer(name="x", limit=3)}
    assert command_line("do", Outer(name="x", inner=Inner(hidden=4)), presets) is None


@pytest.mark.parametrize(
    "config",
    [
        EvalConfig(agent="dqn", games="pong", episodes=30, seeds=3, lanes=8),
        EvalConfig(agent="dqn", ckpt=(Path("a/b"), Path("c")), report=False, max_frames=4000),
        dataclasses.replace(EVAL_PRESETS["tiny"](), games="alien", seed=4),
    ],
)
def test_the_command_line_gives_the_configuration_back(
    config: EvalConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlscale.cli import atari, main

    found: list[Any] = []
    monkeypatch.setattr(atari, "execute", lambda _, config, *__, **___: found.append(config))
    line = command_line("mlscale atari eval", config, EVAL_PRESETS)
    assert line is not None
    assert main.run_command(shlex.split(line)[1:]) == 0
    assert found == [config]
