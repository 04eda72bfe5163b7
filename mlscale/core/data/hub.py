"""Data sets of the Hugging Face hub, for users who have no folder and no package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.data.images import Images
from mlscale.core.errors import UserError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def load_split(repository: str, config: str | None, split: str) -> Any:
    """Return one split of a set on the hub, downloaded unless it is in the cache.

    Raises:
        UserError: It cannot be had.
    """
    import datasets  # type: ignore[import-untyped]

    try:
        return datasets.load_dataset(repository, config, split=split)
    except (OSError, ValueError) as error:  # no network, no such set, offline mode
        raise UserError(
            f"{repository} cannot be had from the hub: {one_line(error)}",
            "give a folder that holds it with --data-dir DIR",
        ) from error


def version_of_split(split: Any) -> str:
    """Return the version a split of the hub states, "" without one."""
    return str(getattr(split, "version", None) or "")


def images_of(rows: Iterable[Mapping[str, Any]], image: str, label: str) -> Images:
    """Return the images of a split.

    Args:
        rows: Each with a pillow image of the same size and a class number.
        image: Column of the images.
        label: Column of the classes.
    """
    pixels, labels = [], []
    for row in rows:
        pixels_HWx = np.asarray(row[image], np.uint8)
        pixels.append(pixels_HWx.reshape(*pixels_HWx.shape[:2], -1).transpose(2, 0, 1))
        labels.append(row[label])
    return Images(np.stack(pixels), np.array(labels, np.int64))
