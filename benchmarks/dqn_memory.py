"""Memory of replayed frames: mlscale against Stable-Baselines3.

Run: python benchmarks/dqn_memory.py

Each replay, in a process of its own, takes in 100,000 transitions of eight environments whose
states are four stacked frames, every frame another. Printed are the bytes of its arrays and by how
much the process' largest resident memory grew, both as a multiple of 100,000 frames of 84 x 84
bytes.
"""

from __future__ import annotations

import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

TRANSITIONS, NUM_ENVS = 100_000, 8
FRAME_SHAPE = (84, 84)
FRAMES_BYTES = TRANSITIONS * FRAME_SHAPE[0] * FRAME_SHAPE[1]


class Memory(NamedTuple):
    """A replay.

    Attributes:
        add: Takes in states (8, 4, 84, 84) before and after a step.
        num_bytes: Returns the bytes of its arrays.
    """

    add: Callable[[NDArray[np.uint8], NDArray[np.uint8]], Any]
    num_bytes: Callable[[], int]


def mlscale_replay() -> Memory:
    """Return mlscale's."""
    from mlscale.rl.dqn.atari.frames import FrameReplay

    replay = FrameReplay(TRANSITIONS, NUM_ENVS)
    actions, rewards = np.zeros(NUM_ENVS, np.int64), np.zeros(NUM_ENVS, np.float32)
    never = np.zeros(NUM_ENVS, np.bool_)
    return Memory(
        lambda before, after: replay.add(before, actions, rewards, after, never, never),
        lambda: replay.nbytes,
    )


def sb3_replay(*, optimize_memory_usage: bool) -> Memory:
    """Return Stable-Baselines3's; what it calls optimised leaves out the states after steps."""
    from gymnasium.spaces import Box, Discrete
    from stable_baselines3.common.buffers import ReplayBuffer

    replay = ReplayBuffer(
        TRANSITIONS, Box(0, 255, (4, *FRAME_SHAPE), np.uint8), Discrete(6), "cpu", NUM_ENVS,
        optimize_memory_usage=optimize_memory_usage,
        handle_timeout_termination=not optimize_memory_usage,  # it cannot do both
    )  # fmt: skip
    actions, rewards, never = (np.zeros(NUM_ENVS) for _ in range(3))
    no_infos: list[dict[str, Any]] = [{}] * NUM_ENVS
    return Memory(
        lambda before, after: replay.add(before, after, actions, rewards, never, no_infos),
        lambda: sum(x.nbytes for x in vars(replay).values() if isinstance(x, np.ndarray)),
    )


def sb3_optimised_replay() -> Memory:
    """Return Stable-Baselines3's that keeps every stack once."""
    return sb3_replay(optimize_memory_usage=True)


def sb3_default_replay() -> Memory:
    """Return Stable-Baselines3's as it is by default."""
    return sb3_replay(optimize_memory_usage=False)


REPLAYS: dict[str, Callable[[], Memory]] = {
    "mlscale": mlscale_replay,
    "Stable-Baselines3, optimize_memory_usage": sb3_optimised_replay,
    "Stable-Baselines3": sb3_default_replay,
}


def fill(make: Callable[[], Memory]) -> tuple[int, int]:
    """Fill a replay; return its bytes and those that resident memory grew by."""
    import torch  # noqa: F401 - its own memory is not that of a replay

    rng = np.random.default_rng(0)
    memory = make()
    states = rng.integers(0, 256, (2, NUM_ENVS, 4, *FRAME_SHAPE), np.uint8)
    before_bytes = _peak_bytes()
    for number in range(TRANSITIONS // NUM_ENVS):
        before, after = states[number % 2], states[1 - number % 2]
        after[:, :-1] = before[:, 1:]
        after[:, -1] = rng.integers(0, 256, (NUM_ENVS, *FRAME_SHAPE), np.uint8)
        memory.add(before, after)
    return memory.num_bytes(), _peak_bytes() - before_bytes


def _peak_bytes() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Fill every replay and print its memory."""
    for name, make in REPLAYS.items():
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            num_bytes, resident_bytes = process.submit(fill, make).result()
        print(
            f"{name:42} {num_bytes / FRAMES_BYTES:6.3f}x frames"
            f"   resident {resident_bytes / FRAMES_BYTES:6.3f}x"
        )


if __name__ == "__main__":
    main()
