"""A training killed between its last epoch and the export still exports what it trained."""

from pathlib import Path

import numpy as np
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.checkpoints import save_checkpoint
from mlscale.core.runs import open_run
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.kept import kept_mean
from mlscale.decentral.train import run as train


def test_the_mean_is_over_the_replicas_that_came_farthest(tmp_path: Path) -> None:
    for rank, (step, value) in enumerate([(3, 1.0), (3, 4.0), (2, 100.0)]):
        save_checkpoint(tmp_path / f"rank-{rank}", step, {"x": torch.full((5,), value)}, {})
    assert kept_mean(tmp_path).tolist() == [2.5] * 5


def test_the_mean_of_a_simulation_is_over_its_rows(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, 7, {"x": torch.arange(6.0).reshape(3, 2)}, {})
    assert kept_mean(tmp_path).tolist() == [2.0, 3.0]


def test_a_run_resumed_after_its_last_epoch_exports_the_trained_model(tmp_path: Path) -> None:
    config = TrainConfig(gpus=2, epochs=1, max_train=64, engine="simulate")

    def trained() -> bytes:
        run = open_run("decentral.train", config, out=tmp_path / "run")
        run.finish(train(config, run))
        return (tmp_path / "run" / "model.safetensors").read_bytes()

    first = trained()
    (tmp_path / "run" / "model.safetensors").unlink()
    assert trained() == first
    assert np.isfinite(kept_mean(tmp_path / "run" / "checkpoints")).all()
