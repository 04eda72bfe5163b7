"""What all algorithms share: when they are called, and what of them a checkpoint keeps.

In a training step the trainer calls `before`, computes gradients, calls `gradient`, lets the
optimizer change the parameters, and calls `after`. Everything is in place on flat parameters
(..., P): of one replica in a process, of all in a simulation.

Shape letters: P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from torch import Tensor

    from mlscale.decentral.graphs.mixing import Mixing
    from mlscale.decentral.mixer import Mixer


class Algorithm:
    """One way to descend and mix.

    Args:
        x: (..., P) the parameters, which the optimizer and this change in place.
        mixer: Carries values between replicas.

    Attributes:
        step: The training step, from 0, whose round of the graph is next.
    """

    summary: ClassVar[str]
    """One line for listings."""
    needs_all: ClassVar[bool] = False
    """Whether none may fall out: a step takes the mean of all, or its state counts on them."""
    own_momentum: ClassVar[bool] = False
    """Whether it has a momentum of its own, so that the optimizer must be plain SGD."""
    vectors_per_step: ClassVar[float] = 1.0
    """How many times the parameters every neighbour is sent in a step."""

    def __init__(self, x: Tensor, mixer: Mixer) -> None:
        self.x, self.mixer = x, mixer
        self.step = 0

    @classmethod
    def prepared(cls, mixing: Mixing) -> Mixing:
        """Return the weights that this algorithm uses in place of those of a round."""
        return mixing

    def before(self) -> None:
        """Do what comes before the gradient."""

    def gradient(self, g: Tensor) -> None:
        """Turn the gradient (..., P) into the one that the optimizer is given, in place."""

    def after(self, lr: float) -> None:
        """Mix; the optimizer has just changed the parameters by a step of this size."""
        raise NotImplementedError

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps: tensors (..., P) or (..., 1), the parameters apart."""
        return {}

    def load(self, tensors: dict[str, Tensor], step: int) -> None:
        """Put back what `tensors` gave, at the step it was asked at."""
        self.step = step
        for name, own in self.tensors().items():
            own.copy_(tensors[name])
