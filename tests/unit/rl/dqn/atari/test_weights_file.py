"""Weights as a file of float16: rounding, refusing, and one digest for one network."""

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.rl.dqn.atari.weights_file import digest, from_bytes, to_bytes

WEIGHTS = {"b": np.array([1.0, 2.0], np.float32), "a": np.array([[0.1]], np.float32)}


def test_weights_come_back_rounded_to_float16() -> None:
    back = from_bytes(to_bytes(WEIGHTS, "x"), "x")
    assert {name: array.dtype for name, array in back.items()} == {"a": "float32", "b": "float32"}
    assert back["b"].tolist() == [1.0, 2.0]
    assert back["a"].tolist() == [[0.0999755859375]]  # 0x2E66, the float16 nearest to 0.1


def test_two_bytes_a_weight_and_a_header() -> None:
    many = {"w": np.zeros((100, 100), np.float32)}
    assert 20_000 < len(to_bytes(many, "x")) < 20_200


def test_the_same_weights_give_the_same_bytes_in_any_order() -> None:
    data = to_bytes(WEIGHTS, "x")
    assert data == to_bytes(dict(reversed(WEIGHTS.items())), "y")
    assert to_bytes(from_bytes(data, "x"), "x") == data
    assert digest(data) == digest(bytes(data))
    assert len(digest(data)) == 64
    other = WEIGHTS | {"a": np.array([[0.2]], np.float32)}
    assert digest(to_bytes(other, "x")) != digest(data)


@pytest.mark.parametrize("value", [np.nan, np.inf, 70_000.0])
def test_weights_that_float16_cannot_hold(value: float) -> None:
    with pytest.raises(UserError) as caught:
        to_bytes({"w": np.array([value], np.float32)}, "runs/x")
    assert caught.value.message == "runs/x: a weight is no finite number of at most 65504"


def test_a_file_that_is_none() -> None:
    with pytest.raises(UserError, match="x is damaged"):
        from_bytes(b"not a file of weights", "x")
