"""One training step of one replica, or of all replicas of a simulation: the same code.

Shape letters: N replicas; P parameters; K parameter tensors; B examples of a batch; C classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch  # noqa: TID253 - nothing imports this early

from mlscale.core.errors import WorkFailed
from mlscale.decentral.flat import limit_norm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from mlscale.decentral.algorithms.base import Algorithm
    from mlscale.decentral.flat import Layout
    from mlscale.decentral.tasks.base import Examples, Task

TEST_BATCH = 500


class Replicas(Protocol):
    """One replica, or all of them.

    Attributes:
        layout: Where each parameter lies.
        x: (P,) or (N, P) parameters.
        g: (P,) or (N, P) gradients.
        parameters: What an optimizer is given.
    """

    layout: Layout
    x: Tensor
    g: Tensor
    parameters: list[Tensor]

    def compute(self, x_B: Tensor, y_B: Tensor) -> Tensor:
        """Fill `g` with the gradients of a batch's loss and return the losses, (1,) or (N,)."""

    def outputs(self, x_B: Tensor) -> Iterator[Tensor]:
        """Yield each replica's outputs (B, C) for the same examples, as in evaluation."""

    def buffers(self) -> dict[str, Tensor]:
        """Return what the models keep besides parameters."""


class Diverged(WorkFailed):
    """A loss is NaN or infinite."""


class Trainer:
    """Takes steps.

    Args:
        replicas: The parameters, changed in place.
        algorithm: Mixes them.
        optimizer: Changes `replicas.parameters`; its learning rate is set before every step.
        max_grad_norm: Norm that each replica's gradient is scaled down to; None to leave it.
    """

    def __init__(
        self,
        replicas: Replicas,
        algorithm: Algorithm,
        optimizer: torch.optim.Optimizer,
        max_grad_norm: float | None = None,
    ) -> None:
        self.replicas, self.algorithm = replicas, algorithm
        self._optimizer, self._max_grad_norm = optimizer, max_grad_norm

    @property
    def step_number(self) -> int:
        """Steps taken so far."""
        return self.algorithm.step

    def step(self, x_B: Tensor, y_B: Tensor, lr: float, *, measure: bool = False) -> Measured:
        """Take one step.

        Args:
            x_B: (B, ...) inputs; (N, B, ...) for a simulation.
            y_B: (B, ...) targets; (N, B, ...) for a simulation.
            lr: The learning rate.
            measure: Whether the norms before mixing are measured.

        Raises:
            Diverged: A loss is NaN or infinite; the parameters are as before the step.
        """
        replicas, algorithm = self.replicas, self.algorithm
        algorithm.before()
        device = replicas.x.device
        loss = replicas.compute(x_B.to(device), y_B.to(device))
        if not torch.isfinite(loss).all():
            raise Diverged(
                f"training diverged: the loss became {float(loss.max())} in step "
                f"{algorithm.step:,}",
                "try a lower --lr",
            )
        if self._max_grad_norm is not None:
            limit_norm(replicas.g, self._max_grad_norm)
        with torch.no_grad():
            algorithm.gradient(replicas.g)
            for group in self._optimizer.param_groups:
                group["lr"] = lr
            self._optimizer.step()
            norms = replicas.layout.norms(replicas.x.detach()) if measure else None
            algorithm.after(lr)
        return Measured(loss, norms)

    def saved(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return tensors and plain values that `load` needs, for a checkpoint."""
        tensors = {"x": self.replicas.x.detach()}
        tensors |= {f"algorithm/{name}": one for name, one in self.algorithm.tensors().items()}
        tensors |= {f"buffers/{name}": one for name, one in self.replicas.buffers().items()}
        scalars: dict[str, Any] = {}
        for index, state in self._optimizer.state_dict()["state"].items():
            for name, value in state.items():
                if isinstance(value, torch.Tensor):
                    tensors[f"optimizer/{index}/{name}"] = value
                else:
                    scalars[f"{index}/{name}"] = value
        return tensors, {"step": self.step_number, "optimizer": scalars}

    def load(self, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
        """Put back what `saved` gave."""
        with torch.no_grad():
            self.replicas.x.copy_(tensors["x"])
            for name, one in self.replicas.buffers().items():
                one.copy_(tensors[f"buffers/{name}"])
            own = _below("algorithm/", tensors)
            self.algorithm.load(own, int(state["step"]))
        document = self._optimizer.state_dict()
        document["state"] = {}
        for key, value in {**_below("optimizer/", tensors), **state["optimizer"]}.items():
            index, name = key.split("/", 1)
            document["state"].setdefault(int(index), {})[name] = value
        self._optimizer.load_state_dict(document)


class Measured:
    """What came of one step.

    Args:
        loss: (1,) or (N,) of the batch, before the step.
        norms: (..., K) norms of each tensor between the optimizer's step and mixing, if measured.
    """

    __slots__ = ("loss", "norms")

    def __init__(self, loss: Tensor, norms: Tensor | None) -> None:
        self.loss, self.norms = loss, norms


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    return {
        name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)
    }


def evaluate(
    task: Task,
    examples: Examples,
    outputs: Callable[[Tensor], Iterator[Tensor]],
    num_replicas: int,
    device: str = "cpu",
) -> tuple[list[float], list[float]]:
    """Return each replica's mean loss and share of right targets on the same examples.

    Args:
        task: Whose loss.
        examples: Measured on.
        outputs: From inputs (B, ...) to each replica's outputs.
        num_replicas: How many that gives; with none nothing is computed.
        device: Where it computes.
    """
    import numpy as np

    losses, rights, count = [0.0] * num_replicas, [0.0] * num_replicas, 0
    if not num_replicas:
        return losses, rights
    for first in range(0, len(examples), TEST_BATCH):
        x_B, y_B = examples.take(np.arange(first, min(first + TEST_BATCH, len(examples))))
        x_B, y_B = x_B.to(device), y_B.to(device)
        count += y_B.numel()
        for replica, output in enumerate(outputs(x_B)):
            losses[replica] += float(task.loss(output, y_B)) * y_B.numel()
            rights[replica] += float(task.correct(output, y_B))
    return [loss / count for loss in losses], [right / count for right in rights]
