"""Named settings of `mlscale decentral train` and `bench`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.decentral.bench_config import BenchConfig
from mlscale.decentral.config import TrainConfig

if TYPE_CHECKING:
    from collections.abc import Callable


def tiny() -> TrainConfig:
    """Return a training that ends in seconds."""
    return TrainConfig(gpus=2, epochs=2, batch=64)


TRAIN_PRESETS: dict[str, Callable[[], TrainConfig]] = {"tiny": tiny}


def tiny_bench() -> BenchConfig:
    """Return a benchmark that ends in seconds."""
    return BenchConfig(
        graphs=("complete", "ring", "ada"),
        n=(4,),
        seeds=3,
        epochs=4,
        batch=8,
        lr=0.2,
        max_train=256,
    )


BENCH_PRESETS: dict[str, Callable[[], BenchConfig]] = {"tiny": tiny_bench}
