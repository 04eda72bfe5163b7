"""Named settings of `mlscale decentral train`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.decentral.config import TrainConfig

if TYPE_CHECKING:
    from collections.abc import Callable


def tiny() -> TrainConfig:
    """Return a training that ends in seconds."""
    return TrainConfig(gpus=2, epochs=2, batch=64)


TRAIN_PRESETS: dict[str, Callable[[], TrainConfig]] = {"tiny": tiny}
