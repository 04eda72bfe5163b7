"""CIFAR-10 from tiny batches of both formats, and pickles that would do harm."""

import contextlib
import io
import pickle
import struct
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from mlscale.core.data.cifar10 import (
    TEST,
    TRAIN,
    load_cifar10,
    parse_binary_batch,
    parse_python_batch,
)
from mlscale.core.data.pickles import read_plain_pickle
from mlscale.core.errors import UserError


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2's strings, and NumPy's names as they were then."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_string(self, value: bytes | str) -> None:
        content = value if isinstance(value, bytes) else value.encode("latin1")
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(value)

    def save_global(self, obj, name=None) -> None:
        known = {"_reconstruct": b"numpy.core.multiarray", "ndarray": b"numpy", "dtype": b"numpy"}
        self.write(pickle.GLOBAL + known[obj.__name__] + b"\n" + obj.__name__.encode() + b"\n")
        self.memoize(obj)

    dispatch[bytes] = dispatch[str] = save_string
    dispatch[type] = dispatch[type(len)] = save_global


def as_python2(value) -> bytes:
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(value)
    return file.getvalue()


def examples(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 3072)).astype(np.uint8), rng.integers(0, 10, count)


def as_batch(pixels: np.ndarray, labels: np.ndarray) -> dict:
    names = [f"{i}.png".encode() for i in range(len(labels))]
    return {b"data": pixels, b"labels": labels.tolist(), b"filenames": names}


WRITERS = {
    "as the original": as_python2,
    "by Python 3, protocol 2": lambda value: pickle.dumps(value, protocol=2),
    "by Python 3, protocol 4": lambda value: pickle.dumps(value, protocol=4),
}


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_a_python_batch_comes_back(writer) -> None:
    pixels, labels = examples(4)
    batch = parse_python_batch(writer(as_batch(pixels, labels)))
    assert (batch.pixels_NCHW.reshape(4, -1) == pixels).all()
    assert batch.labels_N.tolist() == labels.tolist()
    assert batch.pixels_NCHW[1, 2, 3, 5] == pixels[1, 2 * 1024 + 3 * 32 + 5]  # red, green, blue


def test_the_original_s_strings_are_really_python_2_s() -> None:
    written = as_python2({b"data": examples(2)[0]})
    assert b"numpy.core.multiarray\n_reconstruct" in written
    assert b"_codecs" not in written
    assert pickle.loads(written, encoding="bytes")[b"data"].shape == (2, 3072)


def test_arrays_keep_type_order_and_byte_order() -> None:
    for array in (
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
        np.array([True, False]),
    ):
        read = read_plain_pickle(pickle.dumps(array, protocol=2))
        assert (read == array).all()
        assert read.dtype.kind == array.dtype.kind


@pytest.mark.parametrize("kind", ["python", "binary"])
def test_a_folder_is_read_whichever_format_it_has(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / ("cifar-10-batches-py" if kind == "python" else "cifar-10-batches-bin")
    folder.mkdir()
    everything = [examples(3, seed) for seed in range(6)]
    for name, (pixels, labels) in zip((*TRAIN, TEST), everything, strict=True):
        if kind == "python":
            (folder / name).write_bytes(as_python2(as_batch(pixels, labels)))
        else:
            rows = np.concatenate([labels[:, None].astype(np.uint8), pixels], axis=1)
            (folder / f"{name}.bin").write_bytes(rows.tobytes())
    for given_folder in (folder, tmp_path):
        loaded = load_cifar10(given_folder)
        train = np.concatenate([pixels for pixels, _ in everything[:5]])
        assert (loaded.train.pixels_NCHW.reshape(15, -1) == train).all()
        assert loaded.test.labels_N.tolist() == everything[5][1].tolist()
        assert loaded.source.origin == f"folder {folder}"


def test_the_hub_gives_the_same_images(hub) -> None:
    pixels, labels = examples(3)
    colours = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    rows = [
        {"img": Image.fromarray(image), "label": int(label)}
        for image, label in zip(np.ascontiguousarray(colours), labels, strict=True)
    ]
    hub.splits.update(train=rows, test=rows[:1])
    loaded = load_cifar10(None)
    assert (loaded.train.pixels_NCHW.reshape(3, -1) == pixels).all()
    assert len(loaded.test) == 1
    assert hub.asked == [("uoft-cs/cifar10", None, "train"), ("uoft-cs/cifar10", None, "test")]


class Harm:
    def __init__(self, *call) -> None:
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_that_a_pickle_names_is_run(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "mark"
    for harm in (Harm(Path.touch, mark), Harm(eval, f"open({str(mark)!r}, 'w')"), Harm(exec, "")):
        with pytest.raises(ValueError, match=r"it names .*, which is not read"):
            read_plain_pickle(pickle.dumps({b"data": harm}, protocol=protocol))
    assert not mark.exists()


def test_arrays_of_objects_are_refused() -> None:
    for value in (np.array([{}, []], object), np.array(["text"]), np.zeros(2, "i4,i4")):
        with pytest.raises(ValueError, match="array of"):
            read_plain_pickle(pickle.dumps(value, protocol=2))
    for value in (np.uint8, {1: np.ndarray}):
        with pytest.raises(ValueError, match=r"it holds|it names"):
            read_plain_pickle(pickle.dumps(value, protocol=2))


def test_an_array_whose_shape_lies_is_refused() -> None:
    written = pickle.dumps(np.zeros(7, np.uint8), protocol=2)
    assert written.count(b"K\x07\x85") == 1  # the shape (7,)
    with pytest.raises(ValueError, match="array of 7 values in shape"):
        read_plain_pickle(written.replace(b"K\x07\x85", b"K\x09\x85"))


def test_a_number_in_a_pickle_sets_no_memory_aside() -> None:
    far = b"N" + pickle.LONG_BINPUT + b"\xff\xff\xff\x7f"  # an entry of 2**31 in the memo
    assert read_plain_pickle(b"\x80\x02" + far + b".") is None
    with pytest.raises(ValueError, match="it is cut short"):
        read_plain_pickle(b"\x80\x02" + pickle.BINSTRING + b"\xff\xff\xff\x7f.")


@given(st.binary(max_size=60), st.integers(0, 200), st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_damaged_pickles_raise_nothing_but_value_errors(junk: bytes, place: int, byte: int) -> None:
    whole = as_python2(as_batch(*examples(1)))
    damaged = bytearray(whole)
    damaged[place] = byte
    for content in (junk, b"\x80\x02" + junk, whole[:place], bytes(damaged)):
        with contextlib.suppress(ValueError):
            read_plain_pickle(content)


def test_wrong_batches_are_refused() -> None:
    pixels, _ = examples(2)
    for batch, message in (
        ([1, 2], "it holds a list, not a dict"),
        ({b"data": pixels}, "it has no 'labels'"),
        ({b"data": pixels[:, :9], b"labels": [1, 2]}, "its data are not rows of 3072 bytes"),
        ({b"data": b"", b"labels": []}, "its data are not rows of 3072 bytes"),
        ({b"data": pixels, b"labels": [1]}, "its labels are not one number for each of 2 images"),
        ({b"data": pixels, b"labels": ["a", "b"]}, "its labels are not one number"),
        ({b"data": pixels, b"labels": [1, 10]}, "its classes are not 0 to 9"),
        ({b"data": pixels, b"labels": [-1, 1]}, "its classes are not 0 to 9"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_python_batch(pickle.dumps(batch, protocol=4))
    for content in (b"", bytes(3072), bytes([10]) + bytes(3072)):
        with pytest.raises(ValueError, match=r"are not records of 3073|are not 0 to 9"):
            parse_binary_batch(content)


def test_errors_name_the_file_and_the_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no batches of CIFAR-10") as caught:
        load_cifar10(tmp_path)
    assert "cifar-10-batches-py" in caught.value.hint
    (tmp_path / TRAIN[0]).write_bytes(b"no pickle")
    with pytest.raises(UserError, match="data_batch_1 is not a batch of CIFAR-10: "):
        load_cifar10(tmp_path)
    (tmp_path / TRAIN[0]).write_bytes(as_python2(as_batch(*examples(2))))
    with pytest.raises(UserError, match=r"cannot read .*data_batch_2: No such file"):
        load_cifar10(tmp_path)
