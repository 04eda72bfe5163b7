"""Tasks by name. Only the module of the task that is asked for is imported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mlscale.core.errors import UserError, unknown_name

if TYPE_CHECKING:
    from pathlib import Path

    from mlscale.decentral.tasks.base import Task


class MakeTask(Protocol):
    """Makes a task of a family by its name."""

    def __call__(
        self, name: str, *, data_dir: Path | None, max_train: int | None, seed: int
    ) -> Task:
        """Return it; see `make_task`."""


class Find(Protocol):
    """Imports what makes a family of tasks."""

    def __call__(self) -> MakeTask:
        """Return it."""


def _digits() -> MakeTask:
    from mlscale.decentral.tasks.digits import make_digits

    return make_digits


def _fashion_mnist() -> MakeTask:
    from mlscale.decentral.tasks.images import make_fashion_mnist

    return make_fashion_mnist


def _cifar10() -> MakeTask:
    from mlscale.decentral.tasks.images import make_cifar10

    return make_cifar10


def _imagenet() -> MakeTask:
    from mlscale.decentral.tasks.imagenet import make_imagenet

    return make_imagenet


def _text() -> MakeTask:
    from mlscale.decentral.tasks.text import make_text

    return make_text


@dataclass(frozen=True, slots=True)
class Entry:
    """A task that can be asked for.

    Args:
        find: Imports what makes it.
        description: One line for a listing.
    """

    find: Find
    description: str


TASKS = {
    "digits": Entry(_digits, "8x8 digits of scikit-learn, perceptron 64-64-10"),
    "digits-cnn": Entry(_digits, "8x8 digits of scikit-learn, two convolutions"),
    "fashion_mnist": Entry(_fashion_mnist, "28x28 clothes, two convolutions"),
    "fashion_mnist-resnet8": Entry(_fashion_mnist, "28x28 clothes, ResNet-8 with batch norm"),
    "cifar10": Entry(_cifar10, "32x32 colour images, ResNet-20 with batch norm"),
    "cifar10-cnn": Entry(_cifar10, "32x32 colour images, two convolutions"),
    "imagenet": Entry(_imagenet, "a folder of images by class, ResNet-50 at 224 pixels"),
    "text-lstm": Entry(_text, "next byte of your .txt and .md files or NumPy's docs, LSTM"),
    "text-gpt": Entry(_text, "next byte of your .txt and .md files or NumPy's docs, small GPT"),
    "wikitext2-lstm": Entry(_text, "next byte of WikiText-2, LSTM"),
    "wikitext2-gpt": Entry(_text, "next byte of WikiText-2, small GPT"),
}


def make_task(
    name: str, *, data_dir: Path | None = None, max_train: int | None = None, seed: int = 0
) -> Task:
    """Return the task called `name`.

    Args:
        name: One of `TASKS`.
        data_dir: Folder with the data; without it an installed package is read, then the hub.
        max_train: Training examples to keep, drawn from the seed; None for all.
        seed: Draws those.

    Raises:
        UserError: There is no such task, or its data cannot be had.
    """
    if name not in TASKS:
        raise unknown_name("task", name, TASKS, listing=f"tasks: {', '.join(TASKS)}")
    if max_train is not None and max_train < 1:
        raise UserError(f"a task needs at least one training example, not {max_train}")
    if data_dir is not None and not data_dir.is_dir():
        raise UserError(f"{data_dir} is not a folder", "--data-dir takes a folder that exists")
    make = TASKS[name].find()
    return make(name, data_dir=data_dir, max_train=max_train, seed=seed)
