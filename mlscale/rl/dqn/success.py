"""What counts as a success of an episode, environment by environment."""

from __future__ import annotations

from dataclasses import dataclass

GOAL_ENVIRONMENTS = ("MountainCar-v0", "Acrobot-v1")
"""Where reaching a terminal state is reaching the goal."""


@dataclass(frozen=True, slots=True)
class Success:
    """A rule that tells successful episodes.

    Args:
        threshold: Return from which an episode succeeds; None where a terminal state is the goal,
            or where nothing is known.
        is_goal: Whether a terminal state is the goal.
    """

    threshold: float | None
    is_goal: bool

    @property
    def is_known(self) -> bool:
        """Whether the environment has a rule at all."""
        return self.is_goal or self.threshold is not None

    def __call__(self, episode_return: float, *, terminated: bool) -> bool:
        """Return whether an episode succeeded."""
        if self.is_goal:
            return terminated
        return self.threshold is not None and episode_return >= self.threshold

    def describe(self) -> str:
        """Return the rule in words."""
        if self.is_goal:
            return "the goal was reached"
        if self.threshold is not None:
            return f"the return was at least {self.threshold:g}"
        return "no rule for this environment"


def success_of(env_id: str) -> Success:
    """Return the rule of an environment: its goal, or else its registered reward threshold."""
    import gymnasium

    if env_id in GOAL_ENVIRONMENTS:
        return Success(None, is_goal=True)
    spec = gymnasium.registry.get(env_id)
    return Success(spec.reward_threshold if spec else None, is_goal=False)
