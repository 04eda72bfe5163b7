"""Tasks by name. Only the task that is asked for is imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mlscale.core.errors import UserError, unknown_name

if TYPE_CHECKING:
    from mlscale.decentral.tasks.base import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a task is made for.

    Args:
        name: The task's.
        data_dir: The user's folder, if any.
        max_train: Training examples kept, None for all.
        seed: Draws those.
    """

    name: str
    data_dir: Path | None
    max_train: int | None
    seed: int


def _digits(request: Request) -> Task:
    from mlscale.decentral.tasks import digits

    build = digits.make_network if request.name == "digits-cnn" else digits.make_perceptron
    return digits.make_digits(
        request.name,
        build,
        data_dir=request.data_dir,
        max_train=request.max_train,
        seed=request.seed,
    )


class Maker(Protocol):
    """Makes a task."""

    def __call__(self, request: Request, /) -> Task:
        """Return it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A task that can be asked for.

    Args:
        make: Makes it.
        description: One line for a listing.
    """

    make: Maker
    description: str


TASKS = {
    "digits": Entry(_digits, "8x8 digits of scikit-learn, perceptron 64-64-10"),
    "digits-cnn": Entry(_digits, "8x8 digits of scikit-learn, two convolutions"),
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
    request = Request(name=name, data_dir=data_dir, max_train=max_train, seed=seed)
    return TASKS[name].make(request)
