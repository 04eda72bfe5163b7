"""Settings of the `mlscale rl` commands. Standard library only: `--help` imports this."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlscale.core.config import BadValue, Seeded, check_fields, opt
from mlscale.core.errors import UserError

AgentName = Literal["dqn", "dqn_mbe", "dqn_rnd"]
PolicyName = Literal["random", "mbe", "oracle"]
FirstWeights = Literal["glorot", "spread"]
EngineName = Literal["local", "ray"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerConfig:
    """How action values are learned from replayed transitions, whatever the network.

    Args:
        lr: Learning rate of Adam.
        adam_eps: Added to the denominator of Adam's step.
        max_grad_norm: Norm that gradients are scaled down to; None to leave them.
        batch: Transitions per update.
        discount: Discount per environment step.
        n_step: Rewards summed before bootstrapping.
        loss: Of the temporal-difference errors.
        target: Who chooses the bootstrap action: the target network, or the online one.
        head: Action values straight from the features, or by duelling streams.
        time_limits: Whether a time limit is bootstrapped through or taken for a terminal state.
        replay: Whether transitions are drawn alike or by the size of their last errors.
        priority_alpha: How much errors matter to the draw, from 0, not at all.
        priority_beta: How much of its bias is corrected at first.
        priority_beta_steps: Environment steps until all of it is.
        replay_steps: Transitions kept.
        start_steps: Environment steps before the first update.
        train_every_steps: Environment steps between rounds of updates.
        updates: Updates in a round.
        target_every_steps: Environment steps between copies of the target network.
    """

    lr: float = opt(1e-3, help="Learning rate of Adam.", gt=0)
    adam_eps: float = opt(1e-8, help="Adam's epsilon.", gt=0, flag=False)
    max_grad_norm: float | None = opt(None, help="Largest norm of gradients.", gt=0, flag=False)
    batch: int = opt(64, help="Transitions per update.", ge=1)
    discount: float = opt(0.99, help="Discount per step.", ge=0, le=1)
    n_step: int = opt(1, help="Rewards summed before bootstrapping.", ge=1)
    loss: Literal["huber", "mse"] = opt("huber", help="Loss of temporal-difference errors.")
    target: Literal["plain", "double"] = opt("plain", help="Target rule: DQN or double DQN.")
    head: Literal["plain", "duelling"] = opt("plain", help="Last layers.", flag=False)
    time_limits: Literal["bootstrap", "terminal"] = opt(
        "bootstrap", help="Bootstrap at a time limit, or take it for an end.", flag=False
    )
    replay: Literal["uniform", "prioritised"] = opt(
        "uniform", help="Replay alike, or by errors.", flag=False
    )
    priority_alpha: float = opt(0.5, help="Weight of errors.", ge=0, le=1, flag=False)
    priority_beta: float = opt(0.4, help="Bias corrected at first.", ge=0, le=1, flag=False)
    priority_beta_steps: int = opt(80_000, help="Steps to all of it.", ge=1, flag=False)
    replay_steps: int = opt(200_000, help="Transitions kept.", ge=1, flag=False)
    start_steps: int = opt(64, help="Steps before the first update.", ge=0, flag=False)
    train_every_steps: int = opt(1, help="Steps between updates.", ge=1, flag=False)
    updates: int = opt(1, help="Updates in a round.", ge=1, flag=False)
    target_every_steps: int = opt(100, help="Steps between target copies.", ge=1, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        if self.replay_steps < self.batch:
            complaint = f"is {self.replay_steps}, less than one batch of {self.batch}"
            raise BadValue(("replay_steps",), complaint, has_flag=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnConfig(LearnerConfig):
    """How a perceptron's action values are learned.

    Args:
        hidden: Units of the Q-network's hidden layers.
        first_weights: Glorot's with biases of zero, or torch's with biases spread as well.
    """

    hidden: tuple[int, ...] = opt((48,), help="Units of hidden layers, as in 256,256.", ge=1)
    first_weights: FirstWeights = opt("glorot", help="How weights start.", flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        LearnerConfig.__post_init__(self)
        if self.head == "duelling" and not self.hidden:
            raise UserError("a duelling head needs a hidden layer", "name one with --learn.hidden")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreConfig:
    """When an agent explores; how it does is the agent's own.

    Args:
        only_steps: Actions at the start that are all exploratory.
        baselines_too: Whether agents other than dqn_mbe have that phase as well.
        schedule: How epsilon falls from 1: by a factor per action, or in a line.
        epsilon_final: Where it ends.
        decay: The factor per action.
        linear_steps: Actions until a linear schedule ends.
        decay_from: Whether it falls from the first action on or after the exploration-only phase.
        hold_steps: Steps an exploratory action is held for.
    """

    only_steps: int = opt(10_000, help="First actions that are all exploratory.", ge=0)
    baselines_too: bool = opt(True, help="Whether dqn and dqn_rnd have that phase too.", flag=False)
    schedule: Literal["multiplicative", "linear"] = opt(
        "multiplicative", help="How epsilon falls.", flag=False
    )
    epsilon_final: float = opt(0.01, help="Where epsilon ends.", ge=0, le=1)
    decay: float = opt(0.9995, help="Factor on epsilon per action.", gt=0, le=1, flag=False)
    linear_steps: int = opt(10_000, help="Actions of a linear fall.", ge=1, flag=False)
    decay_from: Literal["start", "after_only"] = opt(
        "after_only", help="From when on epsilon falls.", flag=False
    )
    hold_steps: int = opt(1, help="Steps an exploratory action is held for.", ge=1, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)

    def only_steps_of(self, agent: str) -> int:
        """Return the length of the exploration-only phase of an agent, in actions."""
        return self.only_steps if agent == "dqn_mbe" or self.baselines_too else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MbeConfig:
    """One-step planning with a learned model.

    Args:
        window: Recent states whose Gaussian says what is familiar.
        density: The Gaussian as it is, or with `ridge` on the diagonal and log densities.
        ridge: Added to the variances.
        dynamics: Next states from raw inputs, or standardised differences from one-hot actions.
        hidden: Units of the dynamics model's hidden layers.
        lr: Its learning rate.
        batch: Its transitions per update.
        fit_every_steps: Environment steps between its updates.
        gate_mse: Error below which the model is used at all; always used when None.
        gate_every_steps: Environment steps between checks of that error.
        gate_samples: Transitions in a check.
    """

    window: int = opt(50, help="Recent states that count as familiar.", ge=2)
    density: Literal["gaussian", "regularised"] = opt(
        "regularised", help="Density of recent states.", flag=False
    )
    ridge: float = opt(1e-6, help="Added to the variances.", ge=0, flag=False)
    dynamics: Literal["direct", "difference"] = opt(
        "difference", help="What the model predicts.", flag=False
    )
    hidden: tuple[int, ...] = opt((24, 24), help="Hidden units.", ge=1, flag=False)
    lr: float = opt(3e-3, help="Learning rate of the model.", gt=0, flag=False)
    batch: int = opt(64, help="Transitions per update.", ge=1, flag=False)
    fit_every_steps: int = opt(1, help="Steps between updates.", ge=1, flag=False)
    gate_mse: float | None = opt(None, help="Error that opens the gate.", gt=0, flag=False)
    gate_every_steps: int = opt(500, help="Steps between checks.", ge=1, flag=False)
    gate_samples: int = opt(32, help="Transitions in a check.", ge=1, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RndConfig:
    """The bonus of random network distillation.

    Args:
        scale: Bonus of an ordinarily novel state, in reward units.
        hidden: Units of the hidden layers of both networks.
        features: Outputs of both networks.
        lr: Learning rate of the predictor.
    """

    scale: float = opt(0.5, help="Weight of the bonus.", ge=0, flag=False)
    hidden: tuple[int, ...] = opt((48,), help="Hidden units.", ge=1, flag=False)
    features: int = opt(16, help="Outputs.", ge=1, flag=False)
    lr: float = opt(1e-3, help="Learning rate.", gt=0, flag=False)

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig(Seeded):
    """What every training has.

    Args:
        env: A gymnasium id with discrete actions and flat observations.
        steps: Environment steps.
        lanes: Environments stepped side by side.
        learn: How values are learned.
        explore: When to explore.
        mbe: How dqn_mbe explores.
        rnd: How dqn_rnd explores.
    """

    env: str = opt("MountainCar-v0", help="Gymnasium id.", metavar="ID")
    steps: int = opt(80_000, help="Environment steps.", ge=1, may_change=True)
    lanes: int = opt(1, help="Environments stepped side by side.", ge=1, le=256)
    learn: LearnConfig = opt(LearnConfig(), help="How values are learned.")
    explore: ExploreConfig = opt(ExploreConfig(), help="When to explore.")
    mbe: MbeConfig = opt(MbeConfig(), help="How dqn_mbe explores.")
    rnd: RndConfig = opt(RndConfig(), help="How dqn_rnd explores.", flag=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig(AgentConfig):
    """Settings of `mlscale rl train`.

    Args:
        agent: Which agent.
        checkpoint_every_steps: Environment steps between checkpoints.
        tensorboard: Whether every record goes to the run's `tensorboard` folder too.
    """

    agent: AgentName = opt("dqn_mbe", help="Which agent.")
    checkpoint_every_steps: int = opt(
        10_000, help="Steps between checkpoints.", ge=1, may_change=True
    )
    tensorboard: bool = opt(
        False, help="Write records for TensorBoard too (extra tensorboard).", may_change=True
    )

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig(AgentConfig):
    """Settings of `mlscale rl study`.

    Args:
        agents: The agents to compare.
        seeds: Trainings of each: `seed`, `seed` + 1, ...
        engine: Where they run.
        workers: Trainings at one time; one for every core when None.
        silence_limit_s: Seconds without a sign of life after which a training is killed.
        resamples: Bootstrap resamples behind the 95 % intervals.
        report: Whether the figure and report.html are drawn.
    """

    agents: tuple[AgentName, ...] = opt(
        ("dqn", "dqn_mbe", "dqn_rnd"), help="Agents to compare, with commas."
    )
    seeds: int = opt(10, help="Trainings of each agent.", ge=1, may_change=True)
    engine: EngineName = opt("local", help="Run in local processes or on Ray.", may_change=True)
    workers: int | None = opt(None, help="Trainings at once.", ge=1, may_change=True)
    silence_limit_s: float = opt(
        120.0, help="Seconds of silence.", gt=0, may_change=True, flag=False
    )
    resamples: int = opt(10_000, help="Resamples.", ge=100, le=1_000_000, flag=False)
    report: bool = opt(True, help="Draw the figure and report.html.")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        if not self.agents or len(set(self.agents)) != len(self.agents):
            raise UserError("--agents must name one agent or more, each once")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig(Seeded):
    """Settings of `mlscale rl eval`.

    Args:
        run: A run directory of `mlscale rl train`.
        episodes: Episodes to play.
        epsilon: Share of random actions.
    """

    run: Path = opt(help="Run directory of `mlscale rl train`.", argument=True, metavar="RUN")
    episodes: int = opt(100, help="Episodes to play.", ge=1)
    epsilon: float = opt(0.0, help="Share of random actions.", ge=0, le=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationConfig(Seeded):
    """Settings of `mlscale rl explore`.

    Args:
        policies: What to explore with.
        env: A gymnasium id with discrete actions and flat observations.
        episodes: Episodes per policy and seed.
        seeds: Seeds of each: `seed`, `seed` + 1, ...
        mbe: How `mbe` and `oracle` explore.
    """

    policies: tuple[PolicyName, ...] = opt(
        ("random", "mbe", "oracle"), help="Policies to compare, with commas."
    )
    env: str = opt("MountainCar-v0", help="Gymnasium id.", metavar="ID")
    episodes: int = opt(50, help="Episodes per policy and seed.", ge=1)
    seeds: int = opt(3, help="Seeds of each policy.", ge=1)
    mbe: MbeConfig = opt(MbeConfig(), help="How mbe and oracle explore.")

    def __post_init__(self) -> None:
        """Check the settings."""
        check_fields(self)
        if not self.policies or len(set(self.policies)) != len(self.policies):
            raise UserError("--policies must name one policy or more, each once")
