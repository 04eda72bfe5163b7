"""The examples of docs/decentral.md run as they stand, on two processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch  # noqa: TID253
from transformers import GPT2LMHeadModel  # noqa: TID253

pytestmark = pytest.mark.slow

TIMEOUT_S = 900
PAGE = Path(__file__).parents[2] / "docs" / "decentral.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def run(example: str, folder: Path) -> str:
    (folder / "train.py").write_text(example)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [sys.executable, *launcher, "train.py"],
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_two_examples() -> None:
    assert len(EXAMPLES) == 2


def test_a_loop_of_ones_own(tmp_path: Path) -> None:
    said = re.fullmatch(
        r"loss (\S+), mean squared distance from the mean (\S+)\n", run(EXAMPLES[0], tmp_path)
    )
    assert said is not None
    assert float(said[1]) < 1.0  # from ln 10 = 2.3
    assert set(torch.load(tmp_path / "mean.pt")) == {"0.weight", "0.bias", "2.weight", "2.bias"}


def test_a_model_of_transformers(tmp_path: Path) -> None:
    said = re.fullmatch(r"loss (\S+)\n", run(EXAMPLES[1], tmp_path))
    assert said is not None
    assert float(said[1]) < 5.4  # from ln 256 = 5.5
    model = GPT2LMHeadModel.from_pretrained(tmp_path / "counting-gpt2")
    assert model.lm_head.weight is model.transformer.wte.weight
