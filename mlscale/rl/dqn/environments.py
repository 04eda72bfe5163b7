"""Environments by gymnasium id: made, or refused in one line."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError, unknown_name

if TYPE_CHECKING:
    import gymnasium

NEEDS = "mlscale rl learns discrete actions from flat observations, as in MountainCar-v0"
LISTING = "`python -c 'import gymnasium; gymnasium.pprint_registry()'` lists them"


def make_environment(env_id: str, *, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """Return a new environment.

    Args:
        env_id: A gymnasium id.
        render_mode: How it draws itself, one of its own modes, if it is to.

    Raises:
        UserError: There is none of that id, it needs a package that is not installed, its
            actions are not discrete, or its observations are not flat.
    """
    import gymnasium
    from gymnasium.error import DependencyNotInstalled, Error

    settings: dict[str, Any] = {}
    if render_mode is not None:  # an environment that draws nothing may not even take None
        settings["render_mode"] = render_mode
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ids: an error below says it, or it is no matter
            env = gymnasium.make(env_id, disable_env_checker=True, **settings)
    except DependencyNotInstalled as error:
        text = str(error).splitlines()[0]
        hint = "pip install 'mlscale[box2d]'" if "Box2D" in text else text
        raise UserError(f"{env_id} needs a package that is not installed", hint) from None
    except (Error, ImportError):
        raise unknown_name("environment", env_id, gymnasium.registry, listing=LISTING) from None
    _check_spaces(env_id, env)
    return env


def _check_spaces(env_id: str, env: gymnasium.Env[Any, Any]) -> None:
    from gymnasium.spaces import Box, Discrete

    actions, observations = env.action_space, env.observation_space
    if not isinstance(actions, Discrete):
        raise UserError(f"{env_id} has no discrete actions: {actions}", NEEDS)
    if not isinstance(observations, Box) or len(observations.shape) != 1:
        raise UserError(f"{env_id} has no flat observations: {observations}", NEEDS)
