"""Points and frames of an episode, by hand."""

import dataclasses

from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.atari.tally import Tally

SABER = PROTOCOLS["saber"]


def test_points_add_up_and_roll_overs_are_repaired() -> None:
    tally = Tally("alien", SABER)  # its counter starts again at a million
    assert [tally.take(reward, 4) for reward in (10, 0, -999_950, -20)] == [10, 0, 50, -20]
    assert tally.score == 40


def test_a_game_without_a_counter_to_repair_loses_what_it_loses() -> None:
    tally = Tally("pong", SABER)
    assert tally.take(-999_950, 4) == tally.score == -999_950


def test_the_marks_of_a_full_counter_count_to_999_999() -> None:
    tally = Tally("hero", SABER)  # its marks read as 1,222,221
    tally.take(999_900, 4)
    assert tally.take(222_321, 8) == 99
    assert tally.take(0, 12) == 0
    assert tally.score == 999_999


def test_an_episode_is_stuck_so_many_frames_after_its_last_points() -> None:
    tally = Tally("pong", dataclasses.replace(SABER, stuck_frames=8))
    stuck = []
    for number, reward in enumerate((0, -1, 0, 0, 1, 0, 0)):
        tally.take(reward, 4 * (number + 1))
        stuck.append(tally.is_stuck)
    assert stuck == [False, False, False, True, False, False, True]
    tally.begin()
    assert (tally.score, tally.frames, tally.is_stuck) == (0, 0, False)


def test_without_a_limit_no_episode_is_stuck() -> None:
    tally = Tally("pong", dataclasses.replace(SABER, stuck_frames=None))
    tally.take(0, 10**9)
    assert not tally.is_stuck
