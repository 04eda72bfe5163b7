"""`mlscale atari eval` as a user runs it: interrupted, killed, on a full disk, with bad agents."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mlscale.core.metrics_log import read_records

pytestmark = pytest.mark.slow

QUICK = ["--games", "pong,breakout", "--episodes", "4", "--max-frames", "3000", "--no-report"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mlscale", "atari", "eval", *arguments]


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None):
    return subprocess.run(
        command(*arguments),
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def resume(path: Path):
    return subprocess.run(
        [sys.executable, "-m", "mlscale", "runs", "resume", str(path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def episodes(path: Path) -> list[tuple]:
    records = read_records(path / "metrics.jsonl")
    keys = ("game", "seed", "episode", "score", "frames", "end")
    return sorted(tuple(record[key] for key in keys) for record in records)


def tables(path: Path) -> dict:
    return json.loads((path / "result.json").read_text())["tables"]


def start_and_wait_for_episodes(path: Path, cwd: Path, count: int) -> subprocess.Popen:
    process = subprocess.Popen(
        command("--agent", "random", *QUICK, "--out", str(path)),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline_s = time.monotonic() + 60
    while len(read_records(path / "metrics.jsonl")) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    return process


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("unbroken")
    done = run("--agent", "random", *QUICK, "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_the_same_seed_gives_the_same_scores_and_another_gives_others(unbroken, tmp_path):
    again = run("--agent", "random", *QUICK, "--lanes", "2", "--out", "again", cwd=tmp_path)
    assert again.returncode == 0
    assert episodes(tmp_path / "again") == episodes(unbroken)
    other = run("--agent", "random", *QUICK, "--seed", "9", "--out", "other", cwd=tmp_path)
    assert other.returncode == 0
    scores = [episode[3:5] for episode in episodes(tmp_path / "other")]
    assert scores != [episode[3:5] for episode in episodes(unbroken)]


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_stopped_evaluation_goes_on_to_the_same_result(kill, unbroken, tmp_path):
    path = tmp_path / "run"
    process = start_and_wait_for_episodes(path, tmp_path, count=2)
    process.send_signal(kill)
    stdout, stderr = process.communicate(timeout=60)
    before = episodes(path)
    assert 2 <= len(before) < 8
    assert stdout == ""
    if kill != signal.SIGKILL:
        assert process.returncode == 130
        assert f"go on with: mlscale runs resume {path}" in stderr
        assert json.loads((path / "result.json").read_text())["status"] == "interrupted"
    done = resume(path)
    assert done.returncode == 0, done.stderr
    assert f"{len(before)} episodes are finished already" in done.stderr
    assert episodes(path) == episodes(unbroken)
    assert tables(path) == tables(unbroken)


def test_a_torn_last_line_costs_that_episode_only(unbroken, tmp_path):
    path = tmp_path / "run"
    process = start_and_wait_for_episodes(path, tmp_path, count=2)
    process.kill()
    process.communicate(timeout=60)
    metrics = path / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-10])
    done = resume(path)
    assert done.returncode == 0
    assert "cut short by a crash" in done.stderr
    assert episodes(path) == episodes(unbroken)


def test_a_damaged_run_is_refused_and_left_as_it_is(unbroken, tmp_path):
    path = tmp_path / "run"
    path.mkdir()
    for name in ("config.json", "result.json"):
        (path / name).write_bytes((unbroken / name).read_bytes())
    damaged = b'{"game": "pong", "seed": 0\n' + (unbroken / "metrics.jsonl").read_bytes()
    (path / "metrics.jsonl").write_bytes(damaged)
    done = resume(path)
    assert done.returncode == 2
    assert "line 1 is not a JSON object" in done.stderr
    assert "Traceback" not in done.stderr
    assert (path / "metrics.jsonl").read_bytes() == damaged


def test_more_episodes_go_on_from_those_that_are_there(unbroken, tmp_path):
    first = run("--agent", "random", *QUICK, "--episodes", "2", "--out", "run", cwd=tmp_path)
    assert first.returncode == 0
    assert len(episodes(tmp_path / "run")) == 4
    more = run("--agent", "random", *QUICK, "--out", "run", cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    assert episodes(tmp_path / "run") == episodes(unbroken)


BAD_AGENTS = """
import os, time
import numpy as np

class Noop:
    def __init__(self, task): self.task = task; self.steps = 0
    def reset(self, num_lanes): self.num_lanes = num_lanes
    def act(self, observations):
        self.steps += 1
        if self.task.game == "breakout" and self.steps > 100: self.fail()
        return np.zeros(self.num_lanes, dtype=int)

class Raises(Noop):
    def fail(self): raise KeyError("left")

class Hangs(Noop):
    def fail(self): time.sleep(3600)

class Dies(Noop):
    def fail(self): os._exit(7)

class OutOfRange(Noop):
    def act(self, observations):
        if self.task.game == "breakout": return np.full(self.num_lanes, 18)
        return super().act(observations)
"""


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ("Raises", "breakout/0: the agent raised KeyError: 'left'"),
        ("Hangs", "no sign of life for 4 s"),
        ("Dies", "breakout/0"),
        ("OutOfRange", "the agent returned action 18; legal here: 0 to 17"),
    ],
)
def test_an_agent_that_fails_loses_nothing_else(agent, message, tmp_path):
    (tmp_path / "bad.py").write_text(BAD_AGENTS)
    (tmp_path / "brief.json").write_text('{"silence_limit_s": 4}')
    arguments = ["--agent", f"bad:{agent}", *QUICK, "--config", "brief.json", "--out", "run"]
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [episode[0] for episode in episodes(tmp_path / "run")] == ["pong"] * 4
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "failed"
    assert [row["game"] for row in result["tables"]["agents"][0]["games"]] == ["pong"]


def test_debug_shows_where_the_agent_raised(tmp_path):
    (tmp_path / "bad.py").write_text(BAD_AGENTS)
    done = run("--agent", "bad:Raises", *QUICK, "--debug", "--out", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "bad.py" in done.stderr
    assert 'raise KeyError("left")' in done.stderr


@pytest.fixture
def full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"0" * 512)


def test_a_full_disk_loses_nothing_and_the_run_goes_on_after_it(full_disk, unbroken, tmp_path):
    path = full_disk / "run"
    process = start_and_wait_for_episodes(path, tmp_path, count=1)
    fill(full_disk / "filler")
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"error: cannot write {path}" in stderr
    assert "No space left on device" in stderr
    assert "Traceback" not in stderr
    kept = episodes(path)
    assert kept
    assert set(kept) <= set(episodes(unbroken))
    (full_disk / "filler").unlink()
    done = resume(path)
    assert done.returncode == 0, done.stderr
    assert episodes(path) == episodes(unbroken)


def test_a_published_agent_is_scored_and_not_played(tmp_path):
    done = run("--agent", "agent57", "--no-report", "--json", cwd=tmp_path)
    assert done.returncode == 0
    document = json.loads(done.stdout)
    assert "no episode was played" in done.stderr
    assert document["metrics"]["records_broken"]["value"] == 18
    assert document["protocol"]["name"] == "published"


def test_games_without_weights_say_how_they_are_trained(tmp_path):
    done = run("--agent", "dqn_mbe", "--games", "tutankham", "--metric", "hwr", cwd=tmp_path)
    if done.returncode == 0:
        pytest.skip("weights for this game ship")
    assert done.returncode == 2
    assert "mlscale atari train --agent dqn_mbe --game GAME" in done.stderr
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").glob("*/*"))


def test_ray_gives_the_same_scores(unbroken, tmp_path):
    pytest.importorskip("ray")
    done = run("--agent", "random", *QUICK, "--engine", "ray", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert episodes(tmp_path / "run") == episodes(unbroken)
