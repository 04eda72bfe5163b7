"""ImageNet, or any folder of images in the same layout, with ResNet-50.

Shape letters: N images.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mlscale.core.data.image_folder import ImageFolder, list_images, read_square
from mlscale.core.data.source import Source, hash_texts
from mlscale.core.errors import UserError
from mlscale.decentral.tasks.augment import ResizedCrop
from mlscale.decentral.tasks.base import Task
from mlscale.decentral.tasks.in_memory import Scale, some
from mlscale.decentral.tasks.resnets import make_resnet50

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

TRAIN_SIZE = 256
"""Height and width a training image is held at, of which its random part is cut, in pixels."""

SIZE = 224
"""Height and width that the network sees, in pixels."""

MEAN = (0.485, 0.456, 0.406)
DEVIATION = (0.229, 0.224, 0.225)
"""Of ImageNet's colours on a scale of 0 to 1, as most libraries have them."""


class ImageFiles:
    """Images read from their files whenever they are asked for.

    Args:
        folder: The files and their classes.
        size: Height and width, in pixels.
        share: Of the shorter side, what the square in the middle takes.
    """

    def __init__(self, folder: ImageFolder, size: int, share: float) -> None:
        self._folder, self._size, self._share = folder, size, share
        self._scale = Scale(*(255 * np.array(v, np.float32) for v in (MEAN, DEVIATION)))

    @property
    def labels(self) -> NDArray[np.int64]:
        """(N,) classes."""
        return self._folder.labels_N

    def __len__(self) -> int:
        """Return N."""
        return len(self._folder.paths)

    def take(self, index: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return images (*index.shape, 3, size, size) as floats and classes (*index.shape).

        Raises:
            UserError: A file is no image.
        """
        import torch

        pixels = np.empty((index.size, 3, self._size, self._size), np.uint8)
        for place, number in enumerate(index.ravel().tolist()):
            pixels[place] = read_square(self._folder.paths[number], self._size, self._share)
        shaped = torch.from_numpy(pixels.reshape(*index.shape, *pixels.shape[1:]))
        return self._scale(shaped), torch.from_numpy(self.labels[index])


def make_imagenet(name: str, *, data_dir: Path | None, max_train: int | None, seed: int) -> Task:
    """Return the task of classifying the images below `data_dir`.

    Images are read file by file, so memory does not limit their number. A training image is the
    square in its middle at 256 pixels, of which a random part is cut and brought to 224; the
    usual recipe cuts that part of the whole image. A test image is the middle at 224 of 256.

    Args:
        name: The task's.
        data_dir: Folder with train/CLASS and val/CLASS.
        max_train: Training images kept, None for all.
        seed: Draws those.

    Raises:
        UserError: There is no such folder, or train and val do not have the same classes.
    """
    if data_dir is None:
        raise UserError(
            f"task {name!r} needs a folder of images",
            "name one that has train/CLASS and val/CLASS with --data-dir DIR",
        )
    train, test = list_images(data_dir / "train"), list_images(data_dir / "val")
    odd = sorted({*train.classes} ^ {*test.classes})
    if odd:
        raise UserError(f"train and val in {data_dir} differ in class {odd[0]!r}")
    source = Source(
        name="image folder",
        origin=f"folder {data_dir}",
        version="",
        licence="",
        sha256=hash_texts(_names_and_sizes(data_dir, (*train.paths, *test.paths))),
        hashed="names and sizes of all files",
    )
    kept = some(len(train.paths), max_train, seed)
    few = ImageFolder(
        tuple(train.paths[number] for number in kept.tolist()), train.labels_N[kept], train.classes
    )
    return Task(
        name=name,
        train=ImageFiles(few, TRAIN_SIZE, 1.0),
        test=ImageFiles(test, SIZE, SIZE / TRAIN_SIZE),
        num_classes=len(train.classes),
        source=source,
        build=partial(make_resnet50, len(train.classes)),
        vmap_safe=False,
        augment=ResizedCrop(SIZE),
    )


def _names_and_sizes(folder: Path, paths: tuple[Path, ...]) -> list[str]:
    return [f"{path.relative_to(folder).as_posix()} {path.stat().st_size}" for path in paths]
