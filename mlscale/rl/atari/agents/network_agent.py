"""An agent that acts greedily on what a torch network says of each action.

Letters: N lanes, F stacked frames, H height, W width, A outputs of the policy, L legal ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.rl.atari.agents.actions import output_indices

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from mlscale.rl.atari.agents.base import Task


class NetworkAgent:
    """Takes the best legal action by the values or logits a network gives.

    Args:
        network: Maps (N, 4, 84, 84) uint8 frames to (N, A) values, on the task's device.
        policy_ids: The ALE action behind each of the A outputs.
        task: What to play.
    """

    def __init__(
        self, network: Callable[[Tensor], Tensor], policy_ids: Sequence[int], task: Task
    ) -> None:
        import torch

        self._network = network
        self._device = task.device
        legal, indices = output_indices(policy_ids, task)
        self._legal_L = None if len(legal) == len(policy_ids) else torch.tensor(legal)
        self._task_index_L = torch.tensor(indices)

    def reset(self, num_lanes: int) -> None:
        """Do nothing: the agent keeps no state."""

    def act(self, observations_NFHW: NDArray[np.uint8]) -> NDArray[np.integer[Any]]:
        """Return (N,) indices of the best legal actions."""
        import torch

        with torch.inference_mode():
            values_NA = self._network(torch.from_numpy(observations_NFHW).to(self._device)).cpu()
            if self._legal_L is not None:
                values_NA = values_NA[:, self._legal_L]
            actions_N: NDArray[np.int64] = self._task_index_L[values_NA.argmax(dim=1)].numpy()
            return actions_N
