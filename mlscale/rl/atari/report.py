"""The report of an Atari study: figures, `report.html` and the tables as files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mlscale.core.figures import draw
from mlscale.core.report.blocks import Card, Facts, FigureBlock, Section
from mlscale.core.report.build import render, report_on
from mlscale.core.report.numbers import fixed, percent
from mlscale.rl.atari import figure_games, figures_overall
from mlscale.rl.atari.export import to_csv, to_latex, to_markdown
from mlscale.rl.atari.games import find_game
from mlscale.rl.atari.report_tables import (
    agents_table,
    aggregate_title,
    aggregates_data,
    aggregates_table,
    games_counted,
    games_data,
    games_print,
    games_table,
    is_count,
)

if TYPE_CHECKING:
    from mlscale.core.results import Metric, Result
    from mlscale.core.runs import Run

Agent: TypeAlias = Mapping[str, Any]

HEADLINES = {
    "hwr": ("hwrns_mean", "hwrns_median", "hwrns_iqm", "records_broken", "hwrns_gap"),
    "hns": ("hns_mean", "hns_median", "hns_iqm", "hns_gap"),
    "saber": ("saber_mean", "saber_median", "saber_iqm", "records_broken"),
    "all": ("hwrns_mean", "hwrns_median", "saber_mean", "records_broken", "hns_mean", "hns_median"),
}
"""The cards by `--metric`; with several agents there is one card each, of the first."""
REFERENCES = {
    "hns": "100 % is the average human",
    "chns": "100 % is the average human",
    "hwrns": "100 % is the world record",
    "saber": "100 % is the world record, clipped at 200 %",
}
CONVENTIONS = {
    "upper": "clipped at 200 % from above only",
    "both": "clipped into 0 to 200 %",
    "count": "equalling a record breaks it",
    "strict": "only a higher score breaks a record",
}
LEGENDS = {"records": "world records", "saber_clip": "SABER", "ties": "ties"}


def write_report(run: Run, result: Result, *, title: str) -> None:
    """Write figures, `report.html` and the exported tables into the run's directory.

    Args:
        run: Where to write; a run without a directory gets nothing.
        result: The result, with the tables of `scoring.score_agents`.
        title: The report's heading.
    """
    if run.path is None or not result.tables.get("agents"):
        return
    agents = result.tables["agents"]
    sections = (
        Section("Agents and aggregates", (agents_table(agents), *_aggregates(run, agents))),
        Section("Games", (*_games(run, agents), games_table(agents))),
        Section("Across games", _across_games(run, result.tables)),
        Section("Conventions", (_conventions(result, agents),)),
    )
    cards = _cards(result.metrics, agents, str(getattr(run.config, "metric", "hwr")))
    report = report_on(
        run,
        result,
        title=title,
        cards=cards,
        sections=tuple(section for section in sections if section.blocks),
    )
    run.write("report.html", render(report))
    _export(run, agents)


def _export(run: Run, agents: Sequence[Agent]) -> None:
    printed = games_print(agents)
    run.write("games.csv", to_csv(games_data(agents)))
    run.write("games.md", to_markdown(printed))
    run.write("games.tex", to_latex(printed))
    run.write("aggregates.csv", to_csv(aggregates_data(agents)))


def _cards(metrics: Mapping[str, Metric], agents: Sequence[Agent], choice: str) -> tuple[Card, ...]:
    wanted = HEADLINES.get(choice, HEADLINES["hwr"])
    if len(agents) == 1:
        named = [(aggregate_title(name), name, name) for name in wanted]
    else:
        named = [
            (f"{agent['agent']}: {aggregate_title(wanted[0])}", f"{agent['agent']}/{wanted[0]}",
             wanted[0])
            for agent in agents
        ]  # fmt: skip
    return tuple(_card(title, metrics[key], name) for title, key, name in named if key in metrics)


def _card(title: str, metric: Metric, name: str) -> Card:
    def show(value: float | None) -> str:
        return fixed(value, 0) if is_count(name) else percent(value)

    return Card(
        name=title,
        value=show(metric.value),
        interval=" to ".join(show(end) for end in metric.ci95) if metric.ci95 else "",
        n=f"{metric.n} {'game' if metric.n == 1 else 'games'}",
        unit="" if is_count(name) else REFERENCES[name.split("_")[0]],
    )


def _aggregates(run: Run, agents: Sequence[Agent]) -> tuple[Any, ...]:
    has_intervals = any(
        aggregate["ci95"] for agent in agents for aggregate in agent["aggregates"].values()
    )
    scored = [agent for agent in agents if agent["record_games"]]
    blocks: list[Any] = []
    if scored and (len(agents) > 1 or has_intervals):
        svg = draw(
            run,
            "aggregates",
            lambda figure: figures_overall.paint_forest(figure, agents),
            height_in=figures_overall.forest_height(len(agents)),
        )
        caption = (
            "Aggregates over games, each panel on its own scale. The capped mean counts a game for "
            "100 % at most; the optimality gap is the average shortfall from the record, so lower "
            "is better."
        )
        if has_intervals:
            caption += " Lines are 95 % bootstrap intervals, for agents with enough seeds."
        else:
            caption += " One score per game gives no intervals."
        blocks.append(FigureBlock(svg=svg, caption=caption, alt="Aggregates over games, by agent"))
    return (*blocks, aggregates_table(agents))


def _games(run: Run, agents: Sequence[Agent]) -> tuple[FigureBlock, ...]:
    num_games = len(figure_games.ranked_games(agents))
    if not num_games:
        return ()
    svg = draw(
        run,
        "hwrns_by_game",
        lambda figure: figure_games.paint_games(figure, agents),
        height_in=figure_games.games_height(num_games),
    )
    caption = (
        "HWRNS of every game, sorted by the best agent: 0 % is random play, 100 % the human world "
        "record. The scale is logarithmic"
    )
    if figure_games.games_span(agents).has_strip:
        caption += "; values it cannot show are triangles in the grey strip"
    caption += "."
    skipped = sorted({find_game(g).display_name for a in agents for g in a["without_record"]})
    if skipped:
        caption += f" Without a record, so not shown: {', '.join(skipped)}."
    return (FigureBlock(svg=svg, caption=caption, alt="HWRNS by game on a logarithmic scale"),)


def _across_games(run: Run, tables: Mapping[str, Any]) -> tuple[FigureBlock, ...]:
    found = (_profiles(run, tables), _efficiency(run, tables), _improvement(run, tables))
    return tuple(block for block in found if block)


def _profiles(run: Run, tables: Mapping[str, Any]) -> FigureBlock | None:
    profiles = tables["profiles"]
    if not profiles["curves"]:
        return None
    svg = draw(
        run,
        "profiles",
        lambda figure: figures_overall.paint_profiles(figure, profiles, tables["agents"]),
        height_in=3.6,
    )
    caption = "Performance profiles: the share of runs (games times seeds) with a higher HWRNS."
    if any(curve["low"] for curve in profiles["curves"]):
        caption += " Shaded: 95 % bootstrap intervals, point by point."
    return FigureBlock(svg=svg, caption=caption, alt="Performance profiles over HWRNS")


def _efficiency(run: Run, tables: Mapping[str, Any]) -> FigureBlock | None:
    agents = tables["agents"]
    left_out = [agent["agent"] for agent in agents if not figures_overall.has_efficiency(agent)]
    if len(left_out) == len(agents):
        return None
    svg = draw(
        run,
        "efficiency",
        lambda figure: figures_overall.paint_efficiency(figure, agents),
        height_in=3.4,
    )
    caption = "Learning efficiency: what was reached with how many training frames per game."
    if left_out:
        caption += f" Training frames not known, so not shown: {', '.join(left_out)}."
    return FigureBlock(svg=svg, caption=caption, alt="HWRNS against training frames")


def _improvement(run: Run, tables: Mapping[str, Any]) -> FigureBlock | None:
    agents, pairs = tables["agents"], tables["improvement"]
    if not any(pair["probability"] is not None for pair in pairs):
        return None
    svg = draw(
        run,
        "improvement",
        lambda figure: figures_overall.paint_improvement(figure, pairs, agents),
        height_in=figures_overall.improvement_height(len(agents)),
    )
    caption = (
        "Probability of improvement P(X > Y): how likely a run of X scores higher than a run of Y "
        "on a game, averaged over the games both have; ties count half."
    )
    if any(pair["ci95"] for pair in pairs):
        caption += " Below, where both have enough seeds: 95 % bootstrap intervals."
    return FigureBlock(svg=svg, caption=caption, alt="Probability of improvement by pair of agents")


def _conventions(result: Result, agents: Sequence[Agent]) -> Facts:
    """Return what the numbers hold under: protocol, records, clip, ties, games counted."""
    entries = {
        LEGENDS.get(name, name.replace("_", " ")): _in_words(value)
        for name, value in result.protocol.items()
    }
    for agent in agents:
        label = "games counted" + (f", {agent['agent']}" if len(agents) > 1 else "")
        entries[label] = (
            f"{games_counted(agent, 'hwrns')} for HWRNS, SABER and records; "
            f"{games_counted(agent, 'hns')} for HNS"
        )
    return Facts(entries)


def _in_words(value: Any) -> str:
    if isinstance(value, str):
        return CONVENTIONS.get(value, value)
    if isinstance(value, Mapping):  # weights, by game
        return ", ".join(f"{game} {known['sha256'][:12]}" for game, known in value.items())
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    return f"{value:,}" if isinstance(value, int) else json.dumps(value)
