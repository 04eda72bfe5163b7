"""`mlscale decentral`: train without a central average, on any graph, and know what it costs."""

from __future__ import annotations

import typer

from mlscale.cli.execute import execute
from mlscale.cli.options import Common, takes
from mlscale.decentral.bench_config import BenchConfig
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.graphs_config import GraphsConfig
from mlscale.decentral.plan_config import PlanConfig
from mlscale.decentral.presets import BENCH_PRESETS, TRAIN_PRESETS
from mlscale.decentral.report_config import ReportConfig

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compare decentralised training on graphs with all-reduce.",
)


@app.command("train")
@takes(TrainConfig, TRAIN_PRESETS)
def train(config: TrainConfig, common: Common) -> None:
    """Train replicas that average with their neighbours."""
    execute("decentral.train", config, common, name=f"{config.algorithm}-{config.graph}")


@app.command("bench")
@takes(BenchConfig, BENCH_PRESETS)
def bench(config: BenchConfig, common: Common) -> None:
    """Train on many graphs with many seeds and set them beside all-reduce."""
    execute("decentral.bench", config, common, name=config.task)


@app.command("report")
@takes(ReportConfig)
def report(config: ReportConfig, common: Common) -> None:
    """Set stored benchmarks and trainings side by side in a new report."""
    execute("decentral.report", config, common, name=config.runs[0].name)


@app.command("graphs")
@takes(GraphsConfig)
def graphs(config: GraphsConfig, common: Common) -> None:
    """List the graphs: degree, mixing, how far apart ranks stay."""
    study = "decentral.drawings" if config.draw else "decentral.graphs"
    execute(study, config, common, name="graphs")


@app.command("plan")
@takes(PlanConfig)
def plan(config: PlanConfig, common: Common) -> None:
    """Predict bytes and time of a step, every graph against all-reduce."""
    execute("decentral.plan", config, common)
