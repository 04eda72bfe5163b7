"""The replay and n-step returns against hand-computed numbers and a slow loop."""

import numpy as np
import pytest

from mlscale.rl.dqn.nstep import n_step_returns
from mlscale.rl.dqn.replay import Replay
from mlscale.rl.dqn.steps import Steps

GAMMA = 0.5


def bools(*values: int) -> np.ndarray:
    return np.array([values], dtype=bool)


def test_three_step_return_by_hand() -> None:
    r = np.array([[1.0, 2.0, 4.0]], dtype=np.float32)
    got = n_step_returns(r, bools(0, 0, 0), bools(0, 0, 0), GAMMA, bootstrap_at_limit=True)
    assert (got.r_t_B[0], got.discount_t_B[0], got.last_B[0]) == (1 + 1 + 1, 0.125, 2)


def test_termination_cuts_the_sum_and_the_bootstrap() -> None:
    r = np.array([[1.0, 2.0, 4.0]], dtype=np.float32)
    got = n_step_returns(r, bools(0, 1, 0), bools(0, 0, 0), GAMMA, bootstrap_at_limit=True)
    assert (got.r_t_B[0], got.discount_t_B[0], got.last_B[0]) == (2, 0, 1)


@pytest.mark.parametrize(("bootstraps", "discount"), [(True, 0.25), (False, 0.0)])
def test_a_time_limit_is_bootstrapped_through_only_when_asked(
    bootstraps: bool, discount: float
) -> None:
    r = np.array([[1.0, 2.0, 4.0]], dtype=np.float32)
    got = n_step_returns(r, bools(0, 0, 0), bools(0, 1, 0), GAMMA, bootstrap_at_limit=bootstraps)
    assert (got.r_t_B[0], got.discount_t_B[0], got.last_B[0]) == (2, discount, 1)


def slow_return(steps: list[dict], start: int, n: int, *, bootstraps: bool) -> tuple:
    total, power = 0.0, 1.0
    for step in steps[start : start + n]:
        total += power * step["r"]
        power *= GAMMA
        last = step
        if step["terminated"] or step["truncated"]:
            break
    stops = last["terminated"] or (last["truncated"] and not bootstraps)
    return total, 0.0 if stops else power, last["s_t"]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("bootstraps", [True, False])
@pytest.mark.parametrize("num_rows", [7, 25])  # before and after the ring is full
def test_samples_equal_a_slow_loop(n: int, bootstraps: bool, num_rows: int) -> None:
    rng = np.random.default_rng(n)
    lanes = 2
    replay = Replay(20, lanes, 1, discount=GAMMA, n_step=n, bootstrap_at_limit=bootstraps)
    history: list[list[dict]] = [[] for _ in range(lanes)]
    for row in range(num_rows):
        s = np.array([[100.0 * lane + row] for lane in range(lanes)], np.float32)
        r = rng.normal(size=lanes).astype(np.float32)
        terminated, truncated = rng.random(lanes) < 0.2, rng.random(lanes) < 0.2
        replay.add(s, np.full(lanes, row), r, s + 0.5, terminated, truncated)
        for lane in range(lanes):
            history[lane].append(
                {"r": r[lane], "terminated": terminated[lane], "truncated": truncated[lane],
                 "s_t": s[lane, 0] + 0.5}
            )  # fmt: skip
    batch = replay.sample(500, rng)
    seen = set()
    for i in range(500):
        lane, row = divmod(int(batch.s_tm1_BD[i, 0]), 100)
        seen.add((lane, row))
        expected = slow_return(history[lane], row, n, bootstraps=bootstraps)
        got = (float(batch.r_t_B[i]), float(batch.discount_t_B[i]), float(batch.s_t_BD[i, 0]))
        assert got == pytest.approx(expected, abs=1e-6)
        assert int(batch.a_tm1_B[i]) == row
    oldest = max(0, num_rows - (10 + n - 1))
    assert seen == {(lane, row) for lane in range(lanes) for row in range(oldest, num_rows - n + 1)}
    assert len(replay) == len(seen)


def test_an_empty_replay_has_nothing_to_sample() -> None:
    with pytest.raises(ValueError, match="nothing to sample"):
        Replay(4, 1, 1).sample(1, np.random.default_rng(0))


def test_one_step_samples_come_out_of_an_n_step_replay() -> None:
    replay = Replay(10, 1, 1, discount=GAMMA, n_step=3)
    no = np.zeros(1, bool)
    for row in range(6):
        s = np.array([[row]], np.float32)
        replay.add(s, np.zeros(1, np.int64), np.ones(1, np.float32), s + 1, no, no)
    batch = replay.sample(50, np.random.default_rng(0), n_step=1)
    assert (batch.s_t_BD == batch.s_tm1_BD + 1).all()
    assert (batch.r_t_B == 1).all()


def test_loading_what_was_saved_samples_the_same() -> None:
    def filled(count: int) -> Replay:
        replay = Replay(8, 1, 2)
        rng = np.random.default_rng(0)
        for _ in range(count):
            s = rng.normal(size=(1, 2)).astype(np.float32)
            no = np.zeros(1, bool)
            replay.add(s, np.zeros(1, np.int64), np.ones(1, np.float32), s, no, no)
        return replay

    for count in (5, 13):
        first, second = filled(count), Replay(8, 1, 2)
        second.load(*first.saved())
        a = first.sample(16, np.random.default_rng(1)).s_tm1_BD.clone()
        assert (a == second.sample(16, np.random.default_rng(1)).s_tm1_BD).all()


@pytest.mark.parametrize("num_rows", [6, 40, 137])
def test_held_actions_are_those_a_slow_loop_finds(num_rows: int) -> None:
    rng = np.random.default_rng(num_rows)
    steps = Steps(60, 2, discount=0.9, n_step=3, bootstrap_at_limit=True)
    actions, ends = rng.integers(0, 2, (num_rows, 2)), rng.random((num_rows, 2)) < 0.05
    limits = rng.random((num_rows, 2)) < 0.05
    for a_L, end_L, limit_L in zip(actions, ends, limits, strict=True):
        steps.add(a_L, np.zeros(2, np.float32), end_L, limit_L)
    num_held = 0
    for row in range(max(0, num_rows - steps.num_rows), num_rows):
        for lane in range(2):
            index_B = np.array([row % steps.num_rows * 2 + lane])
            stretch = slice(row, row + 4)
            expected = (
                row + 4 <= num_rows
                and len(set(actions[stretch, lane])) == 1
                and not (ends | limits)[stretch, lane].any()
            )
            assert steps.held(index_B, 4).tolist() == [expected], row
            num_held += expected
    assert num_held or num_rows == 6
