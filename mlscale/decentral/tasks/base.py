"""A task: examples, a model and a loss, for one process per rank or for n simulated replicas.

Shape letters: N examples; B examples of a batch; C classes, or values a token may take. `...`
stands for what one example looks like; its targets are one class, or one token per position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mlscale.core.data.source import Source
from mlscale.core.seeding import derive_seed

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from torch import Tensor, nn


class Examples(Protocol):
    """Examples that are asked for by number.

    Attributes:
        labels: (N,) by what a split may be skewed: classes, or for text the file; None where
            there is nothing of the kind.
    """

    @property
    def labels(self) -> NDArray[np.int64] | None:
        """(N,) by what a split may be skewed."""

    def __len__(self) -> int:
        """Return N."""

    def take(self, index: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Return inputs and targets.

        Args:
            index: Numbers of examples, of any shape, as (B,) or (num_ranks, B).

        Returns:
            Inputs, float32 or int64, (*index.shape, ...), and targets, int64, beginning with the
            same shape. Both on the CPU.
        """


class Augment(Protocol):
    """A random change of training inputs that leaves their targets right."""

    def __call__(self, x_B: Tensor, rng: torch.Generator) -> Tensor:
        """Return changed inputs for (*leading, ...), every example by draws of its own."""


class Build(Protocol):
    """Makes a model with weights drawn from torch's global CPU generator."""

    def __call__(self) -> nn.Module:
        """Return a new model on the CPU."""


class Derive(Protocol):
    """Numbers that follow from a mean loss."""

    def __call__(self, mean_loss: float) -> dict[str, float]:
        """Return them by name."""


def unchanged(x_B: Tensor, rng: torch.Generator) -> Tensor:
    """Return inputs as they are; draws nothing."""
    return x_B


def nothing_more(mean_loss: float) -> dict[str, float]:
    """Return no further numbers."""
    return {}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """What replicas learn.

    Args:
        name: As the user names it.
        train: Examples to learn from.
        test: Examples to measure on.
        num_classes: C.
        source: Where the data came from.
        build: Makes a model; `make_model` is what callers use.
        vmap_safe: Whether `torch.func.vmap` runs many replicas of the model as one: no batch
            norm, whose averages vmap would have to write to, and no operation it does one by one.
        augment: Changes training inputs at random.
        derived: Further numbers that follow from the mean loss, by name, as in bits per byte.
    """

    name: str
    train: Examples
    test: Examples
    num_classes: int
    source: Source
    build: Build
    vmap_safe: bool
    augment: Augment = unchanged
    derived: Derive = nothing_more

    def make_model(self, seed: int) -> nn.Module:
        """Return a new model on the CPU; the same seed gives the same weights.

        Random streams of the caller go on as if nothing had been drawn.
        """
        import torch

        with torch.random.fork_rng(devices=[]):
            # Not torch.manual_seed, which would also seed GPUs, whose state is not put back.
            torch.default_generator.manual_seed(derive_seed(seed, "model", bits=63))
            return self.build()

    def loss(self, outputs_BC: Tensor, y_B: Tensor) -> Tensor:
        """Return the mean cross entropy over all targets, in nats.

        Args:
            outputs_BC: (B, C) or (B, positions, C) logits.
            y_B: (B,) or (B, positions) targets.
        """
        from torch.nn import functional as F

        return F.cross_entropy(outputs_BC.flatten(0, -2), y_B.flatten())

    def correct(self, outputs_BC: Tensor, y_B: Tensor) -> Tensor:
        """Return how many targets have the largest logit, a scalar tensor; `y_B.numel()` is all.

        Args:
            outputs_BC: (B, C) or (B, positions, C) logits.
            y_B: (B,) or (B, positions) targets.
        """
        return (outputs_BC.argmax(-1) == y_B).sum()
