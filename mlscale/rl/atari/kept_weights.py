"""Which weights an evaluation's episodes were played with, kept beside them.

A training run goes on, and a new version may ship other weights: episodes of two agents must not
end up in one score.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mlscale.core.errors import UserError
from mlscale.core.files import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mlscale.core.runs import Run

FILE = "weights.json"


def keep_weights(run: Run, weights: Mapping[str, Mapping[str, Any]]) -> None:
    """Write what is known of the weights, by game, into the run's directory."""
    if weights:
        run.write(FILE, to_json({game: dict(known) for game, known in weights.items()}) + "\n")


def check_weights(run: Run, weights: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to go on with other weights than those of the finished episodes.

    Raises:
        UserError: The weights of a game are others, or the file is damaged.
    """
    if run.path is None or not run.records or not (run.path / FILE).exists():
        return
    try:
        kept = json.loads((run.path / FILE).read_text(encoding="utf-8"))
        digests = {game: known["sha256"] for game, known in kept.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{run.path / FILE} is damaged: {error}",
            "start again in another directory with --out DIR",
        ) from None
    now = {game: known["sha256"] for game, known in weights.items()}
    changed = [game for game in now if digests.get(game, now[game]) != now[game]]
    if changed:
        raise UserError(
            f"{run.path} was begun with other weights for {', '.join(changed)}",
            "name those, --ckpt RUN/checkpoints/STEP, or begin in another directory, --out DIR",
        )
