"""An evaluation goes on with the weights it was begun with, or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.atari.kept_weights import check_weights, keep_weights


def weights(**digests: str) -> dict[str, dict[str, Any]]:
    return {game: {"sha256": digest, "step": 5} for game, digest in digests.items()}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run("atari.eval", EvalConfig(agent="random"), tmp_path)
    run.records.append({"game": "pong"})
    return run


def test_the_same_weights_go_on(run: Run, tmp_path: Path) -> None:
    check_weights(run, weights(pong="a"))  # nothing is known of them yet
    keep_weights(run, weights(pong="a", alien="b"))
    assert json.loads((tmp_path / "weights.json").read_text())["alien"]["sha256"] == "b"
    check_weights(run, weights(pong="a", alien="b"))
    check_weights(run, weights(pong="a", qbert="c"))  # a game added later is as good


def test_a_game_added_later_is_kept_too(run: Run, tmp_path: Path) -> None:
    run.records.clear()
    for begun in (weights(pong="a"), weights(pong="a", alien="b"), weights(pong="a")):
        check_weights(run, begun)
        keep_weights(run, begun)
        run.records.append({"game": "pong"})
    kept = json.loads((tmp_path / "weights.json").read_text())
    assert kept == weights(pong="a", alien="b")
    with pytest.raises(UserError, match=r"begun with other weights for alien$"):
        check_weights(run, weights(pong="a", alien="changed"))


def test_without_an_episode_other_weights_replace_those_of_before(run: Run, tmp_path: Path) -> None:
    run.records.clear()
    keep_weights(run, weights(pong="a"))
    keep_weights(run, weights(alien="b"))
    assert json.loads((tmp_path / "weights.json").read_text()) == weights(alien="b")


def test_other_weights_do_not(run: Run, tmp_path: Path) -> None:
    keep_weights(run, weights(pong="a", alien="b"))
    with pytest.raises(UserError) as caught:
        check_weights(run, weights(pong="a", alien="c"))
    assert caught.value.message == f"{tmp_path} was begun with other weights for alien"
    assert caught.value.hint is not None
    assert "--ckpt RUN/checkpoints/STEP" in caught.value.hint
    run.records.clear()  # of an evaluation that has not finished an episode nothing is mixed
    check_weights(run, weights(alien="c"))


def test_agents_without_weights_keep_no_file(run: Run, tmp_path: Path) -> None:
    keep_weights(run, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["[", "[]", '{"pong": 3}', '{"pong": {}}'])
def test_a_damaged_file(run: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "weights.json").write_text(content)
    with pytest.raises(UserError, match=r"weights\.json is damaged"):
        check_weights(run, weights(pong="a"))
