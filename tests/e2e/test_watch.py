"""`mlscale rl watch` and `mlscale atari watch` as a user runs them, films read back."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.slow


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mlscale", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def result_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["status"] == "complete"
    return document


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    done = run("rl", "train", "--preset", "tiny", "--out", "run", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


def test_an_mp4_of_a_training(trained: Path, tmp_path: Path) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    pytest.importorskip("pygame")
    watched = result_of(run("rl", "watch", str(trained), "--json", "--out", "w", cwd=tmp_path))
    evaluated = result_of(
        run("rl", "eval", str(trained), "--episodes", "1", "--json", cwd=tmp_path)
    )
    for name in ("mean_return", "mean_length"):
        assert watched["metrics"][name]["value"] == evaluated["metrics"][name]["value"]
    assert watched["artifacts"] == ["episode.mp4"]
    num_pictures, length_s = imageio_ffmpeg.count_frames_and_secs(str(tmp_path / "w/episode.mp4"))
    assert num_pictures == watched["metrics"]["mean_length"]["value"] + 1 + 30
    assert length_s == pytest.approx(num_pictures / 30, abs=0.02)
    assert watched["tables"]["film"]["pictures"] == num_pictures
    shown = run("runs", "show", "w", cwd=tmp_path)
    assert f"episode.mp4: {num_pictures / 30:.1f} s" in shown.stdout


def test_a_gif_of_a_training(trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    command = ["rl", "watch", str(trained), "--format", "gif", "--max-steps", "20", "--out", "w"]
    done = run(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "note: the film ends after 20 steps (--max-steps)" in done.stderr
    assert "film: w/episode.gif" in done.stderr
    with Image.open(tmp_path / "w" / "episode.gif") as film:
        assert film.size[0] == 600
        durations_ms = []
        for number in range(film.n_frames):
            film.seek(number)
            durations_ms.append(film.info["duration"])
    assert sum(durations_ms) == round(100 * (20 + 1 + 30) / 30) * 10


def test_an_mp4_of_a_game_shows_the_episode_that_an_evaluation_plays_first(tmp_path: Path) -> None:
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    common = ["--agent", "random", "--protocol", "nature", "--max-frames", "3000", "--seed", "3"]
    watched = result_of(
        run("atari", "watch", "--game", "breakout", *common, "--json", "--out", "w", cwd=tmp_path)
    )
    evaluate = ["atari", "eval", "--games", "breakout", "--episodes", "1", "--no-report"]
    result_of(run(*evaluate, *common, "--json", "--out", "e", cwd=tmp_path))
    (evaluated,) = (tmp_path / "e" / "metrics.jsonl").read_text().splitlines()
    (episode,) = watched["tables"]["episodes"]
    first = json.loads(evaluated)
    assert episode == {name: first[name] for name in episode}
    assert episode["score"] > 0
    film = tmp_path / "w" / "episode.mp4"
    num_pictures, _ = imageio_ffmpeg.count_frames_and_secs(str(film))
    assert num_pictures == watched["tables"]["film"]["pictures"]
    emulated_frames = 4 * (num_pictures - 1 - 15)
    # Up to 30 no-op frames came before the first picture; the last step may be cut short.
    assert -3 <= episode["frames"] - emulated_frames <= 30


def test_without_the_extra_nothing_is_played(tmp_path: Path) -> None:
    hide = "import sys; sys.modules['imageio_ffmpeg'] = None; sys.argv[0] = 'mlscale'\n"
    call = "from mlscale.cli.main import main; main()"
    command = [sys.executable, "-c", hide + call, "atari", "watch", "--agent", "random"]
    done = subprocess.run(
        [*command, "--game", "pong"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "error: an mp4 needs the extra 'video'\n"
        "hint: pip install 'mlscale[video]', or --format gif, which needs nothing more\n"
    )
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
