"""Random pairs that average, drawn anew each round.

Shape letters: N ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlscale.core.seeding import generator
from mlscale.decentral.graphs.mixing import Mixing


@dataclass(frozen=True, slots=True)
class Matching:
    """Perfect matchings without end; with an odd number of ranks one is idle each round.

    A round depends on the seed and the step alone, so that any step can be asked for.

    Args:
        name: As the user names it.
        num_ranks: N.
        seed: Of the draws.
        share: a of the damped form (1 - a) I + a W; 1 for pairs that take their mean.

    Source: Boyd et al. 2006, randomized gossip, with all pairs of a round at once.
    """

    name: str
    num_ranks: int
    seed: int = 0
    share: float = 1.0

    @property
    def period(self) -> None:
        """None: rounds are drawn for ever."""
        return

    @property
    def mean_square(self) -> float:
        """By what factor a round shrinks the mean square distance to the mean, in expectation.

        A pair's difference is left with 1 - a of itself; any two ranks are a pair with the
        probability p = 1 / (N - 1), or 1 / N when one is idle. For a = 1 and even N that gives
        1/2 - 1 / (2 (N - 1)).
        """
        if self.num_ranks == 1:
            return 0.0
        probability = 1 / (self.num_ranks - 1 + self.num_ranks % 2)
        return 1 - (1 - (1 - self.share) ** 2) * self.num_ranks * probability / 2

    def at(self, step: int) -> Mixing:
        """Return the round of a step, from 0."""
        order = generator(self.seed, "matching", step).permutation(self.num_ranks)
        half = self.num_ranks // 2
        one, other = order[:half], order[half : 2 * half]
        own_N = np.ones(self.num_ranks)
        own_N[order[: 2 * half]] = 1 - self.share / 2
        ranks = np.arange(self.num_ranks)
        return Mixing.from_entries(
            self.num_ranks,
            np.concatenate([one, other, ranks]),
            np.concatenate([other, one, ranks]),
            np.concatenate([np.full(2 * half, self.share / 2), own_N]),
        )
