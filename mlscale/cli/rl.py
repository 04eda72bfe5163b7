"""`mlscale rl`: train, evaluate and compare agents that explore in different ways."""

from __future__ import annotations

import typer

from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.rl.dqn.config import EvalConfig, ExplorationConfig, StudyConfig, TrainConfig
from mlscale.rl.dqn.presets import EXPLORE_PRESETS, STUDY_PRESETS, TRAIN_PRESETS
from mlscale.rl.dqn.watch_config import WatchConfig

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train and compare DQN agents that explore in different ways.",
)


@app.command("train")
@takes(TrainConfig, TRAIN_PRESETS)
def train(config: TrainConfig, common: Common) -> None:
    """Train an agent on a gymnasium environment."""
    execute("rl.train", config, common, name=f"{config.agent}-{config.env}")


@app.command("eval")
@takes(EvalConfig)
def evaluate(config: EvalConfig, common: Common) -> None:
    """Play episodes with what a training has learned."""
    execute("rl.eval", config, common, name=config.run.name)


@app.command("watch")
@takes(WatchConfig)
def watch(config: WatchConfig, common: Common) -> None:
    """Film an episode played with what a training has learned."""
    execute("rl.watch", config, common, name=config.run.name)


@app.command("explore")
@takes(ExplorationConfig, EXPLORE_PRESETS)
def explore(config: ExplorationConfig, common: Common) -> None:
    """Measure exploration alone: how many episodes come to the goal."""
    execute("rl.explore", config, common, name=config.env)


@app.command("study")
@takes(StudyConfig, STUDY_PRESETS)
def study(config: StudyConfig, common: Common) -> None:
    """Train several agents with several seeds and set them side by side."""
    execute("rl.study", config, common, name=config.env)
