"""`mlscale rl watch`: plays episodes greedily with what a training has learned, and films them.

Shape letters: L lanes (one); D observation values; H height, W width, C colours.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mlscale.core.captions import with_caption
from mlscale.core.errors import UserError
from mlscale.core.results import Metric, Result
from mlscale.core.seeding import derive_seed
from mlscale.core.video import add_film, check_format
from mlscale.rl.dqn.environments import make_environment
from mlscale.rl.dqn.success import success_of
from mlscale.rl.dqn.trained import find_training, load_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gymnasium
    from numpy.typing import NDArray

    from mlscale.core.runs import Run
    from mlscale.rl.dqn.config import TrainConfig
    from mlscale.rl.dqn.networks import Mirror
    from mlscale.rl.dqn.watch_config import WatchConfig

DEFAULT_PICTURES_PER_S = 30.0  # where an environment does not say how fast it is


class Scene(NamedTuple):
    """An environment after a step, or before the first of an episode.

    Attributes:
        picture_HWC: (H, W, 3) as the environment draws itself, 0..255.
        episode: Number of the episode, from 0.
        episode_return: Undiscounted return so far.
        length: Steps so far.
        terminated: Whether this is a terminal state.
        end: What ended the episode, or nothing.
    """

    picture_HWC: NDArray[np.uint8]
    episode: int
    episode_return: float
    length: int
    terminated: bool = False
    end: str = ""


def run(config: WatchConfig, run: Run) -> Result:
    """Play the episodes that `rl eval` with the same seed plays first, and film them.

    Raises:
        UserError: The run is not a training or has no checkpoint yet, the environment draws no
            pictures, or the extra `video` is missing.
        WorkFailed: The film could not be written.
    """
    check_format(config.format)
    trained, step = find_training(config.run)
    env = _make_drawn(trained.env)
    run.rewind(0)
    try:
        space: Any = env.action_space
        observations: Any = env.observation_space
        num_values = int(observations.shape[0])
        values = load_values(config.run, step, trained, num_values, int(space.n))
        pictures_per_s = float(env.metadata.get("render_fps", DEFAULT_PICTURES_PER_S))
        pictures = _draw(_play(config, env, values), config, trained, run, pictures_per_s)
        film = add_film(run, pictures, config.format, pictures_per_s)
    finally:
        env.close()
    if run.records[-1]["end"] == "end of the film":
        run.note(f"the film ends after {config.max_steps:,} steps (--max-steps)")
    returns = [float(record["return"]) for record in run.records]
    lengths = [int(record["length"]) for record in run.records]
    return Result(
        study=run.study,
        metrics={
            "mean_return": Metric(float(np.mean(returns)), "return", len(returns)),
            "mean_length": Metric(float(np.mean(lengths)), "steps", len(returns)),
        },
        protocol={
            "env": trained.env,
            "agent": trained.agent,
            "trained_steps": step,
            "success": success_of(trained.env).describe(),
        },
        tables={"episodes": run.records, "film": film.described(pictures_per_s)},
    )


def _make_drawn(env_id: str) -> gymnasium.Env[Any, Any]:
    """Return an environment that draws pictures of itself.

    Raises:
        UserError: It draws none, or needs a package for it that is not installed.
    """
    from gymnasium.error import DependencyNotInstalled

    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")  # pygame draws in memory: no screen needed
    plain = make_environment(env_id)
    modes = plain.metadata.get("render_modes", [])
    plain.close()
    if "rgb_array" not in modes:
        raise UserError(f"{env_id} draws no pictures of itself", "it has no mode 'rgb_array'")
    env = make_environment(env_id, render_mode="rgb_array")
    try:
        env.reset(seed=0)
        env.render()
    except DependencyNotInstalled:
        env.close()
        raise UserError(
            f"pictures of {env_id} need the extra 'video'", "pip install 'mlscale[video]'"
        ) from None
    return env


def _play(config: WatchConfig, env: gymnasium.Env[Any, Any], values: Mirror) -> Iterator[Scene]:
    """Yield every scene of the episodes, as far as the film goes."""
    space: Any = env.action_space
    num_steps = 0
    for episode in range(config.episodes):
        seed = derive_seed(derive_seed(config.seed, "eval"), "env", 0, episode)
        s_D, _ = env.reset(seed=seed)
        episode_return, length, end = 0.0, 0, ""
        yield Scene(_picture(env), episode, episode_return, length)
        while not end:
            s_LD = np.asarray(s_D, np.float32)[None]
            action = int(values(s_LD).argmax())
            s_D, reward, terminated, truncated, _ = env.step(action + int(space.start))
            episode_return += float(reward)
            length, num_steps = length + 1, num_steps + 1
            if terminated:
                end = "terminal state"
            elif truncated:
                end = "time limit"
            elif num_steps == config.max_steps:
                end = "end of the film"
            yield Scene(_picture(env), episode, episode_return, length, terminated, end)
        if num_steps == config.max_steps:
            return


def _picture(env: gymnasium.Env[Any, Any]) -> NDArray[np.uint8]:
    picture_HWC: Any = env.render()
    return np.asarray(picture_HWC, np.uint8)


def _draw(
    scenes: Iterator[Scene],
    config: WatchConfig,
    trained: TrainConfig,
    run: Run,
    pictures_per_s: float,
) -> Iterator[NDArray[np.uint8]]:
    """Yield the pictures of the film, the last of an episode for a second; log the episodes."""
    success = success_of(trained.env)
    for scene in scenes:
        now = scene.end or f"step {scene.length:,}"
        number = f"  episode {scene.episode + 1} of {config.episodes}"
        picture = with_caption(
            scene.picture_HWC,
            [
                (trained.env, f"return {scene.episode_return:.4g}"),
                (trained.agent + (number if config.episodes > 1 else ""), now),
            ],
        )
        yield picture
        if scene.end:
            succeeded = success(scene.episode_return, terminated=scene.terminated)
            run.log(
                {
                    "episode": scene.episode,
                    "return": scene.episode_return,
                    "length": scene.length,
                    "success": succeeded if success.is_known else None,
                    "end": scene.end,
                }
            )
            run.reporter.progress(scene.episode + 1, config.episodes, "episodes")
            yield from itertools.repeat(picture, round(pictures_per_s))
