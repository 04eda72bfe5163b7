"""`mlscale atari`: train, evaluate and score Atari agents against human world records."""

from __future__ import annotations

import typer

from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.rl.atari.config import (
    EVAL_PRESETS,
    AgentsConfig,
    CompareConfig,
    EvalConfig,
    GamesConfig,
    ScoreConfig,
)
from mlscale.rl.atari.watch_config import WatchConfig
from mlscale.rl.dqn.atari.config import AtariTrainConfig
from mlscale.rl.dqn.atari.presets import TRAIN_PRESETS

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train, evaluate and score Atari agents against human world records.",
)


@app.command("games")
@takes(GamesConfig)
def games(config: GamesConfig, common: Common) -> None:
    """List the 57 games with their random, average-human and world-record scores."""
    execute("atari.games", config, common)


@app.command("agents")
@takes(AgentsConfig)
def agents(config: AgentsConfig, common: Common) -> None:
    """List the agents that can be played and the published score tables."""
    execute("atari.agents", config, common)


@app.command("score")
@takes(ScoreConfig)
def score(config: ScoreConfig, common: Common) -> None:
    """Score a table of your own: agent,game,seed,score rows, or games by agents."""
    execute("atari.score", config, common, name=config.file.stem)


@app.command("compare")
@takes(CompareConfig)
def compare(config: CompareConfig, common: Common) -> None:
    """Set published agents, score tables and evaluations side by side."""
    execute("atari.compare", config, common, name="-".join(config.agents))


@app.command("train")
@takes(AtariTrainConfig, TRAIN_PRESETS)
def train(config: AtariTrainConfig, common: Common) -> None:
    """Train an agent on a game."""
    execute("atari.train", config, common, name=f"{config.agent}-{config.game}")


@app.command("eval")
@takes(EvalConfig, EVAL_PRESETS)
def evaluate(config: EvalConfig, common: Common) -> None:
    """Play real episodes with an agent and score them."""
    execute("atari.eval", config, common, name=config.agent or config.ckpt[0].name)


@app.command("watch")
@takes(WatchConfig)
def watch(config: WatchConfig, common: Common) -> None:
    """Film an episode that an agent plays."""
    player = config.agent or (config.ckpt.name if config.ckpt else "")
    execute("atari.watch", config, common, name=f"{player}-{config.game}")
