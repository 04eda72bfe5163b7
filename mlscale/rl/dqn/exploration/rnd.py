"""Random network distillation: a bonus where a predictor of random features still fails.

Shape letters: B transitions of a batch; D observation values; K features.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.rl.dqn.exploration.epsilon import Uniform
from mlscale.rl.dqn.exploration.moments import Moments
from mlscale.rl.dqn.gradients import differentiable
from mlscale.rl.dqn.networks import load_weights, make_mlp, tensors_of
from mlscale.rl.dqn.optimizer import FusedAdam

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.config import RndConfig
    from mlscale.rl.dqn.replay import Batch

CLIP = 5.0


class Distilled(Uniform):
    """Random exploratory actions, and a bonus for novel states in what values are learned from.

    The bonus of a transition is computed when it is replayed, so it fades as its state becomes
    familiar; after several steps it is that of the state arrived at. A frame memory keeps no frame
    of terminal states: theirs is the bonus of the stack with its last frame twice.

    Args:
        num_actions: Actions.
        num_values: D.
        config: Sizes and rates.
        rng: Draws actions and the first weights.
        see: From states (N, S...) to the values (N, D) that novelty is judged by.

    Source: Burda et al. 2018, section 2. There is one value for both rewards here, and
    the bonus is divided by its own running standard deviation, not by that of its returns.
    """

    def __init__(
        self,
        num_actions: int,
        num_values: int,
        config: RndConfig,
        rng: np.random.Generator,
        see: Callable[[NDArray[Any]], NDArray[np.float32]] = lambda s_BD: s_BD,
    ) -> None:
        super().__init__(num_actions, rng)
        sizes = (num_values, *config.hidden, config.features)
        self._random, self._predictor = make_mlp(sizes, rng), make_mlp(sizes, rng)
        self._features = differentiable(self._random)
        self._guess = differentiable(self._predictor)
        self._adam = FusedAdam(self._predictor, config.lr)
        self._scale, self._see = config.scale, see
        self._states, self._errors = Moments(num_values), Moments(1)

    def observe(self, s_tm1_LD: NDArray[np.float32], s_t_LD: NDArray[np.float32]) -> None:
        """Bring the statistics of states up to date."""
        self._states.add(self._see(s_t_LD))

    def add_bonus(self, batch: Batch) -> None:
        """Add the bonus of the states arrived at to the rewards, and fit the predictor to them."""
        import torch

        z_BD = (self._see(batch.s_t_BD.numpy()) - self._states.mean_D) / self._states.std
        x_BD = torch.from_numpy(z_BD.clip(-CLIP, CLIP).astype(np.float32))
        guess_BK, pull_back = self._guess.linearise(x_BD)
        error_BK = guess_BK - self._features(x_BD)
        novelty_B = error_BK.square().mean(dim=1)
        self._adam.step(pull_back(error_BK.mul_(2 / error_BK.numel())))
        self._errors.add(novelty_B.numpy()[:, None])
        batch.r_t_B.add_(novelty_B, alpha=self._scale / float(self._errors.std[0]))
        self.novelty = float(novelty_B.mean())

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return networks, optimizer, statistics and generator."""
        _, state = super().saved()
        tensors = {
            **tensors_of(self._random, "rnd_random"),
            **tensors_of(self._predictor, "rnd_predictor"),
            **self._adam.saved("rnd_adam"),
        }
        statistics = {"states": self._states.saved(), "errors": self._errors.saved()}
        return tensors, {**state, **statistics, "novelty": self.novelty}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put networks, optimizer, statistics and generator back."""
        super().load(tensors, state)
        load_weights(self._random, "rnd_random", tensors)
        load_weights(self._predictor, "rnd_predictor", tensors)
        self._adam.load("rnd_adam", tensors)
        self._states.load(state["states"])
        self._errors.load(state["errors"])
        self.novelty = state["novelty"]
