"""The protocols' values against the table of `facts/atari_protocols.md`, section 2."""

import dataclasses

import pytest

from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.atari.jobs import resolve_protocol
from mlscale.rl.atari.protocols import PROTOCOLS, Protocol


@pytest.mark.parametrize(
    ("name", "sticky_prob", "full_actions", "max_frames", "stuck_frames", "noop_max", "reported"),
    [
        ("saber", 0.25, True, 21_600_000, 18_000, 0, 100),
        ("machado", 0.25, True, 108_000, None, 0, None),
        ("nature", 0.0, False, 108_000, None, 30, None),
        ("v5", 0.25, False, 108_000, None, 0, None),
    ],
)
def test_a_protocols_values(
    name: str,
    sticky_prob: float,
    full_actions: bool,
    max_frames: int,
    stuck_frames: int | None,
    noop_max: int,
    reported: int | None,
) -> None:
    protocol = PROTOCOLS[name]
    assert dataclasses.asdict(protocol) | {"source": ""} == {
        "name": name,
        "sticky_prob": sticky_prob,
        "full_actions": full_actions,
        "max_frames": max_frames,
        "stuck_frames": stuck_frames,
        "noop_max": noop_max,
        "frame_skip": 4,
        "reported_episodes": reported,
        "source": "",
    }
    assert protocol.source


def test_limits_are_times_at_the_consoles_sixty_frames_a_second() -> None:
    assert PROTOCOLS["saber"].max_frames == 100 * 3600 * 60  # 100 hours
    assert PROTOCOLS["saber"].stuck_frames == 5 * 60 * 60  # 5 minutes
    assert PROTOCOLS["machado"].max_frames == 30 * 60 * 60  # half an hour


def test_there_are_no_others_and_saber_is_the_default() -> None:
    assert list(PROTOCOLS) == ["saber", "machado", "nature", "v5"]
    assert EvalConfig(agent="random").protocol == "saber"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_frame_cap_of_ones_own_is_named_and_changes_nothing_else(name: str) -> None:
    capped = resolve_protocol(EvalConfig(agent="random", protocol=name, max_frames=400))
    assert capped == dataclasses.replace(PROTOCOLS[name], name=f"{name}, cap 400", max_frames=400)
    assert resolve_protocol(EvalConfig(agent="random", protocol=name)) == PROTOCOLS[name]
    assert isinstance(capped, Protocol)
