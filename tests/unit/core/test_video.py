"""Films: every picture is in them, at the right speed and size; what is refused, and how."""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlscale.core import video
from mlscale.core.config import Seeded
from mlscale.core.errors import UserError, WorkFailed
from mlscale.core.runs import Run, open_run
from mlscale.core.video import Film, add_film, check_format, gif_durations, to_even, write_film


def pictures(num: int, height: int = 20, width: int = 30) -> Iterator[np.ndarray]:
    """A white square that goes to the right on a ground that grows lighter."""
    for number in range(num):
        picture = np.full((height, width, 3), 10 * number, np.uint8)
        picture[4:8, number : number + 4] = (255, 200, 0)
        yield picture


def decode(path: Path, height: int, width: int) -> tuple[str, np.ndarray]:
    """Return what ffmpeg says of a film, and its pictures."""
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo"]
    done = subprocess.run([*command, "-pix_fmt", "rgb24", "-"], capture_output=True, check=True)
    shown = np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)
    return done.stderr.decode(), shown


def test_a_gif_holds_every_picture_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    assert write_film(path, pictures(7), "gif", 10) == Film(7, 0)
    with Image.open(path) as film:
        assert (film.n_frames, film.size, film.info["loop"]) == (7, (30, 20), 0)
        for number, picture in enumerate(pictures(7)):
            film.seek(number)
            assert film.info["duration"] == 100
            assert (np.asarray(film.convert("RGB")) == picture).all()


def test_a_gif_ends_where_memory_does_and_the_rest_is_drawn_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "MAX_GIF_PICTURES", 4)
    source = pictures(7)
    run = Run("test", Seeded())
    assert add_film(run, source, "gif", 10) == Film(4, 3)
    assert next(source, None) is None
    assert run.notes == ["the GIF ends after 4 pictures, 3 before the end; --format mp4 takes all"]


def test_a_still_gif_lasts_as_long(tmp_path: Path) -> None:
    (still,) = pictures(1)
    write_film(tmp_path / "film.gif", itertools.repeat(still, 5), "gif", 10)
    with Image.open(tmp_path / "film.gif") as film:
        assert film.info["duration"] == 500


@pytest.mark.parametrize("pictures_per_s", [15, 30, 50, 29.97])
def test_gif_durations_keep_the_time(pictures_per_s: float) -> None:
    durations = gif_durations(300, pictures_per_s)
    assert all(duration % 10 == 0 for duration in durations)
    for num in (1, 7, 300):
        assert abs(sum(durations[:num]) - 1000 * num / pictures_per_s) <= 5
    assert max(durations) - min(durations) <= 10


@pytest.mark.parametrize(("height", "width"), [(20, 30), (21, 30), (20, 31), (21, 31)])
def test_an_mp4_holds_every_picture(height: int, width: int, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "film.mp4"
    assert write_film(path, pictures(6, height, width), "mp4", 15) == Film(6, 0)
    about, shown = decode(path, height + height % 2, width + width % 2)
    for part in ("Video: h264", "yuv420p", f"{width + width % 2}x{height + height % 2}", "15 fps"):
        assert part in about
    assert len(shown) == 6
    for picture, seen in zip(pictures(6, height, width), shown, strict=True):
        corner = seen[height - 6 : height - 2, :8].astype(int)
        assert abs(corner - int(picture[-3, 0, 0])).max() <= 12  # lossy, but near


def test_even_pictures_are_left_alone_and_odd_ones_get_a_black_edge() -> None:
    (even,) = pictures(1)
    assert to_even(even) is even
    odd = np.full((3, 5, 3), 9, np.uint8)
    padded = to_even(odd)
    assert padded.shape == (4, 6, 3)
    assert (padded[:3, :5] == 9).all()
    assert padded.sum() == odd.sum()


def test_a_film_becomes_an_artifact(tmp_path: Path) -> None:
    run = open_run("test", Seeded(), out=tmp_path / "run")
    film = add_film(run, pictures(3), "gif", 10)
    assert run.artifacts == ["episode.gif"]
    assert (tmp_path / "run" / "episode.gif").read_bytes().startswith(b"GIF89a")
    assert film.described(10) == {"pictures": 3, "pictures_per_s": 10, "length_s": 0.3}
    assert run.notes == []


def test_without_the_extra_an_mp4_is_refused_and_a_gif_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    check_format("gif")
    with pytest.raises(UserError) as caught:
        check_format("mp4")
    assert caught.value.message == "an mp4 needs the extra 'video'"
    assert caught.value.hint == (
        "pip install 'mlscale[video]', or --format gif, which needs nothing more"
    )


def test_an_ffmpeg_that_stops_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")

    def broken_pipe(*args: object, **settings: object) -> Iterator[None]:
        yield
        raise OSError("broken pipe\n\nFFMPEG COMMAND: ...")

    monkeypatch.setattr(imageio_ffmpeg, "write_frames", broken_pipe)
    with pytest.raises(WorkFailed, match=r"^ffmpeg stopped early$"):
        write_film(tmp_path / "film.mp4", pictures(3), "mp4", 15)


def test_a_film_that_lacks_pictures_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setattr(imageio_ffmpeg, "count_frames_and_secs", lambda path: (2, 0.1))
    with pytest.raises(WorkFailed, match=r"^ffmpeg wrote 2 of 3 pictures$"):
        write_film(tmp_path / "film.mp4", pictures(3), "mp4", 15)
