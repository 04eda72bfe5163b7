"""How far an evaluation is: episodes done, frames played and how fast."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from mlscale.core.engine.jobs import Progressed, Recorded
from mlscale.rl.atari.games import find_game

if TYPE_CHECKING:
    from mlscale.core.engine.jobs import Event
    from mlscale.core.runs import Run


class EvaluationProgress:
    """Tells the reporter how many episodes are done and how fast frames go by."""

    def __init__(self, run: Run, done: int, total: int) -> None:
        self._reporter = run.reporter
        self._done, self._total = done, total
        self._recorded_frames: Counter[str] = Counter()  # by job, of its finished episodes
        self._seen_frames: Counter[str] = Counter()  # by job, as it last said
        self._began_s = time.monotonic()

    def take(self, event: Event) -> None:
        """Take in an event of the engine."""
        key = event.job.key
        if isinstance(event, Recorded):
            self._done += 1
            self._recorded_frames[key] += int(event.record["frames"] or 0)
        elif isinstance(event, Progressed):
            self._seen_frames[key] = int(event.values["frames"] or 0)
        frames = (self._recorded_frames | self._seen_frames).total()
        frames_per_s = frames / max(time.monotonic() - self._began_s, 1e-3)
        game = find_game(key.partition("/")[0]).display_name
        text = f"{game}, {frames:,} frames, {frames_per_s:,.0f}/s"
        self._reporter.progress(self._done, self._total, text)
