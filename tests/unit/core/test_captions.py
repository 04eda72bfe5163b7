"""Captions: where the picture goes, how large it becomes, what is cut short."""

import numpy as np
import pytest
from PIL import ImageFont

from mlscale.core.captions import BACKGROUND, fit, with_caption


def picture(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def strip_of(captioned: np.ndarray, height: int) -> np.ndarray:
    return captioned[: len(captioned) - height]


@pytest.mark.parametrize(
    ("width", "scale"), [(160, 3), (240, 2), (479, 2), (480, 1), (600, 1), (30, 16)]
)
def test_a_small_picture_is_enlarged_pixel_by_pixel(width: int, scale: int) -> None:
    small = picture(7, width)
    captioned = with_caption(small, [("left", "right")])
    assert captioned.shape[1] == scale * width
    large = captioned[-7 * scale :]
    for row, column in ((0, 0), (3, width // 2), (6, width - 1)):
        square = large[row * scale : (row + 1) * scale, column * scale : (column + 1) * scale]
        assert (square == small[row, column]).all()


def test_each_row_of_text_takes_a_line() -> None:
    one = with_caption(picture(10, 480), [("a", "b")])
    two = with_caption(picture(10, 480), [("a", "b"), ("c", "d")])
    assert len(two) > len(one) > 10
    assert two.shape == with_caption(picture(10, 480), [("", ""), ("", "")]).shape


def test_left_stands_left_and_right_stands_right() -> None:
    for row, half in ((("text", ""), slice(0, 240)), (("", "text"), slice(240, 480))):
        strip = strip_of(with_caption(picture(10, 480), [row]), 10)
        written = (strip != BACKGROUND).any(axis=2)
        assert written[:, half].any()
        assert written.sum() == written[:, half].sum()


def test_other_text_is_another_strip() -> None:
    minus, plus = (with_caption(picture(4, 480), [("", f"score {n}")]) for n in (-21, 21))
    assert not (minus == plus).all()


def test_a_long_left_half_leaves_the_right_one_whole() -> None:
    free = strip_of(with_caption(picture(4, 480), [("", "score 1,234")]), 4)
    crowded = strip_of(with_caption(picture(4, 480), [("W" * 200, "score 1,234")]), 4)
    right_side = np.flatnonzero((free != BACKGROUND).any(axis=(0, 2)))[0]
    assert (free[:, right_side:] == crowded[:, right_side:]).all()
    assert not (free == crowded).all()


def test_fit_cuts_as_little_as_it_must() -> None:
    font = ImageFont.load_default(18)
    text = "module_of_mine:make_the_agent"
    assert fit(text, font.getlength(text), font) == text
    cut = fit(text, 100, font)
    assert cut.endswith("...")
    assert text.startswith(cut[:-3])
    assert font.getlength(cut) <= 100 < font.getlength(text[: len(cut) - 2] + "...")
