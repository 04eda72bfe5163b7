"""Sums of scores by agent, game and seed against a plain loop, however they are merged."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.rl.atari import score_sums
from mlscale.rl.atari.score_sums import SEED_LIMIT, Batch, ScoreSums

Row = tuple[int, int, int, int, int]  # agent, game, seed, episode, score

SEEDS = st.one_of(st.integers(-3, 12), st.integers(1 - SEED_LIMIT, SEED_LIMIT - 1))
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 56), SEEDS, st.integers(0, 3), st.integers(-99, 99)
    ),
    min_size=1,
    max_size=60,
)


def batch_of(rows: list[Row], *, episodes: bool) -> Batch:
    agent, game, seed, episode, score = np.array(rows, np.int64).T
    return Batch(agent, game, seed, episode if episodes else None, score.astype(float))


def added(batches: list[list[Row]], *, episodes: bool) -> ScoreSums:
    sums = ScoreSums()
    for rows in batches:
        sums.add(batch_of(rows, episodes=episodes))
    return sums


@pytest.fixture(scope="module", autouse=True)
def small_ranges():
    """Merge after every few rows, in ranges of a few keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_sums, "_MERGE_AT_ROWS", 20)
        patch.setattr(score_sums, "_SAMPLE_ROWS", 3)
        patch.setattr(score_sums, "_RANGE_SAMPLES", 2)
        yield


@given(batches=st.lists(ROWS, max_size=8), episodes=st.booleans())
@settings(max_examples=150, deadline=None)
def test_means_and_suspects_equal_a_plain_loop(batches: list[list[Row]], episodes: bool) -> None:
    scores = collections.defaultdict(list)
    seen = collections.Counter()
    for rows in batches:
        for row in rows:
            scores[row[:3]].append(row[4])
            seen[row[: 4 if episodes else 3]] += 1
    sums = added(batches, episodes=episodes)
    again = [(*key, 0, 0)[:5] for key, count in seen.items() if count > 1]
    expected = batch_of(again, episodes=episodes).row_keys() if again else np.empty(0)
    assert sums.suspects().tolist() == sorted(expected.tolist())
    means = sums.take_means()
    assert {pair: mean_S.tolist() for pair, mean_S in means.items()} == {
        (agent, game): [
            pytest.approx(np.mean(scores[key]))
            for key in sorted(scores)
            if key[:2] == (agent, game)
        ]
        for agent, game in sorted({key[:2] for key in scores})
    }
    assert list(means) == sorted(means)


@pytest.mark.parametrize("order", ["by agent", "by seed", "shuffled"])
def test_every_key_ends_in_one_place_whatever_the_order(order: str) -> None:
    rows = [(a, g, s, 0, a + g + s) for a in range(3) for g in range(5) for s in range(70)]
    if order == "by seed":
        rows.sort(key=lambda row: row[2])
    elif order == "shuffled":
        np.random.default_rng(0).shuffle(rows)
    sums = added([rows[start : start + 7] for start in range(0, len(rows), 7)], episodes=False)
    assert len(sums.suspects()) == 0
    assert len(sums._parts) > 20
    assert max(len(part.keys) for part in sums._parts) < len(rows) / 4  # no range is all of it
    keys = np.concatenate([part.keys for part in sums._parts])
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    for (agent, game), mean_S in sums.take_means().items():
        assert mean_S.tolist() == [agent + game + seed for seed in range(70)]


def test_nothing_added_is_nothing_found() -> None:
    assert ScoreSums().suspects().tolist() == []
    assert ScoreSums().take_means() == {}
