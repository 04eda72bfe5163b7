"""Fashion-MNIST from tiny files, from a stand-in of the hub, and from the package if there."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mlscale.core.data import fashion_mnist
from mlscale.core.data.fashion_mnist import CLASSES, load_fashion_mnist
from mlscale.core.errors import UserError


def as_idx(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def write_set(folder: Path, *, num_train: int = 6, num_test: int = 3, zipped: bool = True) -> dict:
    rng, written = np.random.default_rng(0), {}
    for part, count in (("train", num_train), ("t10k", num_test)):
        pixels = rng.integers(0, 256, (count, 28, 28)).astype(np.uint8)
        labels = rng.integers(0, 10, count).astype(np.uint8)
        written[part] = pixels, labels
        for name, array in (("images-idx3", pixels), ("labels-idx1", labels)):
            content = gzip.compress(as_idx(array)) if zipped else as_idx(array)
            suffix = ".gz" if zipped else ""
            (folder / f"{part}-{name}-ubyte{suffix}").write_bytes(content)
    return written


@pytest.mark.parametrize("zipped", [True, False])
def test_a_folder_is_read_as_it_was_written(tmp_path: Path, zipped: bool) -> None:
    written = write_set(tmp_path, zipped=zipped)
    loaded = load_fashion_mnist(tmp_path)
    for images, (pixels, labels) in (
        (loaded.train, written["train"]),
        (loaded.test, written["t10k"]),
    ):
        assert (images.pixels_NCHW[:, 0] == pixels).all()
        assert (images.labels_N == labels).all()
    assert loaded.source.origin == f"folder {tmp_path}"
    assert len(loaded.classes) == 10


def test_the_hub_comes_last_and_gives_the_same_hash(tmp_path, hub, monkeypatch) -> None:
    written = write_set(tmp_path)
    for split, part in (("train", "train"), ("test", "t10k")):
        hub.splits[split] = [
            {"image": Image.fromarray(pixels), "label": int(label)}
            for pixels, label in zip(*written[part], strict=True)
        ]
    monkeypatch.setattr(fashion_mnist, "PACKAGE", tmp_path)
    of_package = load_fashion_mnist(None)
    assert of_package.source.origin.startswith("package dataset-fashion-mnist")
    assert not hub.asked
    monkeypatch.setattr(fashion_mnist, "PACKAGE", tmp_path / "nothing")
    of_hub = load_fashion_mnist(None)
    assert of_hub.source.origin == "hub zalando-datasets/fashion_mnist"
    assert of_hub.source.sha256 == of_package.source.sha256
    assert (of_hub.train.pixels_NCHW == of_package.train.pixels_NCHW).all()


def test_a_hub_that_cannot_be_reached_is_a_line(hub, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(fashion_mnist, "PACKAGE", tmp_path / "nothing")
    with pytest.raises(UserError, match="cannot be had from the hub: ConnectionError: no route to"):
        load_fashion_mnist(None)


def test_wrong_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no train-images-idx3-ubyte.gz"):
        load_fashion_mnist(tmp_path)
    write_set(tmp_path)
    labels = tmp_path / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(as_idx(np.full(6, 10, np.uint8)))
    with pytest.raises(UserError, match="one class of 0 to 9 for each of 6 images"):
        load_fashion_mnist(tmp_path)
    labels.write_bytes(as_idx(np.zeros(5, np.uint8)))
    with pytest.raises(UserError, match="one class of 0 to 9 for each of 6 images"):
        load_fashion_mnist(tmp_path)
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(as_idx(np.zeros((6, 8, 8), np.uint8)))
    with pytest.raises(UserError, match="holds 6 x 8 x 8 bytes, not images of 28 x 28"):
        load_fashion_mnist(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not fashion_mnist.PACKAGE.is_dir(), reason="no dataset-fashion-mnist here")
def test_the_whole_set_has_7000_images_of_each_class() -> None:
    loaded = load_fashion_mnist(None)
    assert np.bincount(loaded.train.labels_N).tolist() == [6000] * len(CLASSES)
    assert np.bincount(loaded.test.labels_N).tolist() == [1000] * len(CLASSES)
