"""Fashion-MNIST: 70,000 grey images of clothes, 28 x 28 pixels, 10 classes.

Source: Xiao, Rasul and Vollgraf 2017 (arXiv 1708.07747).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlscale.core.data.hub import images_of, load_split, version_of_split
from mlscale.core.data.idx import read_idx
from mlscale.core.data.images import Images, image_set
from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from mlscale.core.data.images import ImageSet

SIZE = 28
CLASSES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)

PACKAGE = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package dataset-fashion-mnist installs the files."""

HUB = "zalando-datasets/fashion_mnist"


def load_fashion_mnist(data_dir: Path | None) -> ImageSet:
    """Return the set from a folder, else from Debian's package, else from the hub.

    Args:
        data_dir: Folder with the four idx files, gzipped or not.

    Raises:
        UserError: A file is missing or wrong, or the hub cannot be reached.
    """
    version = ""
    if data_dir is not None:
        origin, train, test = f"folder {data_dir}", *_from_folder(data_dir)
    elif PACKAGE.is_dir():
        origin, train, test = f"package dataset-fashion-mnist ({PACKAGE})", *_from_folder(PACKAGE)
    else:
        splits = [load_split(HUB, None, split) for split in ("train", "test")]
        train, test = (images_of(split, "image", "label") for split in splits)
        origin, version = f"hub {HUB}", version_of_split(splits[0])
    return image_set(
        train, test, CLASSES, name="Fashion-MNIST", origin=origin, version=version, licence="MIT"
    )


def _from_folder(folder: Path) -> tuple[Images, Images]:
    return _read(folder, "train"), _read(folder, "t10k")


def _read(folder: Path, part: str) -> Images:
    images_path = _find(folder, f"{part}-images-idx3-ubyte")
    labels_path = _find(folder, f"{part}-labels-idx1-ubyte")
    pixels_NHW, labels_N = read_idx(images_path), read_idx(labels_path)
    if pixels_NHW.ndim != 3 or pixels_NHW.shape[1:] != (SIZE, SIZE) or not len(pixels_NHW):
        shape = " x ".join(map(str, pixels_NHW.shape))
        raise UserError(f"{images_path} holds {shape} bytes, not images of {SIZE} x {SIZE}")
    if labels_N.shape != (len(pixels_NHW),) or labels_N.max() >= len(CLASSES):
        raise UserError(
            f"{labels_path} does not hold one class of 0 to {len(CLASSES) - 1} for each of "
            f"{len(pixels_NHW)} images"
        )
    return Images(pixels_NHW[:, None], labels_N.astype("int64"))


def _find(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise UserError(
        f"{folder} has no {name}.gz",
        "--data-dir takes the folder with Fashion-MNIST's four idx files",
    )
