"""Playing episodes: two groups of lanes, one emulating while the agent acts for the other.

Letters: N lanes of a group, F stacked frames, H height, W width.

A group's batch always has the same number of rows, whichever of its lanes are playing: the
last bits of a network's output change with the batch size (measured for a Nature CNN in
float32), and an episode must not depend on which other episodes are still under way.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.errors import MlscaleError, WorkFailed, one_line
from mlscale.rl.atari.agents.base import EpisodicAgent
from mlscale.rl.atari.lanes import Episode, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from mlscale.rl.atari.agents.base import Agent
    from mlscale.rl.atari.protocols import Protocol
    from mlscale.rl.atari.stretches import Stretch

OBSERVATION_SHAPE = (4, 84, 84)
PULSE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Pulse:
    """A sign of life between episodes.

    Args:
        frames: Emulator frames played so far, unfinished episodes included.
    """

    frames: int


def play_episodes(
    game: str,
    protocol: Protocol,
    stretches: Sequence[Stretch],
    make_agent: Callable[[int], Agent],
    *,
    num_actions: int,
    max_lanes: int,
) -> Iterator[Episode | Pulse]:
    """Play episodes of one game, yielding each as it ends and a pulse about once a second.

    Args:
        game: ALE ROM id.
        protocol: The conditions to play under.
        stretches: The episodes to play; those of a stretch are yielded together.
        make_agent: Makes the agent of a group of lanes, given the group's number.
        num_actions: How many action indices are legal.
        max_lanes: Most episodes to play at once; half of it is the size of an agent's batch,
            also where fewer episodes are left.

    Raises:
        WorkFailed: The agent raised, or returned something that is not a batch of legal actions.
    """
    queue = deque(stretches)
    num_lanes = min(max_lanes, len(queue))
    if num_lanes == 0:
        return
    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="reset") as resetter:
        lanes = list(resetter.map(lambda _: Lane(game, protocol, resetter), range(num_lanes)))
        num_rows = -(-max_lanes // 2)
        groups = [
            Group(half, make_agent(number), num_actions, num_rows)
            for number, half in enumerate((lanes[::2], lanes[1::2]))
            if half
        ]
        yield from _alternate(groups, queue)


def _alternate(groups: list[Group], queue: deque[Stretch]) -> Iterator[Episode | Pulse]:
    """Turn by turn, collect a group's step, act for it and send it off again."""
    pulsed_s = time.monotonic()
    while queue or any(group.busy for group in groups):
        for group in groups:
            yield from group.collect(queue)
            group.send()
        if not any(group.playing for group in groups):
            resets = [reset for group in groups for reset in group.resets]
            wait(resets, timeout=PULSE_EVERY_S, return_when=FIRST_COMPLETED)
        if time.monotonic() - pulsed_s >= PULSE_EVERY_S:
            pulsed_s = time.monotonic()
            yield Pulse(sum(group.frames for group in groups))


class Group:
    """Lanes that act together, with the agent that plays them.

    Args:
        lanes: The lanes, one row of the batch each.
        agent: Its `reset` is called here.
        num_actions: How many action indices are legal.
        num_rows: Rows of the batch, at least one per lane; the others stay black.
    """

    def __init__(self, lanes: list[Lane], agent: Agent, num_actions: int, num_rows: int) -> None:
        self._lanes = lanes
        self._agent = agent
        self._num_actions = num_actions
        self._observations_NFHW = np.zeros((num_rows, *OBSERVATION_SHAPE), dtype=np.uint8)
        self._finished_frames = 0
        ask(lambda: agent.reset(num_rows))

    @property
    def playing(self) -> bool:
        """Whether any lane is in the middle of an episode."""
        return any(lane.playing for lane in self._lanes)

    @property
    def resets(self) -> list[Any]:
        """The resets under way."""
        return [lane.resetting for lane in self._lanes if lane.resetting is not None]

    @property
    def busy(self) -> bool:
        """Whether any lane plays or is about to."""
        return self.playing or bool(self.resets)

    @property
    def frames(self) -> int:
        """Emulator frames played so far."""
        return self._finished_frames + sum(lane.frames for lane in self._lanes if lane.playing)

    def collect(self, queue: deque[Stretch]) -> list[Episode]:
        """Take in each lane's step or finished reset; return the episodes that are done with."""
        done = []
        for row, lane in enumerate(self._lanes):
            if lane.playing:
                self._observations_NFHW[row], episode = lane.receive()
                if rest := lane.release():
                    queue.append(rest)
                if episode is not None:
                    self._finished_frames += episode.frames
                    done += lane.end_episode(episode)
            elif lane.resetting is not None and lane.resetting.done():
                self._observations_NFHW[row] = lane.first_observation()
                self._announce(row, lane)
            if queue and not lane.playing and lane.resetting is None:
                lane.take(queue.popleft())
        return done

    def _announce(self, row: int, lane: Lane) -> None:
        agent = self._agent
        if isinstance(agent, EpisodicAgent) and lane.start is not None:
            seed = lane.start.agent_seed
            ask(lambda: agent.begin(row, seed))

    def send(self) -> None:
        """Ask the agent for actions and start the lanes' next step."""
        if not self.playing:
            return
        answer = ask(lambda: self._agent.act(self._observations_NFHW))
        num_rows = len(self._observations_NFHW)
        actions_N = check_actions(answer, num_rows, self._num_actions)
        for action, lane in zip(actions_N.tolist(), self._lanes, strict=False):
            if lane.playing:
                lane.send(action)


def ask(question: Callable[[], Any]) -> Any:
    """Return what the agent answers.

    Raises:
        WorkFailed: It raised.
    """
    try:
        return question()
    except MlscaleError:
        raise
    except Exception as error:
        raise WorkFailed(
            f"the agent raised {one_line(error)}", "run again with --debug to see where"
        ) from error


def check_actions(answer: Any, num_lanes: int, num_actions: int) -> NDArray[np.integer[Any]]:
    """Return the agent's answer as an array of legal action indices.

    The emulator hangs for ever on an action it does not know, so this comes before it.

    Raises:
        WorkFailed: The answer has the wrong shape or type, or an action is out of range.
    """
    actions_N: NDArray[np.integer[Any]] = np.asarray(answer)
    if actions_N.shape != (num_lanes,):
        raise WorkFailed(
            f"the agent returned actions of shape {actions_N.shape}, not ({num_lanes},)",
            "act() must return one action per observation",
        )
    if not np.issubdtype(actions_N.dtype, np.integer):
        raise WorkFailed(
            f"the agent returned actions of type {actions_N.dtype}, not integers",
            "act() must return action indices",
        )
    if actions_N.min() < 0 or actions_N.max() >= num_actions:
        wrong = actions_N[(actions_N < 0) | (actions_N >= num_actions)][0]
        raise WorkFailed(
            f"the agent returned action {wrong}; legal here: 0 to {num_actions - 1}",
            "task.action_ids lists the actions of the game and protocol",
        )
    return actions_N
