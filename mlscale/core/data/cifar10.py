"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in 10 classes.

Source: Krizhevsky 2009, "Learning multiple layers of features from tiny images".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlscale.core.data.hub import images_of, load_split, version_of_split
from mlscale.core.data.images import Images, image_set
from mlscale.core.data.pickles import read_plain_pickle
from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mlscale.core.data.images import ImageSet

SHAPE = 3, 32, 32
NUM_VALUES = 3 * 32 * 32
CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST = "test_batch"
HUB = "uoft-cs/cifar10"


def load_cifar10(data_dir: Path | None) -> ImageSet:
    """Return the set from a folder, else from the hub; no package holds it.

    Args:
        data_dir: Folder with the python batches (`data_batch_1` ...) or the binary ones
            (`data_batch_1.bin` ...), or the folder that holds `cifar-10-batches-py` or
            `cifar-10-batches-bin`.

    Raises:
        UserError: A file is missing or wrong, or the hub cannot be reached.
    """
    version = ""
    if data_dir is not None:
        folder, suffix, parse = _find(data_dir)
        train = _joined([_read(folder / f"{name}{suffix}", parse) for name in TRAIN])
        test = _read(folder / f"{TEST}{suffix}", parse)
        origin = f"folder {folder}"
    else:
        splits = [load_split(HUB, None, split) for split in ("train", "test")]
        train, test = (images_of(split, "img", "label") for split in splits)
        origin, version = f"hub {HUB}", version_of_split(splits[0])
    return image_set(
        train, test, CLASSES, name="CIFAR-10", origin=origin, version=version, licence=""
    )


def parse_python_batch(content: bytes) -> Images:
    """Return the images of a batch of the "python version", a pickled dict.

    Raises:
        ValueError: It is no such batch; the text goes on after the file's name.
    """
    found = read_plain_pickle(content)
    if not isinstance(found, dict):
        raise ValueError(f"it holds a {type(found).__name__}, not a dict")
    pixels, labels = (_entry(found, key) for key in ("data", "labels"))
    pixels_NV, labels_N = np.asarray(pixels), np.asarray(labels)
    if pixels_NV.dtype != np.uint8 or pixels_NV.ndim != 2 or pixels_NV.shape[1] != NUM_VALUES:
        raise ValueError(f"its data are not rows of {NUM_VALUES} bytes")
    if labels_N.dtype.kind not in "iu" or labels_N.shape != pixels_NV.shape[:1]:
        raise ValueError(f"its labels are not one number for each of {len(pixels_NV)} images")
    return _checked(pixels_NV.reshape(-1, *SHAPE), labels_N)


def parse_binary_batch(content: bytes) -> Images:
    """Return the images of a batch of the "binary version": a class and 3,072 bytes each.

    Raises:
        ValueError: It is no such batch; the text goes on after the file's name.
    """
    if not content or len(content) % (1 + NUM_VALUES):
        raise ValueError(f"its {len(content)} bytes are not records of {1 + NUM_VALUES}")
    records = np.frombuffer(content, np.uint8).reshape(-1, 1 + NUM_VALUES)
    return _checked(records[:, 1:].reshape(-1, *SHAPE), records[:, 0])


def _checked(pixels_NCHW: np.ndarray[Any, Any], labels_N: np.ndarray[Any, Any]) -> Images:
    if not len(labels_N) or labels_N.min() < 0 or labels_N.max() >= len(CLASSES):
        raise ValueError(f"its classes are not 0 to {len(CLASSES) - 1}")
    return Images(pixels_NCHW, labels_N.astype(np.int64))


def _entry(batch: dict[Any, Any], key: str) -> Any:
    for name in (key.encode(), key):  # Python 2 wrote the original, others may have written again
        if name in batch:
            return batch[name]
    raise ValueError(f"it has no {key!r}")


FORMATS: dict[str, tuple[str, Callable[[bytes], Images]]] = {
    "cifar-10-batches-py": ("", parse_python_batch),
    "cifar-10-batches-bin": (".bin", parse_binary_batch),
}


def _find(data_dir: Path) -> tuple[Path, str, Callable[[bytes], Images]]:
    for name, (suffix, parse) in FORMATS.items():
        for folder in (data_dir, data_dir / name):
            if any((folder / f"{batch}{suffix}").is_file() for batch in (*TRAIN, TEST)):
                return folder, suffix, parse
    raise UserError(
        f"{data_dir} has no batches of CIFAR-10",
        "--data-dir takes the unpacked folder cifar-10-batches-py or cifar-10-batches-bin",
    )


def _read(path: Path, parse: Callable[[bytes], Images]) -> Images:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        return parse(content)
    except ValueError as error:
        raise UserError(f"{path} is not a batch of CIFAR-10: {error}") from error


def _joined(parts: list[Images]) -> Images:
    return Images(
        np.concatenate([part.pixels_NCHW for part in parts]),
        np.concatenate([part.labels_N for part in parts]),
    )
