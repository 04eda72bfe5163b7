"""The training loop of every agent: act, step, store, update; one vector step at a time.

Shape letters: L lanes; A actions; D observation values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mlscale.core.seeding import generator
from mlscale.rl.dqn.exploration.make import make_explorer
from mlscale.rl.dqn.lanes import Lanes
from mlscale.rl.dqn.learner import Learner
from mlscale.rl.dqn.networks import Mirror
from mlscale.rl.dqn.replay import Replay
from mlscale.rl.dqn.schedules import epsilon_at
from mlscale.rl.dqn.success import success_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.config import AgentConfig


class Episode(NamedTuple):
    """One finished episode of a training.

    Attributes:
        step: Environment steps of the training when it ended.
        episode: Its number, from 0.
        episode_return: Its undiscounted return.
        length: Its steps.
        success: Whether it succeeded; None where that is not defined.
        epsilon: Share of exploratory actions when it ended.
        loss: Mean loss of the updates since the episode before; None when there were none.
        novelty: As the exploration strategy measured it last; None when it measures none.
    """

    step: int
    episode: int
    episode_return: float
    length: int
    success: bool | None
    epsilon: float
    loss: float | None
    novelty: float | None

    def record(self) -> dict[str, Any]:
        """Return it as a flat record, the return under its own name."""
        record = self._asdict()
        record["return"] = record.pop("episode_return")
        return record


class Trainer:
    """One training of one agent, from its seed alone.

    Args:
        config: The settings.
        agent: dqn, dqn_mbe or dqn_rnd.

    Attributes:
        step: Environment steps taken so far, all lanes together.
    """

    def __init__(self, config: AgentConfig, agent: str) -> None:
        learn, seed = config.learn, config.seed
        self._config, self._learn = config, learn
        self._lanes = Lanes(config.env, config.lanes, seed)
        num_values, num_actions = self._lanes.num_values, self._lanes.num_actions
        self._learner = Learner(num_values, num_actions, learn, generator(seed, "network"))
        self._values = Mirror(self._learner.online)
        self._explorer = make_explorer(
            agent, num_actions, num_values, config, generator(seed, "explore")
        )
        self._replay = Replay(
            learn.replay_steps,
            config.lanes,
            num_values,
            discount=learn.discount,
            n_step=learn.n_step,
            bootstrap_at_limit=learn.time_limits == "bootstrap",
        )
        self._sample_rng, self._act_rng = generator(seed, "sample"), generator(seed, "act")
        self._only_steps = config.explore.only_steps_of(agent)
        self._success = success_of(config.env)
        self._updates_from = max(learn.start_steps, learn.batch + (learn.n_step - 1) * config.lanes)
        self.step = 0
        self._num_episodes = 0
        self._loss_sum, self._num_losses = 0.0, 0

    @property
    def epsilon(self) -> float:
        """Share of exploratory actions at the present step."""
        return epsilon_at(self._config.explore, self.step, self._only_steps)

    def advance(self) -> list[Episode]:
        """Take one step in every lane and learn from it; return the episodes that ended.

        Raises:
            WorkFailed: A loss is NaN or infinite.
        """
        a_L = self._act()
        step = self._lanes.step(a_L)
        self._replay.add(
            step.s_tm1_LD, a_L, step.r_t_L, step.s_t_LD, step.terminated_L, step.truncated_L
        )
        self._explorer.observe(step.s_tm1_LD, step.s_t_LD)
        for _ in range(len(a_L)):
            self.step += 1
            self._learn_once()
        return [self._episode(*ended) for ended in step.ended]

    def _act(self) -> NDArray[np.int64]:
        """Return an action (L,) for every lane: exploratory with probability epsilon."""
        s_LD, epsilon = self._lanes.s_LD, self.epsilon
        explores_L = self._act_rng.random(len(s_LD)) < epsilon
        if explores_L.all():
            return self._explorer.act(s_LD)
        a_L: NDArray[np.int64] = self._values(s_LD).argmax(axis=1)
        if explores_L.any():
            a_L[explores_L] = self._explorer.act(s_LD[explores_L])
        return a_L

    def _learn_once(self) -> None:
        """Do what is due at the present environment step."""
        learn, step = self._learn, self.step
        if step >= self._updates_from and step % learn.train_every_steps == 0:
            for _ in range(learn.updates):
                batch = self._replay.sample(learn.batch, self._sample_rng)
                self._explorer.add_bonus(batch)
                self._loss_sum += self._learner.update(batch)
                self._num_losses += 1
        if step % learn.target_every_steps == 0:
            self._learner.copy_to_target()
        self._explorer.learn(self._replay, step)

    def _episode(self, episode_return: float, length: int, terminated: bool) -> Episode:
        loss = self._loss_sum / self._num_losses if self._num_losses else None
        self._loss_sum, self._num_losses = 0.0, 0
        succeeded = self._success(episode_return, terminated=terminated)
        episode = Episode(
            step=self.step,
            episode=self._num_episodes,
            episode_return=episode_return,
            length=length,
            success=succeeded if self._success.is_known else None,
            epsilon=self.epsilon,
            loss=loss,
            novelty=self._explorer.novelty,
        )
        self._num_episodes += 1
        return episode

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything that going on from here needs: tensors, and plain values."""
        replay_tensors, replay = self._replay.saved()
        explorer_tensors, explorer = self._explorer.saved()
        state = {
            "step": self.step,
            "episodes": self._num_episodes,
            "losses": [self._loss_sum, self._num_losses],
            "lanes": self._lanes.saved(),
            "replay": replay,
            "explorer": explorer,
            "sample_rng": self._sample_rng.bit_generator.state,
            "act_rng": self._act_rng.bit_generator.state,
        }
        return {**self._learner.saved(), **replay_tensors, **explorer_tensors}, state

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Go on from what `saved` gave.

        Raises:
            WorkFailed: An environment did not come to the same state again.
        """
        self.step, self._num_episodes = int(state["step"]), int(state["episodes"])
        self._loss_sum, self._num_losses = float(state["losses"][0]), int(state["losses"][1])
        self._learner.load(tensors)
        self._replay.load(tensors, state["replay"])
        self._explorer.load(tensors, state["explorer"])
        self._lanes.load(state["lanes"])
        self._sample_rng.bit_generator.state = state["sample_rng"]
        self._act_rng.bit_generator.state = state["act_rng"]

    def close(self) -> None:
        """Close the environments."""
        self._lanes.close()
