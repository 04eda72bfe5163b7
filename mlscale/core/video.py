"""Films: one picture after another into an mp4 (H.264, by the extra `video`) or a GIF.

Letters: H height, W width, C colours (red, green, blue).
"""

from __future__ import annotations

import importlib.util
import itertools
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from PIL import Image

from mlscale.core.errors import UserError, WorkFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from mlscale.core.runs import Run

FilmFormat = Literal["mp4", "gif"]

MAX_GIF_PICTURES = 900  # Pillow holds all of them in memory, about 0.3 MB each
MP4_QUALITY = 7  # of 10: sharp pixels, and a tenth of a megabyte a second at most


class Film(NamedTuple):
    """What was written.

    Attributes:
        num_pictures: Pictures in the film.
        num_left_out: Pictures that it had no room for, at its end.
    """

    num_pictures: int
    num_left_out: int

    def described(self, pictures_per_s: float) -> dict[str, float]:
        """Return its length and speed, for a result."""
        return {
            "pictures": self.num_pictures,
            "pictures_per_s": pictures_per_s,
            "length_s": self.num_pictures / pictures_per_s,
        }


def add_film(
    run: Run, pictures: Iterator[NDArray[np.uint8]], kind: FilmFormat, pictures_per_s: float
) -> Film:
    """Write a film as the run's `episode.mp4` or `episode.gif`; see `write_film`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"episode.{kind}"
        film = write_film(path, pictures, kind, pictures_per_s)
        run.write(path.name, path.read_bytes())
    if film.num_left_out:
        run.note(
            f"the GIF ends after {film.num_pictures:,} pictures, "
            f"{film.num_left_out:,} before the end; --format mp4 takes all"
        )
    return film


def check_format(kind: FilmFormat) -> None:
    """Make sure that films of this kind can be written here, before anything is played.

    Raises:
        UserError: The extra is missing.
    """
    if kind == "mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise UserError(
            "an mp4 needs the extra 'video'",
            "pip install 'mlscale[video]', or --format gif, which needs nothing more",
        )


def write_film(
    path: Path, pictures: Iterator[NDArray[np.uint8]], kind: FilmFormat, pictures_per_s: float
) -> Film:
    """Write a film; what it has no room for is still drawn from `pictures`.

    Args:
        path: The file, its name ending as its kind does.
        pictures: (H, W, 3) each, red, green and blue, 0..255; one or more, all of one size.
        kind: mp4 or gif.
        pictures_per_s: Speed.

    Raises:
        WorkFailed: ffmpeg stopped, or did not take in every picture.
    """
    if kind == "mp4":
        return Film(_write_mp4(path, pictures, pictures_per_s), 0)
    num_written = _write_gif(path, pictures, pictures_per_s)
    return Film(num_written, sum(1 for _ in pictures))


def _write_mp4(path: Path, pictures: Iterator[NDArray[np.uint8]], pictures_per_s: float) -> int:
    import imageio_ffmpeg

    first_HWC = to_even(next(pictures))
    height, width, _ = first_HWC.shape
    num_written = 0
    writer = imageio_ffmpeg.write_frames(
        str(path),
        (width, height),
        fps=pictures_per_s,
        quality=MP4_QUALITY,
        macro_block_size=2,
        ffmpeg_log_level="error",
        output_params=["-movflags", "+faststart"],  # a browser plays it while it loads
    )
    with closing(writer):
        writer.send(None)
        for picture_HWC in itertools.chain([first_HWC], pictures):
            try:
                writer.send(np.ascontiguousarray(to_even(picture_HWC)))
            except OSError as error:
                raise WorkFailed("ffmpeg stopped early", "is the disk full?") from error
            num_written += 1
    # ffmpeg's exit code is not told: what it wrote is counted instead.
    num_there, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
    if num_there != num_written:
        raise WorkFailed(f"ffmpeg wrote {num_there} of {num_written} pictures", "is the disk full?")
    return num_written


def to_even(picture_HWC: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the picture with a black row or column more where H or W is odd.

    H.264 with the colours that every player shows stores one colour for 2x2 pixels.
    """
    height, width, _ = picture_HWC.shape
    if height % 2 == width % 2 == 0:
        return picture_HWC
    return np.pad(picture_HWC, ((0, height % 2), (0, width % 2), (0, 0)))


def _write_gif(path: Path, pictures: Iterator[NDArray[np.uint8]], pictures_per_s: float) -> int:
    num_written = 0

    def images() -> Iterator[Image.Image]:
        nonlocal num_written
        for picture_HWC in itertools.islice(pictures, MAX_GIF_PICTURES):
            num_written += 1
            yield Image.fromarray(picture_HWC)

    to_write = images()
    next(to_write).save(
        path,
        "GIF",
        save_all=True,
        append_images=to_write,
        duration=gif_durations(MAX_GIF_PICTURES, pictures_per_s),
        loop=0,
    )
    return num_written


def gif_durations(num_pictures: int, pictures_per_s: float) -> list[int]:
    """Return for how long each picture is shown, in ms.

    A GIF counts in hundredths of a second: the picture's are rounded so that together they keep
    the time, as 70, 60, 70 ms for 15 pictures a second.
    """
    ends = [round(100 * (number + 1) / pictures_per_s) for number in range(num_pictures)]
    return [10 * (end - start) for start, end in itertools.pairwise([0, *ends])]
