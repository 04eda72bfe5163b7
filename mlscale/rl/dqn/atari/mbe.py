"""Model-based exploration from pixels: among latents, go where the least familiar one is.

Shape letters: L lanes; A actions; D features of a latent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.rl.dqn.atari.drifting import Drifting
from mlscale.rl.dqn.exploration.base import Explorer

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.atari.config import LatentMbeConfig
    from mlscale.rl.dqn.atari.density import Density
    from mlscale.rl.dqn.atari.latent import LatentDynamics
    from mlscale.rl.dqn.atari.latents import Latents
    from mlscale.rl.dqn.experience import Memory

VISITED_DECAY = 0.999
"""Per step of all lanes."""
CANDIDATES = 8
"""Stretches drawn for each one fitted: with values acting, few are of one action."""


class LatentModelBased(Explorer):
    """Of the actions' predicted next latents takes the least familiar one.

    An exploratory action is held for some steps, and the model is one of the whole hold: a single
    step of four frames moves a latent too little to tell the actions apart. It is fitted to
    replayed stretches in which one action was held, by whichever policy, once or more for every
    action asked for: where few are, it may lag behind the encoder, and little is lost. What the
    density sees is standardised by the features of the last thousands of steps: those that hardly
    vary tell where one is, too. Actions are random until the model was fitted and there are
    latents to compare with; equally unfamiliar ones are chosen among at random.

    Args:
        num_actions: A.
        num_features: D.
        latents: From frames to latents.
        dynamics: Predicts next latents.
        density: Knows the latents visited.
        config: When and how the model is fitted.
        hold_steps: Steps an exploratory action is held for.
        rng: Draws random actions and the transitions to fit.

    Source: Gou and Liu 2019, algorithm 1, on latents instead of states.
    """

    def __init__(
        self,
        num_actions: int,
        num_features: int,
        latents: Latents,
        dynamics: LatentDynamics,
        density: Density,
        config: LatentMbeConfig,
        hold_steps: int,
        rng: np.random.Generator,
    ) -> None:
        self._num_actions, self._latents = num_actions, latents
        self._dynamics, self._density, self._config = dynamics, density, config
        self._hold_steps, self._rng = hold_steps, rng
        self._visited = Drifting(num_features, VISITED_DECAY)
        self._num_due = 0  # updates; none when a state is saved: the trainer acts, then learns

    def act(self, s_LD: NDArray[Any]) -> NDArray[np.int64]:
        """Return the action (L,) with the least familiar predicted next latent of each state."""
        self._num_due += len(s_LD) * self._config.fits_per_action
        if self._density.num_seen < 2 or not self._dynamics.num_fits:
            return self._rng.integers(0, self._num_actions, len(s_LD))
        next_LAD = self._dynamics.predict(self._latents(s_LD))
        next_ND = self._standardise(next_LAD.reshape(-1, next_LAD.shape[-1]))
        novelty_LA = self._density.novelty(next_ND).reshape(next_LAD.shape[:2])
        best_L1 = novelty_LA.max(axis=1, keepdims=True)
        tickets_LA = np.where(novelty_LA == best_L1, self._rng.random(novelty_LA.shape), -1.0)
        self.novelty = float(best_L1[0, 0])
        a_L: NDArray[np.int64] = tickets_LA.argmax(axis=1)
        return a_L

    def observe(self, s_tm1_LD: NDArray[Any], s_t_LD: NDArray[Any]) -> None:
        """Take in the states (L, 4, 84, 84) before and after a step."""
        z_LD = self._latents(s_t_LD)
        self._visited = self._visited.with_batch(z_LD)
        self._density.add(self._standardise(z_LD))

    def _standardise(self, z_ND: NDArray[np.float32]) -> NDArray[np.float32]:
        return (z_ND - self._visited.mean) / self._visited.std

    def learn(self, memory: Memory, step: int) -> None:
        """Fit the model as often as actions were chosen since."""
        config = self._config
        num_fits, self._num_due = self._num_due, 0
        if step >= config.fit_from_steps and len(memory):
            for _ in range(num_fits):
                self._fit(memory)

    def _fit(self, memory: Memory) -> None:
        config = self._config
        index_N = memory.steps.draw(CANDIDATES * config.batch, self._rng)
        index_N = index_N[memory.steps.held(index_N, self._hold_steps)]
        if not len(index_N):
            return
        batch = memory.take(np.resize(index_N, config.batch), n_step=self._hold_steps)
        z_tm1_BD, z_t_BD = self._latents.of(batch.s_tm1_BD), self._latents.of(batch.s_t_BD)
        self._dynamics.fit(z_tm1_BD, batch.a_tm1_B, z_t_BD)

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return model, density and generator."""
        dynamics_tensors, dynamics = self._dynamics.saved()
        density_tensors, density = self._density.saved()
        return {**dynamics_tensors, **density_tensors}, {
            "dynamics": dynamics,
            "density": density,
            "visited": self._visited.saved(),
            "rng": self._rng.bit_generator.state,
            "novelty": self.novelty,
        }

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put model, density and generator back."""
        self._dynamics.load(tensors, state["dynamics"])
        self._density.load(tensors, state["density"])
        self._visited = Drifting.loaded(state["visited"])
        self._rng.bit_generator.state = state["rng"]
        self.novelty = state["novelty"]
