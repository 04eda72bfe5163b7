"""Watching what `mlscale atari train` has trained."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlscale.core import video
from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.core.video import Film
from mlscale.rl.atari import watch
from mlscale.rl.atari.watch_config import WatchConfig

MakeRun = Callable[..., Path]


@pytest.fixture(autouse=True)
def no_film(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop(path: Path, source: Iterator[Any], kind: str, speed: float) -> Film:
        path.write_bytes(b"")
        return Film(sum(1 for _ in source), 0)

    monkeypatch.setattr(video, "write_film", drop)


@pytest.mark.parametrize("named", ["ckpt", "agent"])
def test_a_training_run_is_watched_on_the_game_it_trained_for(
    train_run: MakeRun, named: str
) -> None:
    path = train_run(game="breakout")
    chosen: dict[str, Any] = {"ckpt": path} if named == "ckpt" else {"agent": str(path)}
    config = WatchConfig(**chosen, max_frames=80, format="gif")
    run = Run("atari.watch", config)
    protocol = watch.run(config, run).protocol
    assert (protocol["game"], protocol["agent"]) == ("breakout", "dqn_mbe")
    assert len(protocol["weights"]["sha256"]) == 64
    assert run.records[0]["frames"] == 80


def test_another_game_is_refused(train_run: MakeRun) -> None:
    config = WatchConfig(ckpt=train_run(game="pong"), game="breakout", format="gif")
    with pytest.raises(UserError, match="does not cover breakout"):
        watch.run(config, Run("atari.watch", config))
