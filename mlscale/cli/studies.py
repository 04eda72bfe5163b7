"""The studies by name: what configures them, what runs them, what draws their result.

Everything is named by text and imported when it is used, so that `--help` stays light and
`mlscale runs resume` can run any study again from its directory.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from mlscale.core.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One runnable study.

    Args:
        name: Its name in results and run directories, as in "atari.eval".
        config: "module:Class" of its configuration.
        run: "module:function" taking (config, run) and returning a Result.
        render: "module:function" taking (document, console) and drawing the result.
        keeps_run: Whether it writes a run directory when no --out is given.
        leads: Whether processes that torchrun starts share one run, which rank 0 leads.
    """

    name: str
    config: str
    run: str
    render: str
    keeps_run: bool = True
    leads: bool = False


def load(reference: str) -> Any:
    """Return the object named "module:attribute"."""
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def find_study(name: str) -> Study:
    """Return the study called `name`.

    Raises:
        UserError: This version has no such study.
    """
    for study in STUDIES:
        if study.name == name:
            return study
    raise UserError(
        f"this mlscale has no study {name!r}",
        f"studies: {', '.join(study.name for study in STUDIES)}",
    )


STUDIES = (
    Study(
        name="atari.games",
        config="mlscale.rl.atari.config:GamesConfig",
        run="mlscale.rl.atari.listings:run_games",
        render="mlscale.cli.atari_tables:draw_games",
        keeps_run=False,
    ),
    Study(
        name="atari.agents",
        config="mlscale.rl.atari.config:AgentsConfig",
        run="mlscale.rl.atari.listings:run_agents",
        render="mlscale.cli.atari_tables:draw_agents",
        keeps_run=False,
    ),
    Study(
        name="atari.score",
        config="mlscale.rl.atari.config:ScoreConfig",
        run="mlscale.rl.atari.score:run",
        render="mlscale.cli.atari_tables:draw_score",
    ),
    Study(
        name="atari.compare",
        config="mlscale.rl.atari.config:CompareConfig",
        run="mlscale.rl.atari.compare:run",
        render="mlscale.cli.atari_tables:draw_compare",
    ),
    Study(
        name="atari.eval",
        config="mlscale.rl.atari.config:EvalConfig",
        run="mlscale.rl.atari.evaluate:run",
        render="mlscale.cli.atari_tables:draw_eval",
    ),
    Study(
        name="atari.watch",
        config="mlscale.rl.atari.watch_config:WatchConfig",
        run="mlscale.rl.atari.watch:run",
        render="mlscale.cli.watch_tables:draw_watch",
    ),
    Study(
        name="atari.train",
        config="mlscale.rl.dqn.atari.config:AtariTrainConfig",
        run="mlscale.rl.dqn.atari.train:run",
        render="mlscale.cli.rl_tables:draw_atari_train",
    ),
    Study(
        name="rl.train",
        config="mlscale.rl.dqn.config:TrainConfig",
        run="mlscale.rl.dqn.train:run",
        render="mlscale.cli.rl_tables:draw_train",
    ),
    Study(
        name="rl.eval",
        config="mlscale.rl.dqn.config:EvalConfig",
        run="mlscale.rl.dqn.evaluate:run",
        render="mlscale.cli.rl_tables:draw_eval",
    ),
    Study(
        name="rl.watch",
        config="mlscale.rl.dqn.watch_config:WatchConfig",
        run="mlscale.rl.dqn.watch:run",
        render="mlscale.cli.watch_tables:draw_watch",
    ),
    Study(
        name="rl.explore",
        config="mlscale.rl.dqn.config:ExplorationConfig",
        run="mlscale.rl.dqn.explore:run",
        render="mlscale.cli.rl_tables:draw_explore",
    ),
    Study(
        name="rl.study",
        config="mlscale.rl.dqn.config:StudyConfig",
        run="mlscale.rl.dqn.study:run",
        render="mlscale.cli.rl_tables:draw_study",
    ),
    Study(
        name="decentral.train",
        config="mlscale.decentral.config:TrainConfig",
        run="mlscale.decentral.train:run",
        render="mlscale.cli.decentral_tables:draw_train",
        leads=True,
    ),
    Study(
        name="decentral.bench",
        config="mlscale.decentral.bench_config:BenchConfig",
        run="mlscale.decentral.bench:run",
        render="mlscale.cli.decentral_tables:draw_bench",
    ),
    Study(
        name="decentral.report",
        config="mlscale.decentral.report_config:ReportConfig",
        run="mlscale.decentral.report:run",
        render="mlscale.cli.decentral_tables:draw_bench",
    ),
    Study(
        name="decentral.graphs",
        config="mlscale.decentral.graphs_config:GraphsConfig",
        run="mlscale.decentral.listing:run",
        render="mlscale.cli.decentral_tables:draw_graphs",
        keeps_run=False,
    ),
    Study(  # the same listing, asked for with its drawings
        name="decentral.drawings",
        config="mlscale.decentral.graphs_config:GraphsConfig",
        run="mlscale.decentral.listing:run",
        render="mlscale.cli.decentral_tables:draw_graphs",
    ),
    Study(
        name="decentral.plan",
        config="mlscale.decentral.plan_config:PlanConfig",
        run="mlscale.decentral.plan:run",
        render="mlscale.cli.decentral_tables:draw_plan",
        keeps_run=False,
    ),
    Study(
        name="runs.list",
        config="mlscale.cli.runs:ListConfig",
        run="mlscale.cli.runs:run_list",
        render="mlscale.cli.runs:draw_list",
        keeps_run=False,
    ),
    Study(
        name="doctor",
        config="mlscale.cli.doctor:DoctorConfig",
        run="mlscale.cli.doctor:run",
        render="mlscale.cli.doctor:draw",
        keeps_run=False,
    ),
)
