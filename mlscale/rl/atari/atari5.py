"""The median over 57 games, predicted from the scores of five.

log10(1 + M) is a weighted sum of log10(1 + max(0, x)) over the five games, where M is the
predicted median and x a game's score, both human-normalised in percent; there is no intercept.

Source: Aitchison, Sweetser and Hutter 2023, "Atari-5: Distilling the Arcade Learning
Environment down to Five Games". The weights are those its authors compute with
(maitchison/PPO, tools/plot_util.py); a least-squares fit to the 44 algorithms of
maitchison/Atari-5 dataset.csv that have all five games gives the same to 15 digits.

Shape letters: B resamples; G the five games; N runs of all of them, game after game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlscale.core import stats
from mlscale.rl.atari.games import find_game
from mlscale.rl.atari.metrics import Aggregate, normalise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from mlscale.core.stats import FloatArray

WEIGHTS = {
    "battle_zone": 0.3819751237831753,
    "double_dunk": 0.0679099488887574,
    "name_this_game": 0.310804148620847,
    "phoenix": 0.12412619402774641,
    "qbert": 0.08048518286466755,
}
PREDICTED = "atari57_median_predicted"
CAVEAT = (
    "atari57_median_predicted is the Atari-5 regression (Aitchison et al. 2023): off by 10.4 % on "
    "average in cross-validation, and fitted to algorithms with medians of 53 % or more, so "
    "lower predictions are extrapolated"
)


def predicted_median(hns_BG: FloatArray) -> FloatArray:
    """Return the predicted median HNS over 57 games.

    Args:
        hns_BG: (B, 5) human-normalised scores as ratios, games in the order of `WEIGHTS`.

    Returns:
        (B,) ratios, at least 0: a game below random play counts as random play.
    """
    logs_BG = np.log10(1 + 100 * np.maximum(hns_BG, 0))
    predicted_B: FloatArray = (10 ** (logs_BG @ np.array(list(WEIGHTS.values()))) - 1) / 100
    return predicted_B


def predict(scores: Mapping[str, ArrayLike], *, num_resamples: int, seed: int) -> Aggregate | None:
    """Return the predicted median of an agent, with its interval over runs.

    The shipped random and human scores are used, whatever the other metrics take: the weights
    were fitted to them.

    Args:
        scores: Per game, its runs (R,) in raw game points.
        num_resamples: Bootstrap resamples of the interval.
        seed: Bootstrap seed.

    Returns:
        The prediction, or None unless the games are exactly the five.
    """
    if set(scores) != set(WEIGHTS):
        return None
    runs = [np.asarray(scores[game], dtype=np.float64) for game in WEIGHTS]
    num_runs_G = np.array([runs_R.size for runs_R in runs])
    games = [find_game(game) for game in WEIGHTS]
    random_G = np.array([game.random for game in games])
    human_G = np.array([game.human for game in games])

    def statistic(x_BN: FloatArray) -> FloatArray:
        means_BG = stats.game_means_rows(x_BN, num_runs_G)
        return predicted_median(normalise(means_BG, random_G, human_G))[:, None]

    value = float(statistic(np.concatenate(runs)[None])[0, 0])
    intervals = stats.bootstrap(runs, statistic, num_resamples=num_resamples, seed=seed)
    return Aggregate(value, intervals.at(0) if intervals else None)
