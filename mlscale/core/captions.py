"""A strip of text above a picture: what is seen, and how it stands.

Letters: H height, W width, C colours (red, green, blue).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MIN_WIDTH = 480  # px; smaller pictures are enlarged, each pixel to a square
FONT_FRAC = 0.038  # height of the letters as a share of the width
BACKGROUND, LEFT_COLOUR, RIGHT_COLOUR = (24, 24, 28), (170, 170, 178), (255, 255, 255)


def with_caption(
    picture_HWC: NDArray[np.uint8], rows: Sequence[tuple[str, str]]
) -> NDArray[np.uint8]:
    """Return the picture below a strip of text, enlarged where it is small.

    Args:
        picture_HWC: (H, W, 3) red, green and blue, 0..255.
        rows: Of each row of text its left and its right half. The left one is cut short where
            the two have no room side by side.

    Returns:
        (strip + scale H, scale W, 3), where scale is the least that makes it `MIN_WIDTH` wide.
    """
    scale = -(-MIN_WIDTH // picture_HWC.shape[1])
    large_HWC = picture_HWC.repeat(scale, axis=0).repeat(scale, axis=1)
    return np.concatenate([_strip(large_HWC.shape[1], rows), large_HWC])


def _strip(width: int, rows: Sequence[tuple[str, str]]) -> NDArray[np.uint8]:
    """Return the rows of text as a picture of that width."""
    size = round(width * FONT_FRAC)
    font: Any = ImageFont.load_default(size)
    margin, line_height = size // 2, round(1.4 * size)
    strip = Image.new("RGB", (width, line_height * len(rows) + margin), BACKGROUND)
    draw = ImageDraw.Draw(strip)
    for number, (left, right) in enumerate(rows):
        y = margin // 2 + number * line_height
        x = width - margin - font.getlength(right)
        shown = fit(left, x - 2 * margin, font)
        draw.text((margin, y), shown, font=font, fill=LEFT_COLOUR)
        draw.text((x, y), right, font=font, fill=RIGHT_COLOUR)
    return np.asarray(strip)


def fit(text: str, width: float, font: Any) -> str:
    """Return the text, with its end cut off for three dots where it is wider than `width` px."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}...") > width:
        text = text[:-1]
    return f"{text}..."
