"""Fashion-MNIST and CIFAR-10 with networks of their size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mlscale.core.data.cifar10 import load_cifar10
from mlscale.core.data.fashion_mnist import load_fashion_mnist
from mlscale.core.data.images import Images
from mlscale.decentral.tasks.augment import CropAndFlip
from mlscale.decentral.tasks.base import Augment, Build, Task, unchanged
from mlscale.decentral.tasks.convnets import make_cnn
from mlscale.decentral.tasks.in_memory import InMemory, some, standardised
from mlscale.decentral.tasks.resnets import make_cifar_resnet

if TYPE_CHECKING:
    from pathlib import Path

    from mlscale.core.data.images import ImageSet

PADDING = 4
"""Pixels by which CIFAR's training images are shifted at most."""


def make_fashion_mnist(
    name: str, *, data_dir: Path | None, max_train: int | None, seed: int
) -> Task:
    """Return the task of telling clothes (1, 28, 28) apart.

    Args:
        name: "fashion_mnist" for a small convolutional network, "fashion_mnist-resnet8".
        data_dir: Folder with the idx files; None for the package or the hub.
        max_train: Training images kept, None for all 60,000.
        seed: Draws those.

    Raises:
        UserError: The data cannot be had.
    """
    resnet = name.endswith("resnet8")
    build: Build = partial(make_cifar_resnet, 1, 1, 10) if resnet else partial(make_cnn, 1, 28, 10)
    keep = max_train, seed
    return _task(name, load_fashion_mnist(data_dir), build, keep=keep, vmap_safe=not resnet)


def make_cifar10(name: str, *, data_dir: Path | None, max_train: int | None, seed: int) -> Task:
    """Return the task of telling animals and vehicles (3, 32, 32) apart.

    Training images are shifted by up to four pixels, what comes in being the mean colour, and
    half of them mirrored.

    Args:
        name: "cifar10" for ResNet-20, "cifar10-cnn" for a small network without batch norm.
        data_dir: Folder with the batches; None for the hub.
        max_train: Training images kept, None for all 50,000.
        seed: Draws those.

    Raises:
        UserError: The data cannot be had.
    """
    small = name.endswith("cnn")
    build: Build = partial(make_cnn, 3, 32, 10) if small else partial(make_cifar_resnet, 3, 3, 10)
    return _task(
        name,
        load_cifar10(data_dir),
        build,
        keep=(max_train, seed),
        vmap_safe=small,
        augment=CropAndFlip(PADDING),
    )


def _task(
    name: str,
    loaded: ImageSet,
    build: Build,
    *,
    keep: tuple[int | None, int],
    vmap_safe: bool,
    augment: Augment = unchanged,
) -> Task:
    # Every channel by the mean and deviation of all training images, few as may be kept.
    scale = standardised(loaded.train.pixels_NCHW)
    kept = some(len(loaded.train), *keep)
    train = loaded.train
    if len(kept) < len(train):
        train = Images(train.pixels_NCHW[kept], train.labels_N[kept])
    return Task(
        name=name,
        train=InMemory(train, scale),
        test=InMemory(loaded.test, scale),
        num_classes=len(loaded.classes),
        source=loaded.source,
        build=build,
        vmap_safe=vmap_safe,
        augment=augment,
    )
