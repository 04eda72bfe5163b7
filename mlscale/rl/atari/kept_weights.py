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
    """Write what is known of the weights, by game, into the run's directory.

    Of a run that goes on, the games of before stay: to be called after `check_weights`, before the
    first new episode is logged.
    """
    if weights:
        kept = _read(run) if run.records else {}
        run.write(
            FILE, to_json(kept | {game: dict(known) for game, known in weights.items()}) + "\n"
        )


def check_weights(run: Run, weights: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to go on with other weights than those of the finished episodes.

    Raises:
        UserError: The weights of a game are others, or the file is damaged.
    """
    if not run.records:
        return
    kept = _read(run)
    changed = [
        game
        for game, known in weights.items()
        if game in kept and kept[game]["sha256"] != known["sha256"]
    ]
    if changed:
        raise UserError(
            f"{run.path} was begun with other weights for {', '.join(changed)}",
            "name those, --ckpt RUN/checkpoints/STEP, or begin in another directory, --out DIR",
        )


def _read(run: Run) -> dict[str, dict[str, Any]]:
    """Return what the file says by game, each with its `sha256`; nothing without a file."""
    if run.path is None or not (run.path / FILE).exists():
        return {}
    try:
        kept = json.loads((run.path / FILE).read_text(encoding="utf-8"))
        return {game: {"sha256": known["sha256"]} | known for game, known in kept.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{run.path / FILE} is damaged: {error}",
            "start again in another directory with --out DIR",
        ) from None
