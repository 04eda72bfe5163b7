"""Fitting a policy's actions to a protocol's: every case by hand."""

import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.actions import (
    action_sets,
    offered_actions,
    output_indices,
    policy_actions,
)
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.protocols import PROTOCOLS

ALL = tuple(range(18))
PONG = (0, 1, 3, 4, 11, 12)  # no-op, fire, right, left, right and fire, left and fire
SKIING = (0, 3, 4)  # no-op, right, left
SKIING_LEGAL = (0, 2, 3, 4, 5, 6, 7, 8, 9)  # all without the button


@pytest.mark.parametrize(
    ("game", "minimal", "legal"),
    [("pong", PONG, ALL), ("skiing", SKIING, SKIING_LEGAL), ("alien", ALL, ALL)],
)
def test_action_sets(game: str, minimal: tuple[int, ...], legal: tuple[int, ...]) -> None:
    sets = action_sets(game)
    assert (sets.minimal, sets.legal) == (minimal, legal)
    assert offered_actions(game, PROTOCOLS["saber"]) == legal
    assert offered_actions(game, PROTOCOLS["machado"]) == legal
    assert offered_actions(game, PROTOCOLS["nature"]) == minimal
    assert offered_actions(game, PROTOCOLS["v5"]) == minimal


@pytest.mark.parametrize(
    ("game", "num_outputs", "actions"),
    [
        ("pong", 6, PONG),
        ("pong", 18, ALL),
        ("skiing", 3, SKIING),
        ("skiing", 9, SKIING_LEGAL),
        ("skiing", 18, ALL),
        ("alien", 18, ALL),
    ],
)
def test_outputs_are_told_by_how_many_there_are(
    game: str, num_outputs: int, actions: tuple[int, ...]
) -> None:
    assert policy_actions(game, num_outputs) == actions


@pytest.mark.parametrize(("game", "num_outputs", "own"), [("pong", 4, 6), ("alien", 6, 18)])
def test_a_policy_of_another_game(game: str, num_outputs: int, own: int) -> None:
    with pytest.raises(UserError) as caught:
        policy_actions(game, num_outputs)
    assert caught.value.message == (
        f"the policy has {num_outputs} actions; {game} has {own} (or all 18)"
    )
    assert caught.value.hint == "was it trained for another game?"


@pytest.mark.parametrize(
    ("policy_ids", "offered", "legal", "indices"),
    [
        (PONG, PONG, [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        (PONG, ALL, [0, 1, 2, 3, 4, 5], [0, 1, 3, 4, 11, 12]),
        (ALL, PONG, [0, 1, 3, 4, 11, 12], [0, 1, 2, 3, 4, 5]),
        (SKIING, SKIING_LEGAL, [0, 1, 2], [0, 2, 3]),
        (ALL, SKIING_LEGAL, [0, 2, 3, 4, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (SKIING_LEGAL, SKIING, [0, 2, 3], [0, 1, 2]),
        ((1, 5), (5, 9), [1], [0]),
    ],
)
def test_which_outputs_are_legal_and_what_they_are_called(
    policy_ids: tuple[int, ...],
    offered: tuple[int, ...],
    legal: list[int],
    indices: list[int],
) -> None:
    assert output_indices(policy_ids, Task(game="x", action_ids=offered)) == (legal, indices)


def test_a_policy_without_a_legal_action() -> None:
    with pytest.raises(UserError) as caught:
        output_indices((1, 10), Task(game="skiing", action_ids=SKIING_LEGAL))
    assert caught.value.message == (
        "none of the policy's actions exists in skiing under this protocol"
    )
