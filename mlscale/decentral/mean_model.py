"""The model whose parameters are the mean of all replicas': what a training is for.

Shape letters: P parameters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
from torch import nn  # noqa: TID253

from mlscale.decentral.flat import Layout
from mlscale.decentral.trainer import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.decentral.tasks.base import Task

STATISTICS_EXAMPLES = 2_000
STATISTICS_BATCH = 200


class MeanModel:
    """Evaluates mean parameters and exports them.

    Running statistics of batch norm are those of no replica: they are computed anew from training
    examples that go through the mean model.

    Args:
        task: What was learned.
        seed: Of the run.
        device: Where it computes.
    """

    def __init__(self, task: Task, seed: int, device: str = "cpu") -> None:
        self._task, self._device = task, device
        self._model = task.make_model(seed).to(device)
        self.layout = Layout.of(self._model)
        self._norms = [
            part
            for part in self._model.modules()
            if isinstance(part, nn.modules.batchnorm._BatchNorm)
        ]

    def load(self, mean_P: NDArray[np.float32]) -> None:
        """Take mean parameters."""
        parameters = dict(self._model.named_parameters())
        with torch.no_grad():
            for name, view in self.layout.named(torch.from_numpy(mean_P)).items():
                parameters[name].copy_(view)
        if self._norms:
            self._recompute_statistics()

    def evaluate(self, mean_P: NDArray[np.float32]) -> tuple[float, float]:
        """Return loss and share of right targets on the test examples."""
        self.load(mean_P)
        self._model.eval()

        def outputs(x_B: Tensor) -> Iterator[Tensor]:
            with torch.no_grad():
                yield self._model(x_B)

        losses, accuracies = evaluate(self._task, self._task.test, outputs, 1, self._device)
        return losses[0], accuracies[0]

    def exported(self) -> bytes:
        """Return the model's state as a safetensors file."""
        from safetensors.torch import save

        state = self._model.state_dict()
        seen: set[int] = set()
        own = {}
        for name, tensor in state.items():  # shared tensors once, as safetensors wants it
            if tensor.data_ptr() in seen and tensor.numel():
                continue
            seen.add(tensor.data_ptr())
            own[name] = tensor.cpu().contiguous()
        return save(own, metadata={"format": "pt"})

    def _recompute_statistics(self) -> None:
        import numpy as np

        momenta = [norm.momentum for norm in self._norms]
        for norm in self._norms:
            norm.reset_running_stats()
            norm.momentum = None  # a plain mean over the batches
        self._model.train()
        count = min(STATISTICS_EXAMPLES, len(self._task.train))
        chosen = np.linspace(0, len(self._task.train) - 1, count).astype(np.int64)
        with torch.no_grad():
            for first in range(0, count, STATISTICS_BATCH):
                x_B, _ = self._task.train.take(chosen[first : first + STATISTICS_BATCH])
                self._model(x_B.to(self._device))
        for norm, momentum in zip(self._norms, momenta, strict=True):
            norm.momentum = momentum
