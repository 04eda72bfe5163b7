"""Scores of one Atari agent against random play, the average human and human world records.

HNS = (G - r) / (h - r) and HWRNS = (G - r) / (w - r) of a raw game score G, with random play r,
human average h and world record w of that game. SABER is HWRNS clipped at 2, so that no single
game can carry the mean. Every value is a ratio: 1 is the human average, or the record.

Shape letters: G games; N runs of all games, game after game; B resamples; K aggregates.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlscale.core import stats
from mlscale.core.errors import UserError

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
Clip: TypeAlias = Literal["upper", "both"]
"""SABER's clip: at most 2, or into [0, 2]."""
Ties: TypeAlias = Literal["count", "strict"]
"""Whether a score equal to the record breaks it."""

SABER_CAP = 2.0
TIE_RTOL = 1e-12
"""Far above the rounding of a mean of runs, far below one point of the largest record."""


@dataclass(frozen=True, slots=True)
class GameMetrics:
    """One game's mean over its runs: `score` in game points, the normalised scores as ratios.

    A value is None where a reference score it needs is missing. CHNS is HNS clipped into [0, 1].
    The intervals are those of the mean over runs, None with fewer than 3 runs.
    """

    game: str
    num_runs: int
    score: float
    hns: float | None
    chns: float | None
    hwrns: float | None
    saber: float | None
    record_broken: bool | None
    score_ci95: tuple[float, float] | None = None
    hns_ci95: tuple[float, float] | None = None
    hwrns_ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number over games, and its 95 % interval unless a game has fewer than 3 runs."""

    value: float
    ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class AgentMetrics:
    """All values of one agent.

    Args:
        games: Every game given, in the order given.
        aggregates: By name: `{hns,chns,hwrns,saber}_{mean,median,iqm,gap}`,
            `hwrns_clipped_mean` and `records_broken`; without those no game counts for.
        hns_games: Games counted for HNS and CHNS.
        record_games: Games counted for HWRNS, SABER and records broken.
        without_human: Games skipped there for lack of a random or human score.
        without_record: Games skipped there for lack of a random or record score.
        num_resamples: Bootstrap resamples behind the intervals; 0 without intervals.
    """

    games: tuple[GameMetrics, ...]
    aggregates: Mapping[str, Aggregate]
    hns_games: tuple[str, ...]
    record_games: tuple[str, ...]
    without_human: tuple[str, ...]
    without_record: tuple[str, ...]
    num_resamples: int


def normalise(scores: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return scores as a ratio: 0 at `low`, 1 at `high`.

    Args:
        scores: (..., G) raw scores, game points.
        low: (G,) random play, game points.
        high: (G,) human average for HNS, world record for HWRNS, game points.

    Source: Mnih et al. 2015 (HNS); Toromanoff et al. 2019, SABER (HWRNS).
    """
    return (scores - low) / (high - low)


def saber(hwrns: FloatArray, clip: Clip = "upper") -> FloatArray:
    """Return HWRNS clipped at 2 from above, and with `both` also at 0 from below.

    Args:
        hwrns: (...) ratios.
        clip: Published means of several agents only come out without the lower clip.

    Source: Toromanoff et al. 2019, SABER.
    """
    return np.clip(hwrns, 0.0 if clip == "both" else -np.inf, SABER_CAP)


def records_broken(
    scores: FloatArray, random: FloatArray, record: FloatArray, ties: Ties = "count"
) -> BoolArray:
    """Return which games' world record is broken (HWRB).

    Raw scores are compared, not ratios, and a difference within rounding is a tie. The record
    lies on the far side of random play, above it or (where low scores win) below it.

    Args:
        scores: (..., G) raw scores averaged over runs, game points.
        random: (G,) game points.
        record: (G,) game points.
        ties: `count`: HWRNS >= 1; `strict`: HWRNS > 1.

    Source: Fan 2021, arXiv 2112.04145.
    """
    lead = (scores - record) * np.sign(record - random)
    rounding = TIE_RTOL * (np.abs(record) + np.abs(random))
    return np.asarray(lead >= -rounding if ties == "count" else lead > rounding)


def learning_efficiency(aggregate: float, train_frames: int) -> float:
    """Return an aggregate (a ratio, not percent) per training frame.

    Raises:
        UserError: No training frames.
    """
    if train_frames <= 0:
        raise UserError(f"training frames must be positive, got {train_frames}")
    return aggregate / train_frames


def game_days(frames: float) -> float:
    """Return how many days `frames` last at the console's 60 frames a second."""
    return frames / (60 * 3600 * 24)


def score_agent(
    scores: Mapping[str, ArrayLike],
    *,
    random: Mapping[str, float],
    human: Mapping[str, float],
    record: Mapping[str, float],
    clip: Clip = "upper",
    ties: Ties = "count",
    num_resamples: int = stats.NUM_RESAMPLES,
    seed: int = 0,
) -> AgentMetrics:
    """Return every per-game value and every aggregate of one agent.

    Means, medians and records broken average each game's runs first; IQM and optimality gap
    (target 1) take, and clip, every run as one score. All intervals share the resamples.

    Args:
        scores: Per game, its runs (R,) in raw game points; games may differ in R.
        random: Random play per game, game points; NaN or no entry where unknown.
        human: Human average per game, game points; NaN or no entry where unknown.
        record: Human world record per game, game points; NaN or no entry where unknown.
        clip: SABER's clip.
        ties: Whether equalling a record breaks it.
        num_resamples: Bootstrap resamples wanted.
        seed: Bootstrap seed.

    Raises:
        UserError: No runs of a game, a run that is not a finite number, a reference equal to
            random play, or no game with the references for any metric.
    """
    games = tuple(scores)
    runs = [_runs(game, scores[game]) for game in games]
    refs = _References(*(_lookup(games, table) for table in (random, human, record)))
    has_human_G = _usable(games, refs.random, refs.human, "human average")
    has_record_G = _usable(games, refs.random, refs.record, "world record")
    resampling = _Resampling(num_resamples, seed)
    if not (has_human_G | has_record_G).any():
        raise UserError("no game has a random score and a human average or world record")
    unknown_G = np.full(len(games), np.nan)
    families = (
        _aggregate(runs, has_human_G, refs._replace(record=unknown_G), clip, ties, resampling),
        _aggregate(runs, has_record_G, refs._replace(human=unknown_G), clip, ties, resampling),
    )
    return AgentMetrics(
        games=_per_game(games, runs, refs, clip, ties, resampling),
        aggregates={name: value for family, _ in families for name, value in family.items()},
        hns_games=tuple(itertools.compress(games, has_human_G)),
        record_games=tuple(itertools.compress(games, has_record_G)),
        without_human=tuple(itertools.compress(games, ~has_human_G)),
        without_record=tuple(itertools.compress(games, ~has_record_G)),
        num_resamples=max(num_used for _, num_used in families),
    )


class _References(NamedTuple):
    """Reference scores, (G,) each in game points, NaN where missing."""

    random: FloatArray
    human: FloatArray
    record: FloatArray


class _Resampling(NamedTuple):
    """How intervals are drawn."""

    num_resamples: int
    seed: int

    def intervals(
        self, runs: Sequence[FloatArray], statistic: stats.Statistic
    ) -> stats.Intervals | None:
        """Return the intervals of a statistic of some games' runs; None with too few runs."""
        return stats.bootstrap(runs, statistic, num_resamples=self.num_resamples, seed=self.seed)


def _aggregate(
    runs: Sequence[FloatArray],
    counted_G: BoolArray,
    refs: _References,
    clip: Clip,
    ties: Ties,
    resampling: _Resampling,
) -> tuple[dict[str, Aggregate], int]:
    """Return the aggregates of the counted games and how many resamples they took.

    Games that count for nothing cannot take the intervals away.
    """
    if not counted_G.any():
        return {}, 0
    counted = list(itertools.compress(runs, counted_G))
    num_runs_G = np.array([runs_R.size for runs_R in counted])
    counted_refs = _References(*(table_G[counted_G] for table_G in refs))

    def values(x_BN: FloatArray) -> dict[str, FloatArray]:
        return _aggregate_rows(x_BN, num_runs_G, counted_refs, clip, ties)

    points = values(np.concatenate(counted)[None])
    intervals = resampling.intervals(
        counted, lambda x_BN: np.stack(list(values(x_BN).values()), axis=-1)
    )
    found = {
        name: Aggregate(float(value_B[0]), intervals.at(k) if intervals else None)
        for k, (name, value_B) in enumerate(points.items())
    }
    return found, intervals.num_resamples if intervals else 0


def _normalised(scores: FloatArray, refs: _References, clip: Clip) -> dict[str, FloatArray]:
    """Return every normalised score (..., G) by name, NaN where a reference is missing."""
    hns = normalise(scores, refs.random, refs.human)
    hwrns = normalise(scores, refs.random, refs.record)
    return {"hns": hns, "chns": np.clip(hns, 0, 1), "hwrns": hwrns, "saber": saber(hwrns, clip)}


def _aggregate_rows(
    x_BN: FloatArray, num_runs_G: stats.IntArray, refs: _References, clip: Clip, ties: Ties
) -> dict[str, FloatArray]:
    """Return every aggregate (B,) by name, from the raw scores of all runs."""
    mean_BG = stats.game_means_rows(x_BN, num_runs_G)
    refs_N = _References(*(np.repeat(table_G, num_runs_G) for table_G in refs))
    by_run, by_game = _normalised(x_BN, refs_N, clip), _normalised(mean_BG, refs, clip)
    aggregates: dict[str, FloatArray] = {}
    for name in by_game:
        game_BG, run_BN = _known_columns(by_game[name]), _known_columns(by_run[name])
        if game_BG.size:
            aggregates[f"{name}_mean"] = game_BG.mean(axis=-1)
            aggregates[f"{name}_median"] = np.median(game_BG, axis=-1)
            aggregates[f"{name}_iqm"] = stats.iqm_rows(run_BN)
            aggregates[f"{name}_gap"] = stats.optimality_gap_rows(run_BN)
    hwrns_BG = _known_columns(by_game["hwrns"])
    if hwrns_BG.size:
        aggregates["hwrns_clipped_mean"] = np.minimum(hwrns_BG, 1).mean(axis=-1)
        # A missing record compares as NaN, which breaks nothing.
        broken_BG = records_broken(mean_BG, refs.random, refs.record, ties)
        aggregates["records_broken"] = broken_BG.sum(axis=-1, dtype=np.float64)
    return aggregates


def _per_game(
    games: Sequence[str],
    runs: Sequence[FloatArray],
    refs: _References,
    clip: Clip,
    ties: Ties,
    resampling: _Resampling,
) -> tuple[GameMetrics, ...]:
    """Return the values of each game's mean score, with the ends of its interval."""
    score_G = np.array([runs_R.mean() for runs_R in runs])
    ends_2G = _score_ends(runs, resampling)
    broken_G = records_broken(score_G, refs.random, refs.record, ties)
    values, ends = _normalised(score_G, refs, clip), _normalised(ends_2G, refs, clip)
    known = {name: _known(value_G) for name, value_G in values.items()}
    return tuple(
        GameMetrics(
            game=game,
            num_runs=runs[g].size,
            score=float(score_G[g]),
            hns=known["hns"][g],
            chns=known["chns"][g],
            hwrns=known["hwrns"][g],
            saber=known["saber"][g],
            record_broken=None if known["hwrns"][g] is None else bool(broken_G[g]),
            score_ci95=_interval(ends_2G[:, g]),
            hns_ci95=_interval(ends["hns"][:, g]),
            hwrns_ci95=_interval(ends["hwrns"][:, g]),
        )
        for g, game in enumerate(games)
    )


def _score_ends(runs: Sequence[FloatArray], resampling: _Resampling) -> FloatArray:
    """Return the ends (2, G) of the intervals of the games' means, NaN with too few runs."""
    enough = [g for g, runs_R in enumerate(runs) if runs_R.size >= stats.MIN_RUNS_FOR_INTERVAL]
    ends_2G = np.full((2, len(runs)), np.nan)
    if enough:
        num_runs_G = np.array([runs[g].size for g in enough])
        intervals = resampling.intervals(
            [runs[g] for g in enough], lambda x_BN: stats.game_means_rows(x_BN, num_runs_G)
        )
        if intervals is not None:
            ends_2G[:, enough] = intervals.low, intervals.high
    return ends_2G


def _interval(ends_2: FloatArray) -> tuple[float, float] | None:
    if np.isnan(ends_2).any():
        return None
    return float(ends_2.min()), float(ends_2.max())


def _known(value_G: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in value_G]


def _runs(game: str, scores: ArrayLike) -> FloatArray:
    """Return one game's runs (R,)."""
    runs_R = np.asarray(scores, dtype=np.float64)
    if runs_R.ndim != 1 or runs_R.size == 0 or not np.isfinite(runs_R).all():
        raise UserError(f"{game}: expected a list of one or more finite scores")
    return runs_R


def _lookup(games: Sequence[str], table: Mapping[str, float]) -> FloatArray:
    """Return the reference scores (G,) of `games`, NaN where there is none."""
    return np.array([table.get(game, np.nan) for game in games], dtype=np.float64)


def _usable(games: Sequence[str], random_G: FloatArray, high_G: FloatArray, name: str) -> BoolArray:
    """Return where both reference scores are known (G,), refusing a scale of zero length."""
    for game in itertools.compress(games, high_G == random_G):
        raise UserError(f"{game}: the {name} equals the random score, so no scale is defined")
    return np.isfinite(high_G - random_G)


def _known_columns(values: FloatArray) -> FloatArray:
    """Return the columns that are not NaN; a missing reference makes a whole column NaN."""
    return values[:, ~np.isnan(values[0])]
