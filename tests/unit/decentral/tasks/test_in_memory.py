"""Images as bytes in memory, against NumPy's mean and deviation."""

import numpy as np
import pytest

from mlscale.core.data.images import Images
from mlscale.decentral.tasks import in_memory
from mlscale.decentral.tasks.in_memory import InMemory, some, standardised, up_to


def test_standardised_channels_have_mean_0_and_deviation_1(monkeypatch) -> None:
    monkeypatch.setattr(in_memory, "CHUNK", 7)
    pixels = np.random.default_rng(0).integers(0, 256, (20, 3, 5, 4)).astype(np.uint8)
    pixels[:, 1] //= 3
    scale = standardised(pixels)
    assert scale.shift_C == pytest.approx(pixels.mean(axis=(0, 2, 3)))
    assert scale.scale_C == pytest.approx(pixels.std(axis=(0, 2, 3)))
    images = InMemory(Images(pixels, np.zeros(20, np.int64)), scale)
    x, _ = images.take(np.arange(20))
    assert x.mean(dim=(0, 2, 3)).numpy() == pytest.approx(0, abs=1e-5)
    assert x.std(dim=(0, 2, 3), correction=0).numpy() == pytest.approx(1, abs=1e-5)


def test_a_channel_that_never_varies_stays_finite() -> None:
    pixels = np.full((3, 1, 2, 2), 8, np.uint8)
    x, _ = InMemory(Images(pixels, np.zeros(3, np.int64)), standardised(pixels)).take(np.arange(3))
    assert (x == 0).all()


def test_pixels_are_scaled_to_one() -> None:
    pixels = np.array([0, 4, 16], np.uint8).reshape(3, 1, 1, 1)
    x, y = InMemory(Images(pixels, np.array([2, 1, 0])), up_to(16)).take(np.array([2, 1]))
    assert x.flatten().tolist() == [1.0, 0.25]
    assert y.tolist() == [0, 1]


def test_some_examples_are_drawn_once_each() -> None:
    assert some(5, None, 0).tolist() == some(5, 9, 0).tolist() == [0, 1, 2, 3, 4]
    drawn = some(100, 30, 0)
    assert len(set(drawn.tolist())) == 30
    assert (np.diff(drawn) > 0).all()
    assert (drawn == some(100, 30, 0)).all()
    assert (drawn != some(100, 30, 1)).any()
