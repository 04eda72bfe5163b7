"""Shipped weights: a folder made up here, and the one in the package."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.agents.base import AgentEntry, Task
from mlscale.rl.atari.protocols import PROTOCOLS
from mlscale.rl.dqn.atari import shipped
from mlscale.rl.dqn.atari.agent import ValueAgent
from mlscale.rl.dqn.atari.networks import make_network
from mlscale.rl.dqn.atari.ship import MAX_BYTES
from mlscale.rl.dqn.atari.shipped import read_manifest, shipped_agent
from mlscale.rl.dqn.atari.weights_file import digest, to_bytes

ALL = tuple(range(18))
PONG = Task(game="pong", action_ids=ALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of weights for dqn_mbe in two games."""
    games: dict[str, dict[str, Any]] = {}
    for seed, (game, frames) in enumerate([("alien", 200_000), ("pong", 400_000)]):
        network = make_network("small", 18, seed)
        data = to_bytes({key: value.numpy() for key, value in network.state_dict().items()}, game)
        file = f"dqn_mbe-{game}.safetensors"
        (tmp_path / file).write_bytes(data)
        games[game] = {"file": file, "sha256": digest(data), "network": "small",
                       "action_ids": list(ALL), "frames": frames}  # fmt: skip
    write(tmp_path, {"dqn_mbe": games})
    return tmp_path


def write(folder: Path, agents: dict[str, Any], schema: str = "mlscale.weights/1") -> None:
    (folder / "manifest.json").write_text(json.dumps({"schema": schema, "agents": agents}))


def test_an_agent_covers_the_games_of_the_manifest(folder: Path) -> None:
    entry = shipped_agent("dqn_mbe", folder)
    assert (entry.name, entry.games, entry.uses_torch) == ("dqn_mbe", ("alien", "pong"), True)
    assert entry.train_frames is None  # two budgets
    assert entry.description == (
        "DQN with model-based exploration, 200k to 400k frames a game, 2 of 57 games"
    )
    assert entry.note == (
        "dqn_mbe ships weights for 2 of 57 games, trained on 200k to 400k frames each: alien, pong"
    )
    assert entry.weights["pong"]["frames"] == 400_000
    made = entry.factory(PONG)
    assert isinstance(made, ValueAgent)


def test_one_budget_is_the_training_of_all(folder: Path) -> None:
    games = read_manifest(folder)["dqn_mbe"]
    write(folder, {"dqn": {"pong": games["pong"]}})
    entry = shipped_agent("dqn", folder)
    assert (entry.train_frames, entry.games) == (400_000, ("pong",))
    assert entry.description == "DQN, 400k frames a game, 1 of 57 games"


def test_without_weights_an_agent_covers_nothing(tmp_path: Path, folder: Path) -> None:
    for entry in (shipped_agent("dqn", folder), shipped_agent("dqn", tmp_path / "nowhere")):
        assert (entry.games, entry.note, entry.train_frames) == ((), "", None)
        assert entry.description == "DQN, no weights for any game yet"
        assert entry.other_games == (
            "`mlscale atari train --agent dqn --game GAME` trains one, "
            "`mlscale atari eval --ckpt RUN` plays it"
        )


def error_of(entry: AgentEntry, task: Task = PONG) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        entry.factory(task)
    return caught.value.message, caught.value.hint


def test_a_damaged_file_is_one_clear_line(folder: Path) -> None:
    file = folder / "dqn_mbe-pong.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert error_of(shipped_agent("dqn_mbe", folder)) == (
        "the shipped weights dqn_mbe-pong.safetensors are damaged: their SHA-256 is not that of "
        "the manifest",
        "install mlscale again",
    )
    file.unlink()
    message, _ = error_of(shipped_agent("dqn_mbe", folder))
    assert message == (
        "the shipped weights dqn_mbe-pong.safetensors cannot be read: No such file or directory"
    )


def test_a_file_is_read_and_checked_once(folder: Path) -> None:
    entry = shipped_agent("dqn_mbe", folder)
    entry.factory(PONG)
    (folder / "dqn_mbe-pong.safetensors").unlink()
    entry.factory(dataclasses.replace(PONG, seed=1))


def test_other_actions_than_those_trained_with_are_refused(folder: Path) -> None:
    task = Task(game="pong", action_ids=(0, 1, 3, 4, 11, 12))
    message, hint = error_of(shipped_agent("dqn_mbe", folder), task)
    assert message == ("the weights for pong were trained with 18 actions; this protocol offers 6")
    assert hint == "play with --protocol saber or machado"


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": "other/1", "agents": {}}', "{}"])
def test_a_damaged_manifest_is_one_clear_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UserError, match="the manifest of the shipped weights is damaged: "):
        shipped_agent("dqn", tmp_path)


# What is in the package

ENTRIES = [
    pytest.param(agent, game, known, id=f"{agent}-{game}")
    for agent, games in read_manifest().items()
    for game, known in games.items()
]
FOLDER = Path(str(shipped.FOLDER))


def test_the_package_ships_the_files_of_its_manifest_and_no_others() -> None:
    known = [known for games in read_manifest().values() for known in games.values()]
    found = {path.name: path.stat().st_size for path in FOLDER.glob("*.safetensors")}
    assert found == {one["file"]: one["bytes"] for one in known}
    assert sum(found.values()) < MAX_BYTES
    assert not any(one["training"]["dirty"] or one["evaluation"]["dirty"] for one in known)
    assert len({one["protocol"] for one in known}) <= 1


@pytest.mark.parametrize(("agent", "game", "known"), ENTRIES)
def test_shipped_weights_are_whole_and_play(agent: str, game: str, known: dict[str, Any]) -> None:
    data = (FOLDER / known["file"]).read_bytes()
    assert digest(data) == known["sha256"]
    assert known["file"] == f"{agent}-{game}.safetensors"
    action_ids = offered_actions(game, PROTOCOLS[known["protocol"]])
    assert tuple(known["action_ids"]) == action_ids
    entry = shipped_agent(agent)
    made = entry.factory(Task(game=game, action_ids=action_ids))  # the keys fit the network
    assert isinstance(made, ValueAgent)
    evaluation = known["evaluation"]
    assert evaluation["command"].startswith(f"mlscale atari eval --agent {agent} --games {game}")
    assert known["training"]["command"].startswith("mlscale atari train ")
    assert evaluation["protocol"] == known["protocol"]
    assert evaluation["episodes"] > 0
