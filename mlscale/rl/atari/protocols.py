"""Evaluation protocols: what an episode is, how the emulator is set, what is reported.

Sources: Toromanoff et al. 2019 (SABER) and its authors' parameter table; Machado et al. 2018 as
used since (frame skip 4); the DQN-era protocol of DQN Zoo; the defaults of the `ALE/*-v5` ids.
"""

from __future__ import annotations

import dataclasses

FRAMES_PER_S = 60
UNCAPPED_FRAMES = 21_600_000  # 100 hours: no cap in effect (0 would end the episode at once)
HALF_HOUR_FRAMES = 108_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """The conditions an episode is played under.

    Args:
        name: As on the command line.
        sticky_prob: Probability that the emulator repeats the last action, each frame.
        full_actions: Whether all 18 actions are offered, not the game's own few.
        max_frames: Emulator frames after which an episode is cut off.
        stuck_frames: Frames without any non-zero reward that end an episode, or None.
        noop_max: Upper bound of the no-op frames at the start of an episode; 0 for none.
        frame_skip: Emulator frames an action is held for.
        reported_episodes: How many evaluation episodes the protocol itself asks for, if any.
        source: Where this is defined.
    """

    name: str
    sticky_prob: float
    full_actions: bool
    max_frames: int
    stuck_frames: int | None = None
    noop_max: int = 0
    frame_skip: int = 4
    reported_episodes: int | None = None
    source: str


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            name="saber",
            sticky_prob=0.25,
            full_actions=True,
            max_frames=UNCAPPED_FRAMES,
            stuck_frames=5 * 60 * FRAMES_PER_S,
            reported_episodes=100,
            source="Toromanoff et al. 2019 (SABER)",
        ),
        Protocol(
            name="machado",
            sticky_prob=0.25,
            full_actions=True,
            max_frames=HALF_HOUR_FRAMES,
            source="Machado et al. 2018, with frame skip 4 and a 30-minute cap as used since",
        ),
        Protocol(
            name="nature",
            sticky_prob=0.0,
            full_actions=False,
            max_frames=HALF_HOUR_FRAMES,
            noop_max=30,
            source="DQN-era evaluation as in DQN Zoo: up to 30 no-ops, 30-minute cap",
        ),
        Protocol(
            name="v5",
            sticky_prob=0.25,
            full_actions=False,
            max_frames=HALF_HOUR_FRAMES,
            source="defaults of the ALE/*-v5 environments",
        ),
    )
}
