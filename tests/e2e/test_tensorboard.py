"""`--tensorboard` as a user gives it: the curves are the records, also over a resumed training."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mlscale.core.metrics_log import read_records

pytestmark = pytest.mark.slow


def run(*arguments: str, cwd: Path, before: str = "pass") -> subprocess.CompletedProcess[str]:
    code = f"import sys; {before}; from mlscale.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize(
    ("train", "short", "long"),
    [
        (["rl", "train"], ["--steps", "1000"], ["--steps", "2000"]),
        (["atari", "train", "--game", "breakout"], ["--frames", "2000"], ["--frames", "4000"]),
    ],
)
def test_the_curves_are_the_records(
    train: list[str], short: list[str], long: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    command = [*train, "--preset", "tiny", "--tensorboard", "--out", "run"]
    for budget in (short, long):
        done = run(*command, *budget, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    records = read_records(tmp_path / "run" / "metrics.jsonl")
    assert records
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    for name in ("return", "length", "epsilon", "loss"):
        values = [(r["step"], pytest.approx(r[name])) for r in records if r[name] is not None]
        assert [(event.step, event.value) for event in events.Scalars(name)] == values
    assert json.loads((tmp_path / "run" / "result.json").read_text())["config"]["tensorboard"]


def test_without_the_extra_nothing_is_begun(tmp_path: Path) -> None:
    hide = "sys.modules['tensorboard'] = None"
    done = run("rl", "train", "--tensorboard", "--out", "run", cwd=tmp_path, before=hide)
    assert done.returncode == 2
    assert done.stderr == (
        "error: --tensorboard needs the extra 'tensorboard'\n"
        "hint: pip install 'mlscale[tensorboard]'\n"
    )
    assert not (tmp_path / "run").exists()
