"""Shipping runs: what the manifest says, what is refused, and that the shipped file plays alike."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.base import AgentEntry, Task
from mlscale.rl.atari.agents.registry import find_agent
from mlscale.rl.dqn.atari import shipped
from mlscale.rl.dqn.atari.evaluated import mean_score
from mlscale.rl.dqn.atari.ship import main, ship, table
from mlscale.rl.dqn.atari.trained import read_trained

MakeRun = Callable[..., Path]
SCORES = [-21, -20, -19, -20, -15, -17, -18, -14]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "weights"


@pytest.fixture
def pong(train_run: MakeRun) -> Path:
    return train_run("pong", seed=3)


def evaluation_of(eval_run: MakeRun, path: Path, name: str = "e", **settings: Any) -> Path:
    one = read_trained(path)
    settings = {"seeds": 2, "seed": 5} | settings
    return eval_run(name, {one.game: one.sha256}, {one.game: SCORES}, **settings)


def test_every_number_of_the_manifest_is_a_runs(pong: Path, eval_run: MakeRun, out: Path) -> None:
    evaluation = evaluation_of(eval_run, pong)
    (entry,) = ship([pong], [evaluation], folder=out)["dqn_mbe"].values()
    document = json.loads((out / "manifest.json").read_text())
    assert document == {"schema": "mlscale.weights/1", "agents": {"dqn_mbe": {"pong": entry}}}
    data = (out / "dqn_mbe-pong.safetensors").read_bytes()
    assert entry["file"] == "dqn_mbe-pong.safetensors"
    assert (entry["sha256"], entry["bytes"]) == (read_trained(pong).sha256, len(data))
    assert (entry["network"], entry["protocol"], entry["frames"]) == ("small", "saber", 400)
    assert (entry["seed"], entry["random"]) == (3, -20.7)
    assert entry["action_ids"] == list(range(18))
    training = entry["training"]
    assert training["command"] == "mlscale atari train --seed 3 --game pong --frames 400"
    assert training["config"] == json.loads((pong / "config.json").read_text())
    assert (training["git"], training["dirty"]) == ("0123abc", False)
    assert training["final_return"]["value"] == -3.5
    played = entry["evaluation"]
    assert played["command"] == (
        "mlscale atari eval --seed 5 --agent dqn_mbe --games pong --episodes 4 --seeds 2"
    )
    assert (played["mean"], played["episodes"], played["seeds"]) == (-18.0, 8, 2)
    assert played["ci95"] == list(mean_score(np.array(SCORES, float))[1])  # type: ignore[arg-type]
    assert -20 < played["ci95"][0] < -18 < played["ci95"][1] < -16
    assert played["protocol"] == "saber"


def test_the_interval_is_that_of_a_mean_of_episodes() -> None:
    scores = np.random.default_rng(0).normal(100.0, 20.0, 400)
    mean, interval = mean_score(scores)
    assert mean == pytest.approx(scores.mean())
    assert interval is not None
    half = 1.96 * scores.std() / 20
    assert interval == pytest.approx([mean - half, mean + half], abs=0.3)
    assert mean_score(np.array([1.0, 2.0]))[1] is None


def acts(entry: AgentEntry) -> list[list[int]]:
    frames = np.random.default_rng(0).integers(0, 256, (64, 4, 84, 84), dtype=np.uint8)
    frames[:32] //= 16
    agent = entry.factory(Task(game="pong", action_ids=tuple(range(18))))
    agent.reset(64)
    for lane in range(64):
        agent.begin(lane, seed=lane)  # type: ignore[attr-defined]
    return [agent.act(np.roll(frames, k, axis=2)).tolist() for k in range(4)]


def test_the_shipped_file_acts_as_its_run_does(
    train_run: MakeRun, eval_run: MakeRun, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = train_run(scale=4.0)
    ship([path], [evaluation_of(eval_run, path)], folder=out)
    monkeypatch.setattr(shipped, "DQN_MBE", shipped.shipped_agent("dqn_mbe", out))
    found = find_agent("dqn_mbe")
    assert found.checkpoints == {}
    actions = acts(found)
    assert len({action for row in actions for action in row}) > 3
    assert actions == acts(find_agent("dqn_mbe", checkpoints=[path]))


def test_an_evaluation_may_hold_games_that_are_not_shipped(
    pong: Path, eval_run: MakeRun, out: Path
) -> None:
    digests = {"alien": "f" * 64, "pong": read_trained(pong).sha256}
    wide = eval_run("wide", digests, {"pong": SCORES, "alien": [9] * 8}, seeds=2)
    (entry,) = ship([pong], [wide], folder=out)["dqn_mbe"].values()
    assert entry["evaluation"]["mean"] == -18.0
    assert entry["evaluation"]["episodes"] == 8


def test_other_games_that_ship_already_are_kept(
    pong: Path, train_run: MakeRun, eval_run: MakeRun, out: Path
) -> None:
    ship([pong], [evaluation_of(eval_run, pong)], folder=out)
    alien = train_run("alien", game="alien", agent="dqn")
    second = evaluation_of(eval_run, alien, "f")
    both = ship([alien], [second], folder=out)
    assert {agent: list(games) for agent, games in both.items()} == {
        "dqn": ["alien"], "dqn_mbe": ["pong"]
    }  # fmt: skip
    assert shipped.read_manifest(out) == both
    assert len(list(out.glob("*.safetensors"))) == 2
    assert list(ship([alien], [second], folder=out, fresh=True)) == ["dqn"]
    assert [path.name for path in out.glob("*.safetensors")] == ["dqn-alien.safetensors"]


def error_of(*arguments: Any, **settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        ship(*arguments, **settings)
    assert not settings["folder"].exists()
    return caught.value.message


def test_runs_that_are_not_fit(train_run: MakeRun, eval_run: MakeRun, out: Path) -> None:
    half = train_run("half", status="interrupted")
    assert error_of([half], [evaluation_of(eval_run, half)], folder=out) == (
        f"{half} is not finished: it is interrupted"
    )
    short = train_run("short", steps=(50,))
    assert error_of([short], [evaluation_of(eval_run, short, "s")], folder=out) == (
        f"{short} was trained for 200 of 400 frames"
    )
    rnd = train_run("rnd", agent="dqn_rnd")
    assert error_of([rnd], [evaluation_of(eval_run, rnd, "r")], folder=out) == (
        f"{rnd} trained dqn_rnd, and only dqn, dqn_mbe ship"
    )
    v5 = train_run("v5", protocol="v5")
    assert error_of([v5], [evaluation_of(eval_run, v5, "v", protocol="v5")], folder=out) == (
        f"{v5} is of protocol v5, not saber"
    )


def test_evaluations_that_are_not_fit(pong: Path, eval_run: MakeRun, out: Path) -> None:
    one = read_trained(pong)
    other = eval_run("o", {"pong": "f" * 64}, {"pong": SCORES}, seeds=2)
    assert error_of([pong], [other], folder=out) == (
        f"{other} played other weights than those of the runs"
    )
    old = eval_run("old", {"pong": "f" * 64, "alien": one.sha256}, {"pong": SCORES}, seeds=2)
    assert error_of([pong], [old], folder=out) == f"{old} lacks episodes of alien"
    assert error_of([pong], [], folder=out) == (
        f"{pong} needs one evaluation of its last checkpoint, and has 0"
    )
    twice = [evaluation_of(eval_run, pong, name) for name in "ab"]
    assert error_of([pong], twice, folder=out).endswith("and has 2")
    capped = evaluation_of(eval_run, pong, "c", max_frames=400)
    assert error_of([pong], [capped], folder=out) == f"{capped} was cut off by --max-frames 400"
    begun = evaluation_of(eval_run, pong, "begun", status="interrupted")
    assert error_of([pong], [begun], folder=out) == f"{begun} is not finished: it is interrupted"
    few = eval_run("few", {"pong": one.sha256}, {"pong": SCORES[:7]}, seeds=2)
    assert error_of([pong], [few], folder=out) == f"{few} lacks episodes of pong"
    machado = evaluation_of(eval_run, pong, "m", protocol="machado")
    assert error_of([pong], [machado], folder=out) == (
        f"{machado} is of protocol machado, not saber"
    )
    bare = eval_run("bare", {}, {}, agent="random")
    assert error_of([pong], [bare], folder=out) == f"{bare} does not say which weights it played"
    assert error_of([pong], [pong], folder=out) == (
        f"{pong} holds a run of atari.train, not an evaluation"
    )


@pytest.mark.parametrize("which", ["training", "evaluation"])
@pytest.mark.parametrize("environment", [{"dirty": True}, {"git": ""}])
def test_uncommitted_code_is_refused_unless_allowed(
    pong: Path, eval_run: MakeRun, out: Path, which: str, environment: dict[str, Any]
) -> None:
    evaluation = evaluation_of(eval_run, pong)
    dirty = pong if which == "training" else evaluation
    document = json.loads((dirty / "result.json").read_text())
    document["environment"] |= environment
    (dirty / "result.json").write_text(json.dumps(document))
    assert error_of([pong], [evaluation], folder=out) == f"{dirty} is no run of a clean commit"
    entry = ship([pong], [evaluation], folder=out, allow_dirty=True)["dqn_mbe"]["pong"]
    assert entry[which]["dirty"] == environment.get("dirty", False)


def test_too_many_bytes_are_refused(
    pong: Path, eval_run: MakeRun, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlscale.rl.dqn.atari.ship.MAX_BYTES", 100_000)
    message = error_of([pong], [evaluation_of(eval_run, pong)], folder=out)
    assert message.endswith("bytes in all, and 100,000 is too many")


def test_two_runs_of_a_game_are_refused(
    pong: Path, train_run: MakeRun, eval_run: MakeRun, out: Path
) -> None:
    again = train_run("again", network_seed=9)
    runs = [evaluation_of(eval_run, pong), evaluation_of(eval_run, again, "f")]
    assert error_of([pong, again], runs, folder=out) == "two of the runs trained dqn_mbe on pong"


def test_the_script(
    pong: Path, eval_run: MakeRun, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"{pong} --evaluations {evaluation_of(eval_run, pong)} --folder {out}"
    assert main(shlex.split(command)) == 0
    shown = capsys.readouterr().out
    assert shown == table(shipped.read_manifest(out))
    assert "| dqn_mbe | Pong | -18.0 | -19" in shown
    assert shown.endswith("| 8 | -20.7 |\n")
    assert main(shlex.split(f"{command} --protocol v5")) == 2
    assert capsys.readouterr().err == f"error: {pong} is of protocol saber, not v5\n"


def test_a_setting_without_a_flag_is_found_in_the_manifest(
    train_run: MakeRun, eval_run: MakeRun, out: Path
) -> None:
    from mlscale.rl.dqn.atari.config import LatentMbeConfig

    path = train_run(mbe=LatentMbeConfig(window=77))
    training = ship([path], [evaluation_of(eval_run, path)], folder=out)["dqn_mbe"]["pong"]
    assert training["training"]["command"] == "mlscale atari train --config CONFIG.json"
    assert training["training"]["config"]["mbe"]["window"] == 77
