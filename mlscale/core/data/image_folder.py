"""Folders of images, one subfolder per class, read image by image.

Shape letters: N images.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mlscale.core.errors import UserError

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm"})


@dataclass(frozen=True, slots=True, eq=False)
class ImageFolder:
    """What a folder of images holds.

    Args:
        paths: N files, by class and then by name.
        labels_N: (N,) their class numbers.
        classes: Names of the classes' folders, ascending.
    """

    paths: tuple[Path, ...]
    labels_N: NDArray[np.int64]
    classes: tuple[str, ...]


def list_images(folder: Path) -> ImageFolder:
    """Return the images below `folder`, whose subfolders are the classes.

    Raises:
        UserError: There is no such folder, or a class without images.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder", "images lie in train/CLASS and val/CLASS")
    paths: list[Path] = []
    labels: list[int] = []
    subfolders = sorted(
        each for each in folder.iterdir() if each.is_dir() and not each.name.startswith(".")
    )
    for label, subfolder in enumerate(subfolders):
        found = sorted(path for path in subfolder.iterdir() if path.suffix.lower() in SUFFIXES)
        if not found:
            raise UserError(
                f"{subfolder} has no images", f"images end in {', '.join(sorted(SUFFIXES))}"
            )
        paths += found
        labels += [label] * len(found)
    if not paths:
        raise UserError(f"{folder} has no subfolders", "it needs one folder of images per class")
    return ImageFolder(
        tuple(paths), np.array(labels, np.int64), tuple(each.name for each in subfolders)
    )


def read_square(path: Path, size: int, share: float) -> NDArray[np.uint8]:
    """Return the middle of an image as a square.

    Args:
        path: The image, of any mode; what is transparent or grey becomes colour.
        size: Its height and width afterwards, in pixels.
        share: How much of the shorter side the square is wide, in (0, 1].

    Returns:
        (3, size, size) pixels.

    Raises:
        UserError: The file is not an image, or not a whole one.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            colour = image.convert("RGB")
    except (OSError, UnidentifiedImageError, SyntaxError, ValueError) as error:
        raise UserError(f"{path} cannot be read as an image: {error}") from error
    half = share * min(colour.size) / 2
    x, y = colour.width / 2, colour.height / 2
    box = (x - half, y - half, x + half, y + half)
    square = colour.resize((size, size), Image.Resampling.BILINEAR, box=box)
    return np.ascontiguousarray(np.asarray(square).transpose(2, 0, 1))
