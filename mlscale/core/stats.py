"""Aggregates of scores over many runs of many games, and bootstrap intervals for them.

The interquartile mean, optimality gap, probability of improvement and performance profile of
Agarwal et al. 2021 (arXiv 2108.13264), with 95 % percentile intervals from a bootstrap that
resamples the runs within each game. Games may have unequal numbers of runs: scores come as a
matrix of runs by games, or as a list with one array of runs a game. Every score counts once.

Shape letters: R, S runs of one game; G games; N scores of all games, game after game;
B resamples; K values of one statistic; T thresholds; D distinct scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
Scores: TypeAlias = FloatArray | Sequence[ArrayLike]
"""An array (R, G), runs by games, or a sequence of G arrays (R,), one a game."""
Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""From scores (B, N) to values (B, K): each row is one resample, game after game."""

MIN_RUNS_FOR_INTERVAL = 3
"""With fewer runs in any game the resamples hardly differ, and no interval is given."""

NUM_RESAMPLES = 10_000
MAX_DRAWS = 100_000_000
"""Scores drawn over all resamples; many scores get fewer resamples, down to the minimum."""
MIN_RESAMPLES = 100
CHUNK_DRAWS = 1 << 17
CHUNK_ROWS = 1024
"""Scores (1 MB) and resamples held at once: a statistic has ten or so temporaries like them."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % percentile intervals of the K values of a statistic.

    Args:
        low: (K,) lower bounds, in the unit of the statistic.
        high: (K,) upper bounds, in the unit of the statistic.
        num_resamples: Resamples used: fewer than asked for when there are very many scores.
    """

    low: FloatArray
    high: FloatArray
    num_resamples: int

    def at(self, k: int) -> tuple[float, float]:
        """Return the bounds of the k-th value."""
        return float(self.low[k]), float(self.high[k])


def by_game(scores: Scores) -> list[FloatArray]:
    """Return the runs of each game as one array (R,) a game.

    Args:
        scores: (R, G) array, or a sequence of G arrays (R,) that may differ in length.

    Raises:
        ValueError: No games, a game without runs, a wrong shape or a score that is not finite.
    """
    if isinstance(scores, np.ndarray) and scores.ndim != 2:
        raise ValueError(f"expected scores of shape (runs, games), got {scores.shape}")
    games = scores.T if isinstance(scores, np.ndarray) else scores
    arrays = [np.asarray(game_R, dtype=np.float64) for game_R in games]
    if not arrays:
        raise ValueError("expected scores of at least one game, got none")
    for array in arrays:
        if array.ndim != 1 or array.size == 0:
            raise ValueError(f"expected a game's scores as (runs,), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError("expected finite scores, got NaN or infinity")
    return arrays


def iqm(scores: Scores) -> float:
    """Return the interquartile mean: the mean of the middle half of all scores.

    Args:
        scores: (R, G) array, or G arrays (R,).

    Raises:
        ValueError: As `by_game`.

    Source: Agarwal et al. 2021, section 4.3; `scipy.stats.trim_mean(scores, 0.25, axis=None)`.
    """
    return float(iqm_rows(_one_row(scores))[0])


def optimality_gap(scores: Scores, target: float = 1.0) -> float:
    """Return how far scores fall short of `target` on average; scores beyond it count as it.

    Args:
        scores: (R, G) array, or G arrays (R,).
        target: The score that is good enough, in the unit of the scores.

    Raises:
        ValueError: As `by_game`.

    Source: Agarwal et al. 2021, section 4.3.
    """
    return float(optimality_gap_rows(_one_row(scores), target)[0])


def performance_profile(scores: Scores, thresholds_T: FloatArray) -> FloatArray:
    """Return the share of all scores strictly above each threshold.

    Args:
        scores: (R, G) array, or G arrays (R,).
        thresholds_T: (T,) ascending, in the unit of the scores.

    Returns:
        (T,) shares in [0, 1].

    Raises:
        ValueError: As `by_game`, or thresholds that do not ascend.

    Source: Agarwal et al. 2021, section 4.2 (run-score distribution).
    """
    return performance_profile_rows(_one_row(scores), thresholds_T).ravel()


def probability_of_improvement(x: Scores, y: Scores) -> float:
    """Return P(X > Y) of a random run of each on the same game, ties 1/2, averaged over games.

    Args:
        x: (R, G) array, or G arrays (R,).
        y: (S, G) array, or G arrays (S,), of the same games in the same order.

    Raises:
        ValueError: As `by_game`, or unequal numbers of games.

    Source: Agarwal et al. 2021, section 4.3 (Mann-Whitney U statistic).
    """
    codes, statistic = _improvement(by_game(x), by_game(y))
    return float(statistic(np.concatenate(codes)[None])[0, 0])


def iqm_rows(x_BN: FloatArray) -> FloatArray:
    """Return the interquartile mean (B,) of each row of `x_BN`."""
    num_scores = x_BN.shape[-1]
    num_cut = int(0.25 * num_scores)  # from each end
    # numpy's vectorised sort of short rows is faster than its two-point partition.
    sorted_BN = np.sort(x_BN, axis=-1)
    return np.asarray(sorted_BN[:, num_cut : num_scores - num_cut].mean(axis=-1))


def optimality_gap_rows(x_BN: FloatArray, target: float = 1.0) -> FloatArray:
    """Return the optimality gap (B,) of each row of `x_BN`."""
    return np.asarray(target - np.minimum(x_BN, target).mean(axis=-1))


def performance_profile_rows(x_BN: FloatArray, thresholds_T: FloatArray) -> FloatArray:
    """Return the performance profile (B, T) of each row of `x_BN`; thresholds ascend."""
    thresholds_T = np.asarray(thresholds_T, dtype=np.float64)
    if thresholds_T.ndim != 1 or not (np.diff(thresholds_T) >= 0).all():
        raise ValueError("expected ascending thresholds of shape (thresholds,)")
    # How many thresholds lie strictly below each score: one look-up whatever T is.
    num_passed_BN = np.searchsorted(thresholds_T, x_BN, side="left")
    counts_BT = _count_rows(num_passed_BN, thresholds_T.size + 1)
    above_BT = counts_BT[:, :0:-1].cumsum(axis=-1)[:, ::-1]
    shares_BT: FloatArray = above_BT / x_BN.shape[-1]
    return shares_BT


def game_means_rows(x_BN: FloatArray, num_runs_G: IntArray) -> FloatArray:
    """Return the mean over the runs of each game (B, G) of each row of `x_BN`."""
    return np.add.reduceat(x_BN, _starts(num_runs_G), axis=-1) / num_runs_G


def bootstrap(
    scores: Scores,
    statistic: Statistic,
    *,
    num_resamples: int = NUM_RESAMPLES,
    seed: int = 0,
    chunk_draws: int = CHUNK_DRAWS,
) -> Intervals | None:
    """Return 95 % percentile intervals of any statistic, resampling runs within each game.

    All K values of the statistic see the same resamples. Two samples are resampled
    independently when the games of the second follow those of the first.

    Args:
        scores: (R, G) array, or G arrays (R,).
        statistic: From resampled scores (B, N) to values (B, K), row by row.
        num_resamples: Resamples wanted; `MAX_DRAWS` may allow fewer, see the result.
        seed: Seed of the generator of this call; the same seed gives the same bounds.
        chunk_draws: Scores resampled at once: bounds memory, changes no result.

    Returns:
        The intervals, or None when a game has fewer than `MIN_RUNS_FOR_INTERVAL` runs.

    Raises:
        ValueError: As `by_game`, or fewer than one resample wanted.

    Source: Agarwal et al. 2021, section 4.1 (stratified bootstrap).
    """
    if num_resamples < 1:
        raise ValueError(f"expected at least one resample, got {num_resamples}")
    games = by_game(scores)
    num_runs_G = np.array([game_R.size for game_R in games])
    if num_runs_G.min() < MIN_RUNS_FOR_INTERVAL:
        return None
    num_resamples = min(num_resamples, max(MIN_RESAMPLES, MAX_DRAWS // int(num_runs_G.sum())))
    chunks = _resample(np.concatenate(games), num_runs_G, num_resamples, seed, chunk_draws)
    values_BK = np.concatenate([statistic(x_BN) for x_BN in chunks])
    low_K, high_K = np.percentile(values_BK, [2.5, 97.5], axis=0)
    return Intervals(low_K, high_K, num_resamples)


def bootstrap_performance_profile(
    scores: Scores, thresholds_T: FloatArray, *, num_resamples: int = NUM_RESAMPLES, seed: int = 0
) -> Intervals | None:
    """Return an interval of the performance profile at each threshold (K = T); see `bootstrap`."""
    return bootstrap(
        scores,
        lambda x_BN: performance_profile_rows(x_BN, thresholds_T),
        num_resamples=num_resamples,
        seed=seed,
    )


def bootstrap_probability_of_improvement(
    x: Scores, y: Scores, *, num_resamples: int = NUM_RESAMPLES, seed: int = 0
) -> Intervals | None:
    """Return the interval of `probability_of_improvement` (K = 1); see `bootstrap`."""
    codes, statistic = _improvement(by_game(x), by_game(y))
    return bootstrap(codes, statistic, num_resamples=num_resamples, seed=seed)


def _resample(
    x_N: FloatArray, num_runs_G: IntArray, num_resamples: int, seed: int, chunk_draws: int
) -> Iterator[FloatArray]:
    """Yield chunks (B, N) of resamples, each score replaced by a random run of its game."""
    rng = np.random.default_rng(seed)
    num_runs_N = np.repeat(num_runs_G, num_runs_G)
    start_N = np.repeat(_starts(num_runs_G), num_runs_G)
    num_rows = min(CHUNK_ROWS, max(1, chunk_draws // x_N.size))
    for done in range(0, num_resamples, num_rows):
        # Uniform doubles take one step of the generator each, so chunks cannot change them.
        uniform_BN = rng.random((min(num_rows, num_resamples - done), x_N.size))
        index_BN = (uniform_BN * num_runs_N).astype(np.intp) + start_N
        yield x_N[index_BN]


def _improvement(x: list[FloatArray], y: list[FloatArray]) -> tuple[list[FloatArray], Statistic]:
    """Return codes for the scores of `x`, then `y`, and P(X > Y) as a statistic of codes.

    The codes number the distinct scores of one game after another in ascending order. Counting
    codes makes the Mann-Whitney statistic linear in runs: no pairs, no sorting of resamples.
    """
    if len(x) != len(y):
        raise ValueError(f"expected the same games on both sides, got {len(x)} and {len(y)}")
    codes_x, codes_y, weights, offsets = [], [], [], []
    num_codes = num_y = 0
    for x_R, y_S in zip(x, y, strict=True):
        distinct_D, codes = np.unique(np.concatenate([x_R, y_S]), return_inverse=True)
        codes_x.append((codes[: x_R.size] + num_codes).astype(np.float64))
        codes_y.append((codes[x_R.size :] + num_codes).astype(np.float64))
        weights.append(np.full(distinct_D.size, 1 / (len(x) * x_R.size * y_S.size)))
        offsets.append(np.full(distinct_D.size, num_y))
        num_codes += distinct_D.size
        num_y += y_S.size
    weight_D, offset_D = np.concatenate(weights), np.concatenate(offsets)
    num_x = sum(x_R.size for x_R in x)

    def statistic(codes_BN: FloatArray) -> FloatArray:
        x_BD = _count_rows(codes_BN[:, :num_x].astype(np.intp), num_codes)
        y_BD = _count_rows(codes_BN[:, num_x:].astype(np.intp), num_codes)
        # Runs of y below each score: all counted so far, less earlier games, ties by half.
        below_BD = y_BD.cumsum(axis=-1) - offset_D - 0.5 * y_BD
        return np.asarray((x_BD * below_BD * weight_D).sum(axis=-1, keepdims=True))

    return codes_x + codes_y, statistic


def _count_rows(codes_BN: IntArray, num_codes: int) -> IntArray:
    """Return how often each code 0..num_codes-1 occurs in each row (B, num_codes)."""
    num_rows = codes_BN.shape[0]
    row_B1 = np.arange(num_rows)[:, None]
    counts = np.bincount((codes_BN + num_codes * row_B1).ravel(), minlength=num_rows * num_codes)
    return counts.reshape(num_rows, num_codes)


def _starts(num_runs_G: IntArray) -> IntArray:
    """Return where each game's scores begin among all N (G,)."""
    return np.cumsum(num_runs_G) - num_runs_G


def _one_row(scores: Scores) -> FloatArray:
    """Return all scores as a single row (1, N)."""
    return np.concatenate(by_game(scores))[None]
