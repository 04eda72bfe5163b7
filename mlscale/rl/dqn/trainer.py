"""The training loop of every agent: act, step, store, update; one vector step at a time.

Shape letters: L lanes; A actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from mlscale.core.seeding import generator
from mlscale.rl.dqn.exploration.spells import Spells
from mlscale.rl.dqn.sampling import make_sampler
from mlscale.rl.dqn.schedules import epsilon_at

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.dqn.config import ExploreConfig, LearnerConfig
    from mlscale.rl.dqn.lanes import Ended
    from mlscale.rl.dqn.parts import Parts


class Settings(Protocol):
    """What a trainer has to know of a training, whatever its environments are."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def lanes(self) -> int:
        """Environments stepped side by side."""

    @property
    def learn(self) -> LearnerConfig:
        """How values are learned."""

    @property
    def explore(self) -> ExploreConfig:
        """When to explore."""


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
        parts: What it works with.

    Attributes:
        step: Environment steps taken so far, all lanes together.
    """

    def __init__(self, config: Settings, agent: str, parts: Parts) -> None:
        learn, seed, lanes = config.learn, config.seed, config.lanes
        self._explore, self._learn, self._parts = config.explore, learn, parts
        self._sampler = make_sampler(parts.experience.memory, learn)
        self._sample_rng = generator(seed, "sample")
        self._act_rng = generator(seed, "act")
        self._spells = Spells(lanes, config.explore.hold_steps, self._act_rng)
        self._only_steps = config.explore.only_steps_of(agent)
        self._updates_from = max(learn.start_steps, learn.batch + (learn.n_step - 1) * lanes)
        self.step = 0
        self._num_episodes = 0
        self._loss_sum, self._num_losses = 0.0, 0

    @property
    def epsilon(self) -> float:
        """Share of exploratory actions at the present step."""
        return epsilon_at(self._explore, self.step, self._only_steps)

    def advance(self) -> list[Episode]:
        """Take one step in every lane and learn from it; return the episodes that ended.

        Raises:
            WorkFailed: A loss is NaN or infinite.
        """
        a_L = self._act()
        step = self._parts.experience.step(a_L)
        self._spells.stop([ended.lane for ended in step.ended])
        self._parts.explorer.observe(step.s_tm1_LD, step.s_t_LD)
        for _ in range(len(a_L)):
            self.step += 1
            self._learn_once()
        return [self._episode(ended) for ended in step.ended]

    def _act(self) -> NDArray[np.int64]:
        """Return an action (L,) for every lane: exploratory in a share epsilon of the steps."""
        s_L, spells = self._parts.experience.states, self._spells
        starts_L = spells.starts(self.epsilon)
        if starts_L.any():
            spells.begin(starts_L, self._parts.explorer.act(s_L[starts_L]))
        if spells.held.all():
            a_L = np.zeros(len(s_L), np.int64)
        else:
            a_L = self._parts.values(s_L).argmax(axis=1)
        spells.advance(a_L)
        return a_L

    def _learn_once(self) -> None:
        """Do what is due at the present environment step."""
        learn, step, parts = self._learn, self.step, self._parts
        if step >= self._updates_from and step % learn.train_every_steps == 0:
            for _ in range(learn.updates):
                batch = self._sampler.sample(learn.batch, self._sample_rng, step)
                parts.explorer.add_bonus(batch)
                loss, error_B = parts.learner.update(batch)
                self._sampler.update(batch, error_B)
                self._loss_sum += loss
                self._num_losses += 1
        if step % learn.target_every_steps == 0:
            parts.learner.copy_to_target()
        parts.explorer.learn(parts.experience.memory, step)

    def _episode(self, ended: Ended) -> Episode:
        loss = self._loss_sum / self._num_losses if self._num_losses else None
        self._loss_sum, self._num_losses = 0.0, 0
        success = self._parts.success
        succeeded = success(ended.episode_return, terminated=ended.terminated)
        episode = Episode(
            step=self.step,
            episode=self._num_episodes,
            episode_return=ended.episode_return,
            length=ended.length,
            success=succeeded if success.is_known else None,
            epsilon=self.epsilon,
            loss=loss,
            novelty=self._parts.explorer.novelty,
        )
        self._num_episodes += 1
        return episode

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything that going on from here needs: tensors, and plain values."""
        parts = self._parts
        experience_tensors, experience = parts.experience.saved()
        explorer_tensors, explorer = parts.explorer.saved()
        sampler_tensors, sampler = self._sampler.saved()
        state = {
            "step": self.step,
            "episodes": self._num_episodes,
            "losses": [self._loss_sum, self._num_losses],
            "experience": experience,
            "explorer": explorer,
            "sampler": sampler,
            "spells": self._spells.saved(),
            "sample_rng": self._sample_rng.bit_generator.state,
            "act_rng": self._act_rng.bit_generator.state,
        }
        tensors = {**parts.learner.saved(), **experience_tensors, **explorer_tensors}
        return {**tensors, **sampler_tensors}, state

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Go on from what `saved` gave.

        Raises:
            WorkFailed: An environment did not come to the same state again.
        """
        self.step, self._num_episodes = int(state["step"]), int(state["episodes"])
        self._loss_sum, self._num_losses = float(state["losses"][0]), int(state["losses"][1])
        self._parts.learner.load(tensors)
        self._parts.experience.load(tensors, state["experience"])
        self._parts.explorer.load(tensors, state["explorer"])
        self._sampler.load(tensors, state["sampler"])
        self._spells.load(state["spells"])
        self._sample_rng.bit_generator.state = state["sample_rng"]
        self._act_rng.bit_generator.state = state["act_rng"]

    def close(self) -> None:
        """Close the environments."""
        self._parts.experience.close()
