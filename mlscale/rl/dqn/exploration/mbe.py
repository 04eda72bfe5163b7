"""Model-based exploration: go where the model says the least familiar state is.

Shape letters: L lanes; A actions; D observation values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.rl.dqn.exploration.base import Explorer
from mlscale.rl.dqn.exploration.density import make_novelty
from mlscale.rl.dqn.exploration.gate import Gate
from mlscale.rl.dqn.exploration.window import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.config import MbeConfig
    from mlscale.rl.dqn.experience import Memory
    from mlscale.rl.dqn.exploration.density import Novelty
    from mlscale.rl.dqn.exploration.dynamics import Dynamics


class ModelBased(Explorer):
    """Of the actions' predicted next states takes the least likely one.

    Actions are random until there are two states to fit a Gaussian to, the model was fitted and
    its gate is open.

    Args:
        num_actions: A.
        num_values: D.
        dynamics: Predicts next states.
        config: Window, density, fits and gate.
        rng: Draws random actions and the transitions to fit.

    Source: Gou and Liu 2019, algorithm 1.
    """

    def __init__(
        self,
        num_actions: int,
        num_values: int,
        dynamics: Dynamics,
        config: MbeConfig,
        rng: np.random.Generator,
    ) -> None:
        self._num_actions, self._dynamics, self._config = num_actions, dynamics, config
        self._rng = rng
        self._window = Window(config.window, num_values)
        self._novelty_of: Novelty = make_novelty(config)
        self._gate = Gate(config.gate_mse, config.gate_every_steps)

    def act(self, s_LD: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the action (L,) with the most novel predicted next state of each state (L, D)."""
        if len(self._window) < 2 or not self._gate.is_open or not self._dynamics.is_fitted:
            return self._rng.integers(0, self._num_actions, len(s_LD))
        next_LAD = self._dynamics.predict(s_LD)
        novelty_LA = self.novelty_of(next_LAD)
        a_L: NDArray[np.int64] = novelty_LA.argmax(axis=1)
        self.novelty = float(novelty_LA[0, a_L[0]])
        return a_L

    def novelty_of(self, next_LAD: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return the novelty (L, A) of states (L, A, D) as seen from the recent ones."""
        num_lanes, num_actions, width = next_LAD.shape
        next_ND = next_LAD.reshape(-1, width).astype("f8")
        novelty_N = self._novelty_of(self._window.states, next_ND)
        return novelty_N.reshape(num_lanes, num_actions)

    def observe(self, s_tm1_LD: NDArray[np.float32], s_t_LD: NDArray[np.float32]) -> None:
        """Take in the states (L, D) before and after a step."""
        self._window.add(s_t_LD)
        self._dynamics.observe(s_tm1_LD, s_t_LD)

    def learn(self, memory: Memory, step: int) -> None:
        """Fit the model, and look whether the gate opens."""
        config = self._config
        if step % config.fit_every_steps == 0 and len(memory) >= config.batch:
            self._dynamics.fit(memory.sample(config.batch, self._rng, n_step=1))
        if len(memory) >= config.gate_samples:
            self._gate.check(step, lambda: self._error(memory))

    def _error(self, memory: Memory) -> float:
        return self._dynamics.error(memory.sample(self._config.gate_samples, self._rng, n_step=1))

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return model, window, gate and generator."""
        tensors, dynamics = self._dynamics.saved()
        return tensors, {
            "dynamics": dynamics,
            "window": self._window.saved(),
            "gate_is_open": self._gate.is_open,
            "rng": self._rng.bit_generator.state,
            "novelty": self.novelty,
        }

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put model, window, gate and generator back."""
        self._dynamics.load(tensors, state["dynamics"])
        self._window.load(state["window"])
        self._gate.is_open = bool(state["gate_is_open"])
        self._rng.bit_generator.state = state["rng"]
        self.novelty = state["novelty"]
