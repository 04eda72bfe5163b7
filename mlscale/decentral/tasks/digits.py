"""The digits of scikit-learn with a perceptron or a small convolutional network."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mlscale.core.data.digits import LARGEST, load_digits
from mlscale.core.data.images import Images
from mlscale.core.errors import UserError
from mlscale.decentral.tasks.base import Build, Task
from mlscale.decentral.tasks.convnets import make_cnn, make_mlp
from mlscale.decentral.tasks.in_memory import InMemory, some, up_to

if TYPE_CHECKING:
    from pathlib import Path


def make_digits(name: str, *, data_dir: Path | None, max_train: int | None, seed: int) -> Task:
    """Return the task of telling digits (1, 8, 8) apart, pixels scaled to 0..1.

    Args:
        name: "digits" for a perceptron, "digits-cnn" for a small convolutional network.
        data_dir: Must be None: the images come with scikit-learn.
        max_train: Training images kept, None for all 1,442.
        seed: Draws those.

    Raises:
        UserError: A folder is given.
    """
    if data_dir is not None:
        raise UserError(
            f"task {name!r} reads no folder: its images come with scikit-learn",
            "leave --data-dir out",
        )
    perceptron, network = partial(make_mlp, 64, 64, 10), partial(make_cnn, 1, 8, 10)
    build: Build = perceptron if name == "digits" else network
    loaded = load_digits()
    keep = some(len(loaded.train), max_train, seed)
    train = Images(loaded.train.pixels_NCHW[keep], loaded.train.labels_N[keep])
    return Task(
        name=name,
        train=InMemory(train, up_to(LARGEST)),
        test=InMemory(loaded.test, up_to(LARGEST)),
        num_classes=len(loaded.classes),
        source=loaded.source,
        build=build,
        vmap_safe=True,
    )
