"""One update of DQN: sampled transitions in, a step of Adam on the online network out.

Shape letters: B transitions of a batch; A actions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.losses import LOSSES
from mlscale.rl.dqn.networks import load_weights, tensors_of
from mlscale.rl.dqn.optimizer import load_adam, make_adam, tensors_of_adam
from mlscale.rl.dqn.replay import Batch
from mlscale.rl.dqn.td_targets import double_target, plain_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from mlscale.rl.dqn.config import LearnerConfig

    TargetRule = Callable[[nn.Module, nn.Module, Batch], Tensor]


def _plain(online: nn.Module, target: nn.Module, batch: Batch) -> Tensor:
    return plain_target(batch.r_t_B, batch.discount_t_B, target(batch.s_t_BD))


def _double(online: nn.Module, target: nn.Module, batch: Batch) -> Tensor:
    q_target_t_BA, q_online_t_BA = target(batch.s_t_BD), online(batch.s_t_BD)
    return double_target(batch.r_t_B, batch.discount_t_B, q_target_t_BA, q_online_t_BA)


TARGET_RULES: dict[str, TargetRule] = {"plain": _plain, "double": _double}


class Learner:
    """The online network, its target network and their optimizer.

    Args:
        online: The network that acts and is updated.
        target: One of the same shape that bootstrap values come from; made equal to it here.
        config: Rates and rules.
        device: Torch device of both networks.

    Attributes:
        online: As given.
        target: As given.
    """

    def __init__(
        self, online: nn.Module, target: nn.Module, config: LearnerConfig, device: str = "cpu"
    ) -> None:
        self.online = online.to(device)
        self.target = target.to(device).requires_grad_(requires_grad=False)
        self.copy_to_target()
        self._adam = make_adam(self.online, config.lr, config.adam_eps)
        self._loss = LOSSES[config.loss]
        self._target_rule = TARGET_RULES[config.target]
        self._device = device

    def update(self, batch: Batch) -> float:
        """Take one step of Adam on a batch and return its loss before the step.

        Raises:
            WorkFailed: The loss is NaN or infinite; the weights are as before the update.
        """
        import torch

        if self._device != "cpu":
            batch = Batch(*(x.to(self._device) for x in batch))
        with torch.no_grad():
            target_B = self._target_rule(self.online, self.target, batch)
        q_tm1_BA = self.online(batch.s_tm1_BD)
        q_tm1_B = q_tm1_BA.gather(1, batch.a_tm1_B.unsqueeze(1)).squeeze(1)
        loss = self._loss(q_tm1_B, target_B)
        value = loss.item()
        if not math.isfinite(value):
            raise WorkFailed(f"training diverged: the loss became {value}", "try a lower learn.lr")
        self._adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._adam.step()
        return value

    def copy_to_target(self) -> None:
        """Make the target network equal to the online one."""
        import torch

        with torch.no_grad():
            torch._foreach_copy_(list(self.target.parameters()), list(self.online.parameters()))

    def saved(self) -> dict[str, Tensor]:
        """Return all weights and the optimizer's state, for a checkpoint."""
        return {
            **tensors_of(self.online, "online"),
            **tensors_of(self.target, "target"),
            **tensors_of_adam(self._adam, "adam"),
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Put back what `saved` gave."""
        load_weights(self.online, "online", tensors)
        load_weights(self.target, "target", tensors)
        load_adam(self._adam, "adam", tensors)
