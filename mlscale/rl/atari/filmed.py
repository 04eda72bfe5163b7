"""An episode played for an audience: what the agent sees goes to it, the screen to a film.

The emulator hands out small grey frames or the screen, not both. So two of them play the same
episode side by side, from the same seed and with the same actions, and every step is compared.

Letters: F stacked frames, H height, W width, C colours.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from mlscale.rl.atari.agents.base import EpisodicAgent
from mlscale.rl.atari.lanes import Lane
from mlscale.rl.atari.play import ask, check_actions

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from mlscale.rl.atari.agents.base import Agent
    from mlscale.rl.atari.lanes import Episode
    from mlscale.rl.atari.protocols import Protocol
    from mlscale.rl.atari.stretches import EpisodeStart


class Scene(NamedTuple):
    """The game after an agent step, or before the first.

    Attributes:
        screen_HWC: (210, 160, 3) colours, 0..255: of each pixel the brighter of the step's last
            two frames, as agents see it too, since many games draw things in turn.
        score: Game points so far.
        frames: Emulator frames so far.
        episode: The episode when it has ended, else None.
    """

    screen_HWC: NDArray[np.uint8]
    score: int
    frames: int
    episode: Episode | None


def play_filmed(
    game: str, protocol: Protocol, start: EpisodeStart, agent: Agent, num_actions: int
) -> Iterator[Scene]:
    """Play one episode, yielding every scene of it.

    Args:
        game: ALE ROM id.
        protocol: The conditions to play under.
        start: The episode.
        agent: Its `reset` is called here.
        num_actions: How many action indices are legal.

    Raises:
        WorkFailed: The agent raised, or returned something that is not a legal action.
    """
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="reset") as resetter:
        player = Lane(game, protocol, resetter)
        camera = Lane(game, protocol, resetter, colour=True)
        for lane in (player, camera):
            lane.take([start])
        observation_FHW = player.first_observation()
        yield Scene(camera.first_observation()[0], 0, 0, None)
        _begin(agent, start)
        episode = None
        while episode is None:
            answer = ask(functools.partial(agent.act, observation_FHW[None]))
            action = int(check_actions(answer, 1, num_actions)[0])
            for lane in (player, camera):
                lane.send(action)
            observation_FHW, episode = player.receive()
            screen_1HWC, filmed = camera.receive()
            _check_same(player, camera, episode == filmed)
            yield Scene(screen_1HWC[0], player.score, player.frames, episode)


def _begin(agent: Agent, start: EpisodeStart) -> None:
    ask(lambda: agent.reset(1))
    if isinstance(agent, EpisodicAgent):
        ask(lambda: agent.begin(0, start.agent_seed))


def _check_same(player: Lane, camera: Lane, ends_are_equal: bool) -> None:
    if not ends_are_equal or (player.score, player.frames) != (camera.score, camera.frames):
        raise RuntimeError(
            f"the emulators have parted: score {player.score} and {camera.score} "
            f"after {player.frames} and {camera.frames} frames"
        )
