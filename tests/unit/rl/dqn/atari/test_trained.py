"""Playing training runs: the newest checkpoint, its weights alone, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.registry import find_agent
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.atari.jobs import make_jobs, play_job
from mlscale.rl.dqn.atari.agent import ValueAgent
from mlscale.rl.dqn.atari.trained import agent_of_runs, read_trained

MakeRun = Callable[..., Path]


def error_of(*paths: Path) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        agent_of_runs(paths)
    return caught.value.message, caught.value.hint


def test_the_newest_checkpoint_is_played(train_run: MakeRun) -> None:
    path = train_run(steps=(100, 200), frames=800)
    newest, earlier = read_trained(path), read_trained(path / "checkpoints" / "100")
    assert (newest.step, newest.trained_frames, newest.run) == (200, 800, path)
    assert (earlier.step, earlier.trained_frames, earlier.run) == (100, 400, path)
    assert newest.sha256 != earlier.sha256
    assert read_trained(path / "checkpoints" / "200").sha256 == newest.sha256


def test_an_agent_of_two_games(train_run: MakeRun) -> None:
    pong, alien = train_run("p"), train_run("a", game="ALE/Alien-v5", steps=(50,), frames=800)
    entry = agent_of_runs([pong, alien])
    assert (entry.name, entry.games, entry.uses_torch) == ("dqn_mbe", ("pong", "alien"), True)
    assert entry.train_frames is None  # they differ
    assert entry.note == (
        "dqn_mbe plays its training runs: pong after 400 frames, alien after 200 frames; "
        "weights rounded to float16, as they ship"
    )
    assert entry.checkpoints == {
        "pong": pong / "checkpoints" / "100", "alien": alien / "checkpoints" / "50"
    }  # fmt: skip
    assert entry.weights["alien"] == {
        "sha256": read_trained(alien).sha256, "run": str(alien), "step": 50, "frames": 200
    }  # fmt: skip
    assert agent_of_runs([pong]).train_frames == 400
    made = entry.factory(Task(game="alien", action_ids=tuple(range(18))))
    assert isinstance(made, ValueAgent)


def test_the_actions_are_those_of_the_protocol_trained_under(train_run: MakeRun) -> None:
    entry = agent_of_runs([train_run(protocol="v5")])
    entry.factory(Task(game="pong", action_ids=(0, 1, 3, 4, 11, 12)))
    with pytest.raises(UserError, match="were trained with 6 actions") as caught:
        entry.factory(Task(game="pong", action_ids=tuple(range(18))))
    assert caught.value.hint == "play with --protocol nature or v5"


def test_what_cannot_be_played(train_run: MakeRun, tmp_path: Path) -> None:
    pong, again = train_run("p"), train_run("again")
    other, empty = train_run("o", agent="dqn", game="alien"), train_run("e", steps=())
    assert error_of(pong, again) == ("two of the runs trained pong", "name one run a game")
    assert error_of(pong, other) == (
        "the runs trained different agents: dqn, dqn_mbe", "evaluate one at a time",
    )  # fmt: skip
    assert error_of(empty) == (
        f"{empty} has no checkpoint yet", "name a run that was trained further",
    )  # fmt: skip
    gone = pong / "checkpoints" / "7"
    assert error_of(gone)[0].startswith(f"{gone} is not a readable checkpoint")
    config = json.loads((again / "config.json").read_text())
    del config["network"]
    (again / "config.json").write_text(json.dumps(config))
    assert error_of(again)[0] == f"{again / 'config.json'} has no 'network'"
    tensors = pong / "checkpoints" / "100" / "tensors.safetensors"
    tensors.write_bytes(tensors.read_bytes()[:100])
    assert error_of(pong)[0].startswith(f"{tensors.parent} is not a readable checkpoint")


def test_runs_are_found_through_the_registry(train_run: MakeRun) -> None:
    path = train_run()
    for entry in (
        find_agent(str(path)),
        find_agent("", checkpoints=[path]),
        find_agent("dqn_mbe", checkpoints=[path / "checkpoints" / "100"]),
    ):
        assert (entry.name, entry.games) == ("dqn_mbe", ("pong",))
    with pytest.raises(UserError) as caught:
        find_agent("dqn", checkpoints=[path])
    assert caught.value.message == f"{path} trained agent 'dqn_mbe', not 'dqn'"


def test_a_job_plays_the_checkpoint_it_was_made_for(train_run: MakeRun) -> None:
    path = train_run(scale=30.0)
    config = EvalConfig(ckpt=(path,), episodes=2, max_frames=200, games="pong")
    entry = find_agent("", checkpoints=config.ckpt)
    (job,) = make_jobs(config, ["pong"], "cpu", entry.checkpoints)
    assert json.loads(json.dumps(job.payload))["checkpoints"] == [str(path / "checkpoints" / "100")]
    (path / "checkpoints" / "100").rename(path / "checkpoints" / "101")
    with pytest.raises(UserError, match="not a readable checkpoint"):
        list(play_job(job.payload, []))
    (path / "checkpoints" / "101").rename(path / "checkpoints" / "100")
    records = [event for event in play_job(job.payload, []) if isinstance(event, dict)]
    assert [(record["game"], record["frames"]) for record in records] == [("pong", 200)] * 2
