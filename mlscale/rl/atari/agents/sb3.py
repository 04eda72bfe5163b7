"""Stable-Baselines3 policies (`model.save` zips) trained on 84x84 frames, four stacked.

A zip names its algorithm inside pickles, so it is opened on `--trust` only.
"""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError, WorkFailed, one_line
from mlscale.rl.atari.agents.actions import output_indices, policy_actions

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from mlscale.rl.atari.agents.base import Agent, Task

ALGORITHMS = {
    "DQN": ("stable_baselines3.dqn.policies", "exploration_rate"),
    "PPO": ("stable_baselines3.common.policies", "clip_range"),
    "A2C": ("stable_baselines3.common.policies", "normalize_advantage"),
}
"""The module of an algorithm's policies, and a setting that those further down have not."""


class Sb3Agent:
    """Plays a Stable-Baselines3 model greedily.

    Args:
        model: The loaded model.
        task: What to play; the model's actions must be the game's own or all 18.
    """

    def __init__(self, model: Any, task: Task) -> None:
        import numpy as np

        self._model = model
        policy_ids = policy_actions(task.game, int(model.action_space.n))
        legal, indices = output_indices(policy_ids, task)
        self._task_index_A = np.full(len(policy_ids), -1)
        self._task_index_A[legal] = indices

    def reset(self, num_lanes: int) -> None:
        """Do nothing: the policy keeps no state."""

    def act(self, observations_NFHW: NDArray[np.uint8]) -> NDArray[np.integer[Any]]:
        """Return (N,) action indices.

        Raises:
            WorkFailed: The policy chose an action this protocol does not offer.
        """
        actions_N, _ = self._model.predict(observations_NFHW, deterministic=True)
        chosen_N: NDArray[np.int64] = self._task_index_A[actions_N]
        if (chosen_N < 0).any():
            raise WorkFailed(
                "the policy chose an action this protocol does not offer",
                "use a protocol with all 18 actions: --protocol saber",
            )
        return chosen_N


def load_sb3(path: Path, task: Task) -> Agent:
    """Return an agent that plays a Stable-Baselines3 zip.

    Raises:
        UserError: The extra is missing, or the file is no policy for these frames.
    """
    try:
        import stable_baselines3
    except ImportError:
        raise UserError(
            "Stable-Baselines3 policies need the extra 'sb3'", "pip install 'mlscale[sb3]'"
        ) from None
    algorithm = getattr(stable_baselines3, _algorithm_of(path))
    try:
        model = algorithm.load(path, device=task.device, buffer_size=1)
    except Exception as error:  # noqa: BLE001 - unpickling a foreign file may raise anything
        raise UserError(f"{path} cannot be loaded: {one_line(error)}") from None
    if not hasattr(model.action_space, "n"):
        raise UserError(f"{path} acts in {model.action_space}, not in a discrete set of actions")
    shape = getattr(model.observation_space, "shape", None)
    if shape != (4, 84, 84):
        raise UserError(
            f"{path} sees observations of shape {shape}, not (4, 84, 84)",
            "train it on AtariWrapper with four stacked frames",
        )
    return Sb3Agent(model, task)


def _algorithm_of(path: Path) -> str:
    """Return the algorithm a zip was saved by, which it does not name."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = json.loads(archive.read("data"))
        module = str(data["policy_class"]["__module__"])
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is not a Stable-Baselines3 model: {error}") from None
    for name, (policies, setting) in ALGORITHMS.items():
        if module == policies and setting in data:
            return name
    raise UserError(
        f"{path} was saved by {module}", f"algorithms that can be played: {', '.join(ALGORITHMS)}"
    )
