"""The parameters of a model as one flat tensor, which optimizers and exchanges share.

Shape letters: N replicas; P parameters; K parameter tensors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each parameter tensor lies. Shared ones lie there once, frozen ones do not.

    Args:
        names: K names, as in the model's state.
        shapes: K shapes.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, model: nn.Module) -> Layout:
        """Return the layout of a model's trainable parameters.

        Raises:
            UserError: There is none, or they are of more than one dtype or device.
        """
        trained = dict(trainable(model))
        if not trained:
            raise UserError("the model has no trainable parameter")
        kinds = {f"{parameter.dtype} on {parameter.device}" for parameter in trained.values()}
        if len(kinds) > 1:
            raise UserError(
                f"parameters are kept together, and these are {' and '.join(sorted(kinds))}",
                "keep all in float32 on one device; autocast computes in less",
            )
        return cls(tuple(trained), tuple(tuple(one.shape) for one in trained.values()))

    @property
    def num_parameters(self) -> int:
        """P."""
        return sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        return [math.prod(shape) for shape in self.shapes]

    def views(self, x: Tensor) -> list[Tensor]:
        """Return the K tensors (..., *shape) that lie in a flat one (..., P), as views."""
        parts = x.split(self._sizes, dim=-1)  # type: ignore[no-untyped-call]
        return [
            part.unflatten(-1, shape) if shape else part.squeeze(-1)
            for part, shape in zip(parts, self.shapes, strict=True)
        ]

    def named(self, x: Tensor) -> dict[str, Tensor]:
        """Return the views by name."""
        return dict(zip(self.names, self.views(x), strict=True))

    def flatten(self, model: nn.Module) -> Tensor:
        """Return a model's parameters as a new flat tensor (P,)."""
        import torch

        return torch.cat([one.detach().flatten() for _, one in trainable(model)])

    def norms(self, x: Tensor) -> Tensor:
        """Return the Euclidean norm of each tensor (..., K) in x (..., P)."""
        import torch

        parts = x.split(self._sizes, dim=-1)  # type: ignore[no-untyped-call]
        return torch.stack([part.norm(dim=-1) for part in parts], dim=-1)


def trainable(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Return the parameters that gradients are computed for, shared ones once."""
    return [(name, one) for name, one in model.named_parameters() if one.requires_grad]


def limit_norm(g: Tensor, largest: float) -> None:
    """Scale each replica's gradient (..., P) down to a norm in place."""
    norms = g.norm(dim=-1, keepdim=True)
    g.mul_((largest / norms.clamp_min(1e-12)).clamp_max(1.0))
