"""One update of DQN: sampled transitions in, a step of Adam on the online network out.

Shape letters: B transitions of a batch; A actions; S whatever a state is made of.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from mlscale.core.errors import WorkFailed
from mlscale.rl.dqn.gradients import differentiable
from mlscale.rl.dqn.losses import LOSSES
from mlscale.rl.dqn.networks import load_weights, tensors_of
from mlscale.rl.dqn.optimizer import FusedAdam, clip_norm
from mlscale.rl.dqn.replay import Batch
from mlscale.rl.dqn.td_targets import double_target, plain_target

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from mlscale.rl.dqn.config import LearnerConfig

    Network = Callable[[Tensor], Tensor]
    TargetRule = Callable[[Network, Network, Batch], Tensor]


def _plain(online: Network, target: Network, batch: Batch) -> Tensor:
    return plain_target(batch.r_t_B, batch.discount_t_B, target(batch.s_t_BD))


def _double(online: Network, target: Network, batch: Batch) -> Tensor:
    q_target_t_BA, q_online_t_BA = target(batch.s_t_BD), online(batch.s_t_BD)
    return double_target(batch.r_t_B, batch.discount_t_B, q_target_t_BA, q_online_t_BA)


TARGET_RULES: dict[str, TargetRule] = {"plain": _plain, "double": _double}


class Update(NamedTuple):
    """What came of one update.

    Attributes:
        loss: Of the batch, before the step.
        error_B: (B,) action values minus their targets, before the step.
    """

    loss: float
    error_B: Tensor


class Learner:
    """The online network, its target network and their optimizer.

    Args:
        online: The network that acts and is updated: from states (B, S...) to action values
            (B, A) in float32.
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
        self._online, self._target = differentiable(self.online), differentiable(self.target)
        self._adam = FusedAdam(self.online, config.lr, config.adam_eps)
        self._max_grad_norm = config.max_grad_norm
        self._loss = LOSSES[config.loss]
        self._target_rule = TARGET_RULES[config.target]
        self._device = device

    def update(self, batch: Batch) -> Update:
        """Take one step of Adam on a batch and return its loss and errors before the step.

        Raises:
            WorkFailed: The loss is NaN or infinite; the weights are as before the update.
        """
        import torch

        if self._device != "cpu":
            batch = Batch(*(x.to(self._device) for x in batch))
        target_B = self._target_rule(self._online, self._target, batch)
        q_tm1_BA, pull_back = self._online.linearise(batch.s_tm1_BD)
        a_tm1_B1 = batch.a_tm1_B.unsqueeze(1)
        error_B = q_tm1_BA.gather(1, a_tm1_B1).squeeze(1) - target_B
        loss, gradient_B = self._loss(error_B, batch.weight_B)
        value = loss.item()
        if not math.isfinite(value):
            raise WorkFailed(f"training diverged: the loss became {value}", "try a lower learn.lr")
        gradient_BA = torch.zeros_like(q_tm1_BA)
        gradients = pull_back(gradient_BA.scatter_(1, a_tm1_B1, gradient_B.unsqueeze(1)))
        if self._max_grad_norm is not None:
            clip_norm(gradients, self._max_grad_norm)
        self._adam.step(gradients)
        return Update(value, error_B)

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
            **self._adam.saved("adam"),
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Put back what `saved` gave."""
        load_weights(self.online, "online", tensors)
        load_weights(self.target, "target", tensors)
        self._adam.load("adam", tensors)
