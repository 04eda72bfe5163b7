"""Prioritised replay: who is drawn how often, with what weight, and that it saves whole."""

import numpy as np
import pytest
import torch  # noqa: TID253 - errors are tensors

from mlscale.rl.dqn.atari.frames import FrameReplay
from mlscale.rl.dqn.config import LearnConfig
from mlscale.rl.dqn.priority import PrioritisedSampler, importance_weights
from mlscale.rl.dqn.replay import Replay
from mlscale.rl.dqn.sampling import UniformSampler, make_sampler

CHI_SQUARE_99 = 62.43  # exceeded with probability 0.01 under 39 degrees of freedom


def add_rows(replay: Replay, num_rows: int) -> None:
    lanes, no = replay.steps.num_lanes, np.zeros(replay.steps.num_lanes, bool)
    for _ in range(num_rows):
        row = replay.steps.added
        s = np.array([[100.0 * lane + row] for lane in range(lanes)], np.float32)
        replay.add(s, np.zeros(lanes, np.int64), np.ones(lanes, np.float32), s, no, no)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_importance_weights_by_hand() -> None:
    # P = 0.1, 0.4, 0.5 of N = 3: (N P)^-1 = 3.33, 0.83, 0.67, over the largest 1, 1/4, 1/5.
    got = importance_weights(np.array([1.0, 4.0, 5.0]), beta=1.0)
    assert got.tolist() == pytest.approx([1, 0.25, 0.2])
    half = importance_weights(np.array([1.0, 4.0, 5.0]), beta=0.5)
    assert half.tolist() == pytest.approx([1, 0.5, 0.2**0.5])
    assert importance_weights(np.array([1.0, 4.0]), beta=0.0).tolist() == [1, 1]


def test_beta_rises_in_a_line_to_one() -> None:
    sampler = PrioritisedSampler(Replay(4, 1, 1), alpha=0.5, beta=0.4, beta_steps=100)
    assert [sampler.beta_at(step) for step in (0, 50, 100, 500)] == pytest.approx([0.4, 0.7, 1, 1])


def test_draws_are_proportional_to_errors_to_the_alpha() -> None:
    replay = Replay(40, 2, 1)
    add_rows(replay, 27)  # the ring is full and has turned over
    sampler = PrioritisedSampler(replay, alpha=0.5, beta=0.4, beta_steps=100)
    errors = {}
    for seed in range(60):  # until every transition has been drawn
        batch = sampler.sample(16, rng(seed), 0)
        at = batch.index_B.numpy()
        drawn = rng(7).exponential(size=replay.steps.num_rows * 2)[at] * np.where(at % 2, -1, 1)
        errors |= dict(zip(at.tolist(), np.abs(drawn).tolist(), strict=True))
        sampler.update(batch, torch.from_numpy(drawn))
    assert len(errors) == len(replay) == 40
    counts, source, num_draws = np.zeros(40), rng(1), 400
    for _ in range(num_draws):
        batch = sampler.sample(1, source, 0)  # alone, a draw is independent of all others
        counts[int(batch.index_B[0])] += 1
    expected = np.array([errors[place] ** 0.5 for place in range(40)])
    expected *= num_draws / expected.sum()
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < CHI_SQUARE_99
    even = num_draws / 40
    assert ((counts - even) ** 2 / even).sum() > 2 * CHI_SQUARE_99


def test_weights_of_a_batch_undo_the_bias_of_its_draw() -> None:
    replay = Replay(8, 1, 1)
    add_rows(replay, 8)
    sampler = PrioritisedSampler(replay, alpha=1.0, beta=0.4, beta_steps=10)
    first = sampler.sample(64, rng(), 0)
    assert set(first.index_B.tolist()) == set(range(8))  # every new transition counts alike
    assert torch.allclose(first.weight_B, torch.full((64,), 1 / 64))
    sampler.update(first, first.index_B + 1.0)
    batch = sampler.sample(64, rng(), 10)  # beta is 1 here: weights go with 1 / priority
    priority = batch.index_B + 1.0
    torch.testing.assert_close(batch.weight_B, priority.min() / priority / 64)
    half = sampler.sample(64, rng(), 5)
    torch.testing.assert_close(
        half.weight_B, ((half.index_B.min() + 1) / (half.index_B + 1.0)) ** 0.7 / 64
    )


def test_a_new_transition_has_the_largest_priority_so_far() -> None:
    replay = Replay(8, 1, 1)
    add_rows(replay, 1)
    sampler = PrioritisedSampler(replay, alpha=1.0, beta=0.0, beta_steps=1)
    sampler.update(sampler.sample(1, rng(), 0), torch.tensor([-9.0]))
    sampler.update(sampler.sample(1, rng(), 0), torch.tensor([1.0]))
    add_rows(replay, 1)
    drawn = sampler.sample(1000, rng(), 0).index_B
    assert (drawn == 1).sum() == pytest.approx(900, abs=1)  # of 1 and 9; draws are spread evenly


@pytest.mark.parametrize("num_lanes", [1, 3])
@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("every", [1, 2, 40])  # rows between draws; at 40 the ring turns over
def test_it_reaches_what_uniform_draws_reach_and_nothing_else(
    num_lanes: int, n_step: int, every: int
) -> None:
    replay = Replay(5 * num_lanes, num_lanes, 1, n_step=n_step)
    sampler = PrioritisedSampler(replay, alpha=0.5, beta=0.4, beta_steps=100)
    for turn in range(12):
        add_rows(replay, every)
        if not len(replay):
            continue
        batch = sampler.sample(300, rng(turn), turn)
        newest = replay.steps.added - n_step
        allowed = {
            100 * lane + row
            for row in range(max(0, newest - 4), newest + 1)
            for lane in range(num_lanes)
        }
        assert set(batch.s_tm1_BD[:, 0].tolist()) == allowed
        sampler.update(batch, 0.5 + batch.index_B / 100)


@pytest.mark.parametrize("kind", [Replay, FrameReplay])
def test_a_loaded_sampler_goes_on_as_the_saved_one(kind: type) -> None:
    def memory() -> Replay | FrameReplay:
        return Replay(6, 2, 1) if kind is Replay else FrameReplay(6, 2)

    def add(replay: Replay | FrameReplay, num_rows: int) -> None:
        no, s = np.zeros(2, bool), np.zeros((2, 1) if kind is Replay else (2, 4, 84, 84), np.uint8)
        for _ in range(num_rows):
            replay.add(s, np.zeros(2, np.int64), np.ones(2, np.float32), s, no, no)

    first, second = memory(), memory()
    add(first, 11)
    one = PrioritisedSampler(first, alpha=0.5, beta=0.4, beta_steps=100)
    for turn in range(9):
        batch = one.sample(4, rng(turn), turn)
        one.update(batch, torch.from_numpy(rng(turn).normal(size=4) * 3))
        add(first, 1)
    add(second, 20)  # played again
    other = PrioritisedSampler(second, alpha=0.5, beta=0.4, beta_steps=100)
    other.load(*one.saved())
    for turn in range(9):
        a, b = (sampler.sample(4, rng(turn), turn) for sampler in (one, other))
        assert a.index_B.tolist() == b.index_B.tolist()
        assert a.weight_B.tolist() == b.weight_B.tolist()
        for sampler, batch in (one, a), (other, b):
            sampler.update(batch, torch.from_numpy(rng(turn).normal(size=4)))
        add(first, 1)
        add(second, 1)


def test_uniform_weighs_alike_also_after_a_weighted_batch_of_the_same_size() -> None:
    replay = Replay(8, 1, 1)
    add_rows(replay, 8)
    sampler = make_sampler(replay, LearnConfig(replay="prioritised", priority_alpha=1.0))
    assert isinstance(sampler, PrioritisedSampler)
    batch = sampler.sample(4, rng(), 0)
    sampler.update(batch, batch.index_B + 1.0)
    assert len(set(sampler.sample(4, rng(), 0).weight_B.tolist())) > 1
    uniform = make_sampler(replay, LearnConfig())
    assert isinstance(uniform, UniformSampler)
    assert uniform.sample(4, rng(), 0).weight_B.tolist() == [0.25] * 4


def test_an_empty_replay_has_nothing_to_sample() -> None:
    sampler = PrioritisedSampler(Replay(4, 1, 1), alpha=0.5, beta=0.4, beta_steps=1)
    with pytest.raises(ValueError, match="nothing to sample"):
        sampler.sample(1, rng(), 0)
