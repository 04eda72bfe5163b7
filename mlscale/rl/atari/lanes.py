"""A lane: one emulator on its own thread, playing one stretch of episodes after another.

Each lane is an `AtariVectorEnv` of a single environment, so that it has its own C++ thread and
can be reset alone: no lane waits for another, and none goes on playing without an episode.
Measured beside one vector environment of eight, eight lanes are as fast. Resets, slow when they
seed the emulator, happen on a helper thread while the other lanes play.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mlscale.rl.atari.stretches import STRETCH_FRAMES
from mlscale.rl.atari.tally import Tally

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from numpy.typing import NDArray

    from mlscale.rl.atari.protocols import Protocol
    from mlscale.rl.atari.stretches import EpisodeStart, Stretch

End = Literal["game over", "frame cap", "stuck"]

SCREEN_SHAPE = (210, 160)  # (H, W) px, the same in all 57 games


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A finished episode.

    Args:
        episode: Its number within the seed, from 0.
        score: Game points, undiscounted, unclipped, counter roll-over repaired.
        frames: Emulator frames played, no-op starts included.
        end: What ended it.
    """

    episode: int
    score: int
    frames: int
    end: End


class Lane:
    """One emulator and the episode it is playing.

    Args:
        game: ALE ROM id.
        protocol: The conditions to play under.
        resetter: Runs resets off the main thread.
        colour: Whether its observations are the screen for people to see (see `make_emulator`).
    """

    def __init__(
        self, game: str, protocol: Protocol, resetter: Executor, *, colour: bool = False
    ) -> None:
        self._env = make_emulator(game, protocol, colour=colour)
        self._tally = Tally(game, protocol)
        self._resetter = resetter
        self._reset: Future[Any] | None = None
        self._action_1 = np.zeros(1, dtype=np.int64)
        self._rest: deque[EpisodeStart] = deque()
        self._held: list[Episode] = []
        self._seeded_frames = 0
        self.start: EpisodeStart | None = None
        self.playing = False

    def take(self, stretch: Stretch) -> None:
        """Start a stretch: seed the emulator for its first episode."""
        self._rest = deque(stretch)
        self._seeded_frames = 0
        self._begin(seeded=True)

    def _begin(self, *, seeded: bool) -> None:
        self.start = self._rest.popleft()
        seed_1 = np.array([self.start.emulator_seed]) if seeded else None
        self._reset = self._resetter.submit(self._env.reset, seed=seed_1)

    def end_episode(self, episode: Episode) -> list[Episode]:
        """Go on with the stretch, or return its episodes when nothing is left of it."""
        self._held.append(episode)
        self._seeded_frames += episode.frames
        if self._rest:
            self._begin(seeded=False)
            return []
        held, self._held = self._held, []
        return held

    def release(self) -> Stretch:
        """Give away what is left of a stretch that has lasted long enough; it is seeded anew.

        To be asked after every step, so that no episode goes on in a stretch beyond its limit.
        """
        if not self._rest or self._seeded_frames + self.frames < STRETCH_FRAMES:
            return []
        rest, self._rest = self._rest, deque()
        return list(rest)

    @property
    def resetting(self) -> Future[Any] | None:
        """The reset under way, if any."""
        return self._reset

    def first_observation(self) -> NDArray[np.uint8]:
        """Return the first (F, H, W) observation of the episode, waiting for the reset."""
        if self._reset is None:
            raise RuntimeError("no reset is under way")
        observation_1FHW, _ = self._reset.result()
        self._reset = None
        self.playing = True
        self._tally.begin()
        first_FHW: NDArray[np.uint8] = observation_1FHW[0]
        return first_FHW

    def send(self, action: int) -> None:
        """Start one agent step: the emulator's thread plays it while the caller goes on."""
        self._action_1[0] = action
        self._env.send(self._action_1)

    @property
    def frames(self) -> int:
        """Emulator frames of the episode so far."""
        return self._tally.frames

    @property
    def score(self) -> int:
        """Game points of the episode so far."""
        return self._tally.score

    def receive(self) -> tuple[NDArray[np.uint8], Episode | None]:
        """Wait for the step and return the (F, H, W) observation, and the episode if it ended."""
        observation_1FHW, reward_1, terminated_1, truncated_1, info = self._env.recv()
        self._tally.take(int(reward_1[0]), int(info["episode_frame_number"][0]))
        end: End | None = None
        if terminated_1[0]:
            end = "game over"
        elif truncated_1[0]:
            end = "frame cap"
        elif self._tally.is_stuck:
            end = "stuck"
        return observation_1FHW[0], self._finish(end) if end else None

    def _finish(self, end: End) -> Episode:
        if self.start is None:
            raise RuntimeError("no episode is being played")
        self.playing = False
        return Episode(episode=self.start.episode, score=self.score, frames=self.frames, end=end)


def make_emulator(
    game: str,
    protocol: Protocol,
    num_envs: int = 1,
    num_threads: int = 1,
    *,
    colour: bool = False,
) -> Any:
    """Return ale-py's vector environment set to a protocol, its training defaults switched off.

    Reward clipping and fire-on-reset are on by default there; both would change scores.

    Args:
        game: ALE ROM id.
        protocol: The conditions to play under.
        num_envs: N episodes side by side.
        num_threads: Threads that emulate.
        colour: Observations (N, 1, 210, 160, 3), the newest screen in colours, in place of
            (N, 4, 84, 84), four small grey ones.
    """
    from ale_py.vector_env import AtariVectorEnv

    height, width = SCREEN_SHAPE
    look: dict[str, Any] = {
        "grayscale": False,
        "stack_num": 1,
        "img_height": height,
        "img_width": width,
    }

    return AtariVectorEnv(
        game,
        num_envs,
        num_threads=num_threads,
        max_num_frames_per_episode=protocol.max_frames,
        repeat_action_probability=protocol.sticky_prob,
        full_action_space=protocol.full_actions,
        frameskip=protocol.frame_skip,
        noop_max=protocol.noop_max,
        reward_clipping=False,
        use_fire_reset=False,
        episodic_life=False,
        **(look if colour else {}),
    )
