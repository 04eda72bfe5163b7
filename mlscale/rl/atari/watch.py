"""`mlscale atari watch`: plays one episode with an agent and films it."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from mlscale.core.captions import with_caption
from mlscale.core.engine.work import limit_threads
from mlscale.core.errors import UserError
from mlscale.core.results import Metric, Result
from mlscale.core.seeding import derive_seed
from mlscale.core.video import add_film, check_format
from mlscale.rl.atari.agents.actions import offered_actions
from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.registry import check_covered, find_agent, make_agent
from mlscale.rl.atari.filmed import play_filmed
from mlscale.rl.atari.games import find_game
from mlscale.rl.atari.jobs import POLICY_THREADS, episode_start
from mlscale.rl.atari.protocols import FRAMES_PER_S, PROTOCOLS
from mlscale.rl.atari.published import find_published, is_published

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from mlscale.core.runs import Run
    from mlscale.rl.atari.agents.base import AgentEntry
    from mlscale.rl.atari.filmed import Scene
    from mlscale.rl.atari.games import Game
    from mlscale.rl.atari.protocols import Protocol
    from mlscale.rl.atari.watch_config import WatchConfig

REPORT_EVERY_SCENES = 50


def run(config: WatchConfig, run: Run) -> Result:
    """Play the episode that an evaluation with the same seed plays first, and film it.

    Raises:
        UserError: Unknown agent or game, or the extra `video` is missing.
        WorkFailed: The agent raised, or the film could not be written.
    """
    check_format(config.format)
    entry = _find_player(config)
    game = _choose_game(config, entry)
    if entry.note:
        run.note(entry.note)
    protocol = _cap(PROTOCOLS[config.protocol], config.max_frames)
    limit_threads(POLICY_THREADS)
    action_ids = offered_actions(game.rom_id, protocol)
    seed = derive_seed(config.seed, "group", game.rom_id, 0)
    agent = make_agent(entry.factory, Task(game=game.rom_id, action_ids=action_ids, seed=seed))
    start = episode_start(game.rom_id, config.seed, 0)
    run.rewind(0)
    scenes = play_filmed(game.rom_id, protocol, start, agent, len(action_ids))
    pictures_per_s = FRAMES_PER_S / protocol.frame_skip
    about = Caption(game.display_name, f"{entry.name}, {config.protocol}", pictures_per_s)
    film = add_film(run, _draw(scenes, about, protocol, run), config.format, pictures_per_s)
    (episode,) = run.records
    if episode["end"] == "frame cap" and protocol.max_frames == config.max_frames:
        run.note(f"the episode is cut off at {config.max_frames:,} frames (--max-frames)")
    return Result(
        study=run.study,
        metrics={
            "score": Metric(episode["score"], "game points", 1),
            "frames": Metric(episode["frames"], "frames", 1),
        },
        protocol=dataclasses.asdict(protocol)
        | {"game": game.rom_id, "agent": entry.name}
        | ({"weights": entry.weights[game.rom_id]} if game.rom_id in entry.weights else {}),
        tables={"episodes": run.records, "film": film.described(pictures_per_s)},
    )


def _find_player(config: WatchConfig) -> AgentEntry:
    if config.ckpt is None and is_published(config.agent):
        raise UserError(
            f"{find_published(config.agent).display_name} is published scores: nothing can be seen",
            "`mlscale atari agents` lists the agents that can be played",
        )
    checkpoints = () if config.ckpt is None else (config.ckpt,)
    return find_agent(config.agent, trust=config.trust, checkpoints=checkpoints)


def _choose_game(config: WatchConfig, entry: AgentEntry) -> Game:
    chosen = [find_game(config.game)] if config.game else []
    check_covered([game.rom_id for game in chosen], entry.games, entry.name, entry.other_games)
    if chosen:
        return chosen[0]
    if entry.games is None or len(entry.games) != 1:
        covered = "every game" if entry.games is None else ", ".join(entry.games)
        raise UserError("--game is required", f"{entry.name} plays {covered}")
    return find_game(entry.games[0])


def _cap(protocol: Protocol, max_frames: int) -> Protocol:
    """Return the protocol with the film's cap, where its own does not come first."""
    return dataclasses.replace(protocol, max_frames=min(protocol.max_frames, max_frames))


@dataclasses.dataclass(frozen=True, slots=True)
class Caption:
    """What is written above every scene.

    Args:
        game: The game as people call it.
        player: Who plays, and how.
        pictures_per_s: Scenes in a second of play.
    """

    game: str
    player: str
    pictures_per_s: float

    def over(self, scene: Scene) -> NDArray[np.uint8]:
        """Return the scene's screen with the caption."""
        minutes, seconds = divmod(scene.frames // FRAMES_PER_S, 60)
        end = scene.episode.end if scene.episode else f"frame {scene.frames:,}"
        rows = [
            (self.game, f"score {scene.score:,}"),
            (self.player, f"{end}  {minutes}:{seconds:02d}"),
        ]
        return with_caption(scene.screen_HWC, rows)


def _draw(
    scenes: Iterator[Scene], about: Caption, protocol: Protocol, run: Run
) -> Iterator[NDArray[np.uint8]]:
    """Yield the pictures of the film, the last for a second; log the episode at its end."""
    for number, scene in enumerate(scenes):
        picture = about.over(scene)
        yield picture
        if number % REPORT_EVERY_SCENES == 0:
            run.reporter.progress(scene.frames, protocol.max_frames, f"score {scene.score:,}")
        if scene.episode is not None:
            run.log(dataclasses.asdict(scene.episode))
            yield from itertools.repeat(picture, round(about.pictures_per_s))
