"""Runs of `atari train` and `atari eval` as they lie on disk, made without training or playing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: TID253 - networks are made here

from mlscale.core.checkpoints import save_checkpoint
from mlscale.core.results import Metric, Result
from mlscale.core.runs import open_run
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.dqn.atari.config import AtariTrainConfig
from mlscale.rl.dqn.atari.networks import make_network

NUM_ACTIONS = {"saber": 18, "v5": 6}
CLEAN = {"git": "0123abc", "dirty": False}


def edit_result(path: Path, **environment: Any) -> None:
    file = path / "result.json"
    document = json.loads(file.read_text())
    document["environment"] |= environment
    file.write_text(json.dumps(document))


@pytest.fixture
def train_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a training run's directory, its network drawn from a seed."""

    def make(
        name: str = "trained",
        *,
        steps: tuple[int, ...] = (100,),
        status: Any = "complete",
        network_seed: int = 0,
        scale: float = 1.0,
        **settings: Any,
    ) -> Path:
        config = AtariTrainConfig(**{"agent": "dqn_mbe", "game": "pong", "frames": 400, **settings})
        path = tmp_path / name
        run = open_run("atari.train", config, out=path)
        for step in steps:
            network = make_network(
                config.network, NUM_ACTIONS[config.protocol], network_seed + step
            )
            tensors = {
                f"online/{key}": scale * value for key, value in network.state_dict().items()
            }
            tensors |= {"target/head.bias": torch.zeros(18), "replay/frames": torch.ones(9)}
            save_checkpoint(path / "checkpoints", step, tensors, {"step": step})
        metrics = {"final_return": Metric(-3.5, "return, last 100 episodes", 1)}
        run.finish(Result(study="atari.train", metrics=metrics, status=status))
        edit_result(path, **CLEAN)
        return path

    return make


@pytest.fixture
def eval_run(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes an evaluation's directory with the scores it is given."""

    def make(
        name: str,
        weights: dict[str, str],
        scores: dict[str, list[int]],
        *,
        status: Any = "complete",
        **settings: Any,
    ) -> Path:
        config = EvalConfig(**{"ckpt": (Path("somewhere"),), "episodes": 4, **settings})
        path = tmp_path / name
        run = open_run("atari.eval", config, out=path)
        for game, values in scores.items():
            for k, score in enumerate(values):
                seed, episode = divmod(k, config.episodes)
                run.log({"game": game, "seed": config.seed + seed, "episode": episode,
                         "score": score, "frames": 40, "end": "game over"})  # fmt: skip
        known = {game: {"sha256": sha256} for game, sha256 in weights.items()}
        protocol = {"weights": known} if status == "complete" else {}
        run.finish(Result(study="atari.eval", protocol=protocol, status=status))
        edit_result(path, **CLEAN)
        return path

    return make
