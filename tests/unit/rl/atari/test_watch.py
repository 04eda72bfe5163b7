"""Watching an agent: what the film is told, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core import video
from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.core.video import Film
from mlscale.rl.atari import watch
from mlscale.rl.atari.filmed import Scene
from mlscale.rl.atari.lanes import Episode
from mlscale.rl.atari.watch_config import WatchConfig


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The pictures of the film, which is not written: that takes most of the time."""
    pictures: list[np.ndarray] = []

    def keep(path: Path, source: Iterator[np.ndarray], kind: str, speed: float) -> Film:
        assert speed == 15
        pictures.extend(source)
        path.write_bytes(b"")
        return Film(len(pictures), 0)

    monkeypatch.setattr(video, "write_film", keep)
    return pictures


def settings(**changes: Any) -> WatchConfig:
    chosen: dict[str, Any] = {"agent": "noop", "game": "pong", "format": "gif"}
    return WatchConfig(**{**chosen, **changes})


def test_a_picture_a_step_and_a_second_at_the_end(shown: list[np.ndarray]) -> None:
    config = settings(max_frames=240)
    run = Run("atari.watch", config)
    result = watch.run(config, run)
    assert len(shown) == 1 + 240 // 4 + 15
    assert {picture.shape for picture in shown} == {shown[0].shape}
    assert shown[0].shape[1:] == (480, 3)
    assert run.records == [{"episode": 0, "score": 0, "frames": 240, "end": "frame cap"}]
    assert run.notes == ["the episode is cut off at 240 frames (--max-frames)"]
    assert (result.metrics["score"].value, result.metrics["frames"].value) == (0, 240)
    assert result.protocol["max_frames"] == 240
    assert result.tables["film"] == {
        "pictures": len(shown),
        "pictures_per_s": 15,
        "length_s": len(shown) / 15,
    }


def test_a_protocol_cap_that_comes_first_is_no_cut(shown: list[np.ndarray]) -> None:
    assert watch._cap(watch.PROTOCOLS["nature"], 200_000).max_frames == 108_000
    assert watch._cap(watch.PROTOCOLS["saber"], 200_000).max_frames == 200_000


def test_the_caption_counts_minutes_of_play() -> None:
    written: list[Any] = []
    caption = watch.Caption("Pong", "random, saber", 15)
    screen = np.zeros((210, 160, 3), np.uint8)
    ended = Episode(episode=0, score=-21, frames=4_260, end="game over")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "with_caption", lambda picture, rows: written.append(rows))
        caption.over(Scene(screen, 1_234, 3_599, None))
        caption.over(Scene(screen, -21, 4_260, ended))
    assert written == [
        [("Pong", "score 1,234"), ("random, saber", "frame 3,599  0:59")],
        [("Pong", "score -21"), ("random, saber", "game over  1:11")],
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "agent57"}, "Agent57 is published scores: nothing can be seen"),
        ({"agent": "radnom"}, "unknown agent 'radnom'"),
        ({"game": "pnog"}, "unknown game 'pnog'"),
        ({"game": ""}, "--game is required"),
    ],
)
def test_what_cannot_be_watched_is_one_line(changes: dict[str, str], message: str) -> None:
    config = settings(**changes)
    with pytest.raises(UserError) as caught:
        watch.run(config, Run("atari.watch", config))
    assert caught.value.message == message


def test_somebody_has_to_play() -> None:
    with pytest.raises(UserError, match="--agent is required"):
        settings(agent="")
