"""The replay of frames against a slow one that keeps every stack whole."""

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.rl.dqn.atari.frames import FrameReplay

GAMMA = 0.5
FRAME_BYTES = 84 * 84


class Games:
    """Lanes of random episodes whose every frame differs from all others."""

    def __init__(self, num_lanes: int, rng: np.random.Generator, mean_length: float) -> None:
        self._rng, self._end_prob, self._num_frames = rng, 1 / mean_length, 0
        self._stacks = [self._first() for _ in range(num_lanes)]

    def _frame(self) -> np.ndarray:
        self._num_frames += 1
        frame = np.zeros(FRAME_BYTES, np.uint8)
        frame[-2:] = divmod(self._num_frames, 256)
        return frame.reshape(84, 84)

    def _first(self) -> deque:
        return deque([np.zeros((84, 84), np.uint8)] * 3 + [self._frame()], maxlen=4)

    def _states(self) -> np.ndarray:
        return np.array([list(stack) for stack in self._stacks])

    def step(self) -> tuple[np.ndarray, ...]:
        lanes = len(self._stacks)
        s_tm1 = self._states()
        for stack in self._stacks:
            stack.append(self._frame())
        s_t = self._states()
        terminated, truncated = self._rng.random((2, lanes)) < self._end_prob / 2
        for lane in np.flatnonzero(terminated | truncated):
            self._stacks[lane] = self._first()
        r = self._rng.normal(size=lanes).astype(np.float32)
        return s_tm1, self._rng.integers(18, size=lanes), r, s_t, terminated, truncated


def slow_transition(steps: list[tuple], lane: int, start: int, n: int, *, bootstraps: bool) -> dict:
    total, power = 0.0, 1.0
    for row in steps[start : start + n]:
        _, _, r, s_t, terminated, truncated = row
        total, power = total + power * r[lane], power * GAMMA
        if terminated[lane] or truncated[lane]:
            break
    stops = terminated[lane] or (truncated[lane] and not bootstraps)
    return {"s_tm1": steps[start][0][lane], "a": steps[start][1][lane], "r": total,
            "discount": 0.0 if stops else power, "s_t": s_t[lane]}  # fmt: skip


def assert_samples_equal(
    replay: FrameReplay, steps: list[tuple], oldest: int, newest: int, n: int, *, bootstraps: bool
) -> None:
    """Every sample is a transition that begins in one of those rows, and every such one comes."""
    lanes = len(steps[0][1])
    at = {tuple(steps[row][0][lane, -1].flat[-2:].tolist()): (row, lane)
          for row in range(len(steps)) for lane in range(lanes)}  # fmt: skip
    allowed = {(row, lane) for row in range(oldest, newest + 1) for lane in range(lanes)}
    rng, seen = np.random.default_rng(0), set()
    for _ in range(20):
        size = 20 + len(allowed)
        batch = replay.sample(size, rng, n_step=n)
        for i in range(size):
            row, lane = at[tuple(batch.s_tm1_BD[i, -1].flatten()[-2:].tolist())]
            expected = slow_transition(steps, lane, row, n, bootstraps=bootstraps)
            seen.add((row, lane))
            assert np.array_equal(batch.s_tm1_BD[i], expected["s_tm1"])
            assert batch.a_tm1_B[i] == expected["a"]
            assert batch.r_t_B[i] == pytest.approx(expected["r"], abs=1e-5)
            assert batch.discount_t_B[i] == expected["discount"]
            if expected["discount"] > 0:
                assert np.array_equal(batch.s_t_BD[i], expected["s_t"])
            else:
                assert np.array_equal(batch.s_t_BD[i, :3], expected["s_t"][:3])
        if seen == allowed:
            break
    assert seen == allowed


@settings(max_examples=25, deadline=None)
@given(
    num_lanes=st.integers(1, 3),
    start_rows=st.integers(1, 6),
    num_rows=st.integers(1, 25),
    n=st.integers(1, 5),
    mean_length=st.sampled_from([1, 1.5, 3, 10]),
    bootstraps=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_samples_equal_whole_stacks(
    num_lanes: int, start_rows: int, num_rows: int, n: int, mean_length: float,
    bootstraps: bool, seed: int,
) -> None:  # fmt: skip
    games = Games(num_lanes, np.random.default_rng(seed), mean_length)
    replay = FrameReplay(
        start_rows * num_lanes, num_lanes, discount=GAMMA, n_step=n, bootstrap_at_limit=bootstraps
    )
    steps = []
    for _ in range(num_rows):
        steps.append(games.step())
        replay.add(*steps[-1])
    newest = num_rows - n
    oldest = max(0, newest - start_rows + 1)
    assert len(replay) == max(0, newest - oldest + 1) * num_lanes
    if len(replay):
        for of_n in {n, 1}:
            assert_samples_equal(replay, steps, oldest, newest, of_n, bootstraps=bootstraps)


@pytest.mark.parametrize("terminated", [True, False])
def test_the_newest_transition_before_the_next_row_is_there(terminated: bool) -> None:
    replay = FrameReplay(8, 1, discount=GAMMA)
    s_tm1 = np.zeros((1, 4, 84, 84), np.uint8)
    s_tm1[:, 3] = 7
    s_t = np.roll(s_tm1, -1, axis=1)
    s_t[:, 3] = 9
    ends, no = np.array([terminated]), np.zeros(1, bool)
    replay.add(s_tm1, np.array([5]), np.ones(1, np.float32), s_t, ends, no)
    batch = replay.sample(1, np.random.default_rng(0))
    assert batch.s_tm1_BD[0, :, 0, 0].tolist() == [0, 0, 0, 7]
    # A terminal state has no value: its frame is a copy of the one before.
    assert batch.s_t_BD[0, :, 0, 0].tolist() == [0, 0, 7, 7 if terminated else 9]
    assert batch.discount_t_B.tolist() == [0 if terminated else GAMMA]


def test_memory_is_one_frame_a_transition_and_a_few_bytes() -> None:
    replay = FrameReplay(100_000, 8, n_step=3)
    assert replay.nbytes <= 1.01 * 100_000 * FRAME_BYTES


def test_frames_at_time_limits_go_when_their_rows_are_overwritten() -> None:
    replay = FrameReplay(10, 2)
    empty = replay.nbytes
    games, yes, no = Games(2, np.random.default_rng(0), 5), np.ones(2, bool), np.zeros(2, bool)
    for row in range(100):
        s_tm1, a, r, s_t, *_ = games.step()
        replay.add(s_tm1, a, r, s_t, no, yes)
        assert replay.nbytes == empty + 2 * min(row + 1, 5 + 4) * FRAME_BYTES
    for _ in range(9):
        replay.add(s_tm1, a, r, s_t, yes, yes)
    assert replay.nbytes == empty


@pytest.mark.parametrize("num_rows", [10, 30])
def test_a_memory_filled_again_from_its_oldest_row_samples_the_same(num_rows: int) -> None:
    games = Games(1, np.random.default_rng(0), 4)
    first, again = (FrameReplay(10, 1, n_step=3) for _ in range(2))
    steps = [games.step() for _ in range(num_rows)]
    for step in steps:
        first.add(*step)
    oldest = max(0, num_rows - first.num_rows)
    while oldest and not (steps[oldest - 1][4] | steps[oldest - 1][5]):
        oldest -= 1  # to where its episode begins
    assert (oldest > 5) == (num_rows > 20)
    again.skip_to(oldest)
    for step in steps[oldest:]:
        again.add(*step)
    one, other = (r.sample(50, np.random.default_rng(1)) for r in (first, again))
    assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_an_empty_replay_has_nothing_to_sample() -> None:
    with pytest.raises(ValueError, match="nothing to sample"):
        FrameReplay(4, 1).sample(1, np.random.default_rng(0))
