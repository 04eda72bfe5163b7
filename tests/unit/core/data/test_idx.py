"""The idx reader: what is written comes back, what is damaged is refused in one line."""

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.data.idx import parse_idx, read_idx
from mlscale.core.errors import UserError


def as_idx(array: np.ndarray) -> bytes:
    sizes = struct.pack(f">{array.ndim}I", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(0, 9), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_is_written_comes_back(tmp_path_factory, sizes, seed, zipped) -> None:
    array = np.random.default_rng(seed).integers(0, 256, sizes).astype(np.uint8)
    path = tmp_path_factory.mktemp("idx") / "file"
    path.write_bytes(gzip.compress(as_idx(array)) if zipped else as_idx(array))
    read = read_idx(path)
    assert read.shape == array.shape
    assert (read == array).all()


def test_a_file_written_by_hand() -> None:
    content = bytes.fromhex("00000802 00000002 00000003 010203040506")
    assert parse_idx(content).tolist() == [[1, 2, 3], [4, 5, 6]]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_part_of_a_file_passes_for_a_whole_one(data) -> None:
    content = as_idx(np.arange(12, dtype=np.uint8).reshape(3, 4))
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(ValueError, match=r"is cut short|is not an idx file"):
        parse_idx(content[:cut])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\3\4 a zip file", "is not an idx file"),
        (bytes([0, 0, 0x0B, 1, 0, 0, 0, 1, 0, 1]), "values of type 0x0b, not unsigned bytes"),
        (bytes([0, 0, 8, 2, 0, 0, 0, 1]), "is cut short within its sizes"),
        (bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 7]), "cut short: 1 bytes of values where 2 x"),
        (bytes([0, 0, 8, 1, 0, 0, 0, 1, 7, 7]), "goes on too long: 2 bytes of values where 1 take"),
    ],
)
def test_errors_are_one_line_that_names_the_file(tmp_path, content: bytes, message: str) -> None:
    path = tmp_path / "some-idx"
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_idx(path)
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message
    assert "\n" not in caught.value.message


def test_a_gzip_file_that_is_cut_short_is_refused(tmp_path) -> None:
    whole = gzip.compress(as_idx(np.arange(200, dtype=np.uint8)))
    path = tmp_path / "cut.gz"
    for length in (5, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match="is cut short or damaged"):
            read_idx(path)
    path.write_bytes(whole[:-8] + bytes(8))  # a wrong checksum
    with pytest.raises(UserError, match="is cut short or damaged"):
        read_idx(path)


def test_a_missing_file_is_a_line(tmp_path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*nothing: No such file"):
        read_idx(tmp_path / "nothing")
