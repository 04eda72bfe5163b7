"""Hashes that know the same data again, whatever the memory they lie in."""

import hashlib
import json

import numpy as np

from mlscale.core.data.source import Source, hash_arrays, hash_texts


def test_a_hash_by_hand() -> None:
    array = np.array([[1, 2], [3, 4]], np.uint8)
    expected = hashlib.sha256(b"|u1(2, 2)\1\2\3\4").hexdigest()
    assert hash_arrays([array]) == expected
    assert hash_texts(["a", "b"]) == hashlib.sha256(b"a\nb\n").hexdigest()


def test_memory_layout_and_byte_order_make_no_difference() -> None:
    array = np.arange(12, dtype="<i4").reshape(3, 4)
    for same in (np.asfortranarray(array), array.astype(">i4"), np.repeat(array, 2, 0)[::2]):
        assert hash_arrays([same]) == hash_arrays([array])


def test_values_shape_type_and_cut_do() -> None:
    array = np.arange(12, dtype=np.uint8)
    others = [
        [array[::-1]],
        [array.reshape(3, 4)],
        [array.astype(np.int16)],
        [array[:5], array[5:]],
        [array, np.empty((0, 2), np.uint8)],
    ]
    hashes = {hash_arrays(each) for each in [[array], *others]}
    assert len(hashes) == 6


def test_a_source_goes_into_a_result_and_onto_the_terminal() -> None:
    source = Source(
        name="set",
        origin="folder x",
        version="",
        licence="MIT",
        sha256="0123456789abcdef",
        hashed="all",
    )
    assert json.loads(json.dumps(source.to_json()))["licence"] == "MIT"
    assert source.sentence() == "data: set from folder x, sha256 0123456789ab"
