"""The duelling head: a state's value and the advantages of its actions in streams of their own.

Shape letters: B rows of a batch; I features of a state; A actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn  # noqa: TID253 - the class below is a network; nothing imports this early

if TYPE_CHECKING:
    from torch import Tensor


class DuellingHead(nn.Module):
    """Action values from features by two streams of one hidden layer each.

    Args:
        num_features: I.
        num_hidden: Units of the hidden layer of each stream.
        num_actions: A.

    Attributes:
        value: From features (B, I) to the values (B, 1) of states.
        advantage: From features (B, I) to the advantages (B, A) of actions.

    Source: Wang et al. 2016, equation 9.
    """

    def __init__(self, num_features: int, num_hidden: int, num_actions: int) -> None:
        super().__init__()
        self.value, self.advantage = (
            nn.Sequential(
                nn.Linear(num_features, num_hidden), nn.ReLU(), nn.Linear(num_hidden, num_outputs)
            )
            for num_outputs in (1, num_actions)
        )

    def forward(self, features_BI: Tensor) -> Tensor:
        """Return action values (B, A): the state's, and each advantage less their mean."""
        value_B1: Tensor = self.value(features_BI)
        advantage_BA: Tensor = self.advantage(features_BI)
        return value_B1 + advantage_BA - advantage_BA.mean(dim=1, keepdim=True)
