"""Training on a CUDA device: the networks live there, and a run resumes from its checkpoint."""

import dataclasses
from pathlib import Path

import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.checkpoints import load_checkpoint
from mlscale.core.runs import open_run
from mlscale.rl.dqn.atari.presets import tiny
from mlscale.rl.dqn.atari.train import run as train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize("agent", ["dqn", "dqn_mbe", "dqn_rnd"])
def test_a_training_runs_and_resumes_on_the_device(agent: str, tmp_path: Path) -> None:
    whole = dataclasses.replace(tiny(), agent=agent, device="cuda")
    for frames in (whole.frames // 2, whole.frames):
        config = dataclasses.replace(whole, frames=frames)
        run = open_run("atari.train", config, out=tmp_path / "run")
        result = train(config, run)
        run.finish(result)
        assert result.status == "complete"
        assert run.device == "cuda"
    tensors, state = load_checkpoint(tmp_path / "run" / "checkpoints", whole.steps)
    assert state["step"] == whole.steps
    assert all(tensor.isfinite().all() for name, tensor in tensors.items() if "/" in name)
