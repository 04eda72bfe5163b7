"""`mlscale rl`: train, evaluate and compare agents that explore in different ways."""

from __future__ import annotations

import typer

from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.rl.dqn.config import TrainConfig
from mlscale.rl.dqn.presets import TRAIN_PRESETS

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Train and compare DQN agents that explore in different ways.",
)


@app.callback()
def group() -> None:
    """Train and compare DQN agents that explore in different ways."""


@app.command("train")
@takes(TrainConfig, TRAIN_PRESETS)
def train(config: TrainConfig, common: Common) -> None:
    """Train an agent on a gymnasium environment."""
    execute("rl.train", config, common, name=f"{config.agent}-{config.env}")
