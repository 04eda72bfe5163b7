"""The report of the Atari studies: its numbers are those of the tables, its figures are honest."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mlscale.core.figures import styled
from mlscale.core.report.numbers import percent
from mlscale.core.results import Result
from mlscale.core.runs import Run
from mlscale.rl.atari import figure_games, figures_overall
from mlscale.rl.atari.config import CompareConfig
from mlscale.rl.atari.hwrns_axis import LogRange, percent_decades
from mlscale.rl.atari.report import write_report
from mlscale.rl.atari.report_tables import aggregate_title, games_print, games_table
from mlscale.rl.atari.score_files import read_scores
from mlscale.rl.atari.scoring import (
    AgentRuns,
    conventions,
    find_reference,
    headline_metrics,
    score_agents,
)

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

HOSTILE = "<script>alert(1)</script>"
CONFIG = CompareConfig(agents=("a", "b"), resamples=100)
REFERENCE = find_reference("saber-2019")
SEEDS = {
    "pong": np.array([10.0, 12.0, 14.0]),
    "breakout": np.array([-50.0, -40.0, -60.0]),  # below random play: off a log axis
    "alien": np.array([3e5, 2.9e5, 3.1e5]),  # above the record
    "surround": np.array([1.0, 2.0, 3.0]),  # no record
}
SINGLE = {"pong": np.array([21.0]), "breakout": np.array([1.7]), "boxing": np.array([50.0])}


def result_of(*agents: AgentRuns) -> Result:
    tables = score_agents(agents, CONFIG, REFERENCE)
    return Result(
        study="atari.compare",
        metrics=headline_metrics(tables),
        protocol=conventions(CONFIG, REFERENCE),
        tables=tables,
    )


def one(name: str = "a", frames: int | None = 200_000_000) -> AgentRuns:
    return AgentRuns(agent=name, scores=SEEDS, frames=frames, origin="test")


@pytest.fixture(scope="module")
def result() -> Result:
    return result_of(
        one("a"),
        AgentRuns(agent=HOSTILE, scores=SINGLE, frames=None, origin=HOSTILE, caveats=(HOSTILE,)),
    )


@pytest.fixture(scope="module")
def run(result: Result, tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run("atari.compare", CONFIG, tmp_path_factory.mktemp("run"))
    run.note(f"note on {HOSTILE}")
    write_report(run, result, title=f"a against {HOSTILE}")
    return run


def read(run: Run, name: str) -> str:
    assert run.path is not None
    return (run.path / name).read_text("utf-8")


def painted(paint: Any, *arguments: Any) -> Figure:
    from matplotlib.figure import Figure

    with styled():
        figure = Figure()
        paint(figure, *arguments)
    return figure


def test_everything_is_written(run: Run) -> None:
    stems = ("aggregates", "hwrns_by_game", "profiles", "efficiency", "improvement")
    figures = [f"figures/{stem}.{kind}" for stem in stems for kind in ("svg", "png")]
    tables = ["report.html", "games.csv", "games.md", "games.tex", "aggregates.csv"]
    assert sorted(run.artifacts) == sorted(figures + tables)


def test_a_run_without_a_directory_draws_and_writes_nothing(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlscale.rl.atari.report.draw", None)
    run = Run("atari.compare", CONFIG)
    write_report(run, result, title="t")
    assert run.artifacts == []


def test_hostile_names_never_reach_the_page_or_a_figure(run: Run) -> None:
    assert HOSTILE not in read(run, "report.html")
    assert "&lt;script&gt;alert(1)" in read(run, "report.html")
    for name in run.artifacts:
        if name.endswith(".svg"):
            assert HOSTILE not in read(run, name)


def test_the_page_is_balanced_and_fetches_nothing(run: Run) -> None:
    page = read(run, "report.html")
    opened: list[str] = []

    class Balance(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag not in ("meta", "link", "input", "img"):
                opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Balance().feed(page)
    assert opened == []
    assert not re.search(r'(?:src|href)="(?!data:)|https?://', page)


def test_the_page_says_what_the_numbers_hold_under(run: Run) -> None:
    page = read(run, "report.html")
    for text in (
        "saber-2019",
        "equalling a record breaks it",
        "clipped at 200 % from above only",
        "3 for HWRNS, SABER and records; 4 for HNS",
        "Without a record, so not shown: Surround.",
        "Training frames not known, so not shown: &lt;script&gt;",
    ):
        assert text in page


def test_the_caption_speaks_of_the_grey_strip_only_where_there_is_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlscale.rl.atari.report.draw", lambda *_, **__: "<svg/>")
    above = Run("atari.score", CONFIG, tmp_path)
    scores = {game: SEEDS[game] for game in ("pong", "alien")}
    write_report(
        above,
        result_of(AgentRuns(agent="a", scores=scores, frames=None, origin="test")),
        title="t",
    )
    strip = "The scale is logarithmic; values it cannot show are triangles in the grey strip."
    assert strip in read(run, "report.html")
    assert "The scale is logarithmic.<" in read(above, "report.html")


def test_the_conventions_are_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlscale.rl.atari.report.draw", lambda *_, **__: "<svg/>")
    run = Run("atari.eval", CONFIG, tmp_path)
    protocol = {"full_actions": True, "reported": False, "stuck_frames": None, "max_frames": 5_000}
    write_report(run, dataclasses.replace(result_of(one()), protocol=protocol), title="t")
    facts = dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", read(run, "report.html")))
    assert {name: facts[name.replace("_", " ")] for name in protocol} == {
        "full_actions": "yes", "reported": "no", "stuck_frames": "none", "max_frames": "5,000"
    }  # fmt: skip


def test_table_cells_are_the_tables_values(result: Result) -> None:
    agents = result.tables["agents"]
    table = games_table(agents)
    names = [column.name for column in table.columns]
    expected = [(agent["agent"], row) for agent in agents for row in agent["games"]]
    for cells, (agent, row) in zip(table.rows, expected, strict=True):
        shown = dict(zip(names, cells, strict=True))
        assert (shown["Agent"], shown["Game"]) == (agent, row["name"])
        assert shown["Score"] == row["score"]
        assert shown["HNS, %"] == row["hns"]
        assert shown["HWRNS, %"] == row["hwrns"]
        assert shown["Record broken"] is row["record_broken"]
    assert "Agent" not in [column.name for column in games_table(agents[:1]).columns]


def test_columns_of_an_evaluation_appear_where_there_are_any() -> None:
    (agent,) = result_of(one()).tables["agents"]
    assert "Frames" not in [column.name for column in games_table([agent]).columns]
    agent["games"][0] |= {"episodes": 6, "frames": 1200, "ends": {"cap": 2, "game over": 4}}
    table = games_table([agent])
    names = [column.name for column in table.columns]
    assert table.rows[0][names.index("Episodes")] == 6
    assert table.rows[0][names.index("Episodes ended by")] == "cap 2, game over 4"
    assert table.rows[1][names.index("Frames")] is None


def test_exports_hold_ratios_and_print_holds_percent(run: Run, result: Result) -> None:
    agent = result.tables["agents"][0]
    found = csv.DictReader(io.StringIO(read(run, "games.csv")))
    rows = {row["game"]: row for row in found if row["agent"] == "a"}
    assert float(rows["alien"]["hwrns"]) == agent["games"][2]["hwrns"]
    assert rows["alien"]["record_broken"] == "yes"
    assert rows["surround"]["hwrns"] == ""
    printed = games_print(result.tables["agents"])
    cell = printed.rows[2][printed.columns.index("a HWRNS %")]
    assert cell == 100 * agent["games"][2]["hwrns"]
    assert "<script" not in read(run, "games.md").replace("\\<script", "")


def test_games_csv_can_be_scored_again(run: Run, result: Result) -> None:
    assert run.path is not None
    table = read_scores(run.path / "games.csv")
    again = {agent.agent: dict(agent.scores) for agent in table.agents}
    for agent in result.tables["agents"]:
        assert again[agent["agent"]] == {row["game"]: [row["score"]] for row in agent["games"]}


def test_aggregates_csv_has_the_intervals(run: Run, result: Result) -> None:
    rows = list(csv.DictReader(io.StringIO(read(run, "aggregates.csv"))))
    iqm = next(row for row in rows if (row["agent"], row["aggregate"]) == ("a", "hwrns_iqm"))
    aggregate = result.tables["agents"][0]["aggregates"]["hwrns_iqm"]
    assert (float(iqm["ci95_low"]), float(iqm["ci95_high"])) == aggregate["ci95"]
    assert iqm["games"] == "3"


def test_cards_show_percent_with_interval_and_games(tmp_path: Path) -> None:
    run = Run("atari.score", CONFIG, tmp_path)
    write_report(run, result_of(one()), title="t")
    page = read(run, "report.html")
    value = r"mean HWRNS</span>\s*<strong>[\d.]+\xa0%</strong>"
    assert re.search(value + r'\s*<span class="interval">95 % interval [\d.]+\xa0% to', page)
    assert re.search(r"world records broken</span>\s*<strong>1</strong>", page)
    assert "100 % is the world record, 3 games" in page
    assert not any("improvement" in name for name in run.artifacts)


def test_agents_without_frames_or_records_have_no_such_figures(tmp_path: Path) -> None:
    agent = AgentRuns(
        agent="a", scores={"surround": np.array([1.0])}, frames=5, origin="test"
    )  # fmt: skip
    run = Run("atari.score", CONFIG, tmp_path)
    write_report(run, result_of(agent), title="t")
    assert not any(name.startswith("figures/") for name in run.artifacts)
    assert "report.html" in run.artifacts


@pytest.mark.parametrize(
    ("values", "floor", "has_strip"),
    [
        ([0.5, 2.0], 0.1, False),
        ([0.01], 0.001, False),  # a value at a power of ten keeps a bar
        ([0.02, 0.0], 0.01, True),
        ([0.02, -3.0], 0.01, True),
        ([1e-9, 0.5], 0.1, True),
        ([-1.0], 0.1, True),
        ([1.5e-5, 9.9e-6], 1e-5, True),
    ],
)
def test_log_range(values: list[float], floor: float, has_strip: bool) -> None:
    span = LogRange.of(values)
    assert span.floor == pytest.approx(floor)
    assert span.has_strip is (span.left < span.floor) is has_strip
    assert span.right > max([*values, 1.0])
    for value in values:
        assert span.place(value) == (value if value >= span.floor else span.strip)
    assert span.left <= span.strip <= span.floor


def test_bars_end_at_their_values_and_the_rest_is_marked_in_the_strip(result: Result) -> None:
    agents = result.tables["agents"][:1]
    (axes,) = painted(figure_games.paint_games, agents).axes
    games = figure_games.ranked_games(agents)
    assert [name for name, _ in games] == ["Breakout", "Pong", "Alien"]
    bars = [patch for patch in axes.patches if patch.get_gid() != "strip"]
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    assert ends == pytest.approx([value for _, (value,) in games if value and value > 0])
    (marks,) = [line for line in axes.lines if line.get_gid() == "off-scale"]
    assert list(marks.get_ydata()) == [0]
    (strip,) = [patch for patch in axes.patches if patch.get_gid() == "strip"]
    assert strip.get_x() < marks.get_xdata()[0] < strip.get_x() + strip.get_width()
    assert axes.get_xlim()[0] == strip.get_x()
    (record,) = [line for line in axes.lines if line.get_gid() == "record"]
    assert list(record.get_xdata()) == [1, 1]
    assert [text.get_text() for text in axes.texts] == [percent(value) for _, (value,) in games]


def test_dots_show_every_value_of_every_agent(result: Result) -> None:
    agents = result.tables["agents"]
    figure = painted(figure_games.paint_games, agents)
    (axes,) = figure.axes
    dots = [x for line in axes.lines if line.get_gid() is None for x in line.get_xdata()]
    marks = [x for line in axes.lines if line.get_gid() == "off-scale" for x in line.get_xdata()]
    known = [row["hwrns"] for agent in agents for row in agent["games"] if row["hwrns"] is not None]
    assert sorted(dots) == pytest.approx(sorted(value for value in known if value > 0))
    # The random score itself, 0, and the scores below it.
    assert len(marks) == sum(value <= 0 for value in known) == 2
    (legend,) = figure.legends
    assert "zero, negative or below 10\xa0%" in [text.get_text() for text in legend.get_texts()]


def test_profiles_have_bands_only_where_there_are_intervals(result: Result) -> None:
    figure = painted(
        figures_overall.paint_profiles, result.tables["profiles"], result.tables["agents"]
    )
    (axes,) = figure.axes
    assert len(axes.collections) == 1
    curve = result.tables["profiles"]["curves"][1]["share"]
    assert list(axes.lines[1].get_ydata()) == curve


def test_efficiency_leaves_out_agents_of_unknown_frames(result: Result) -> None:
    figure = painted(figures_overall.paint_efficiency, result.tables["agents"])
    for axes, name in zip(figure.axes, ("mean", "median"), strict=True):
        (line,) = axes.lines
        value = result.tables["agents"][0]["aggregates"][f"hwrns_{name}"]["value"]
        assert (line.get_xdata()[0], line.get_ydata()[0]) == (200_000_000, value)


def test_improvement_is_read_by_row_against_column(result: Result) -> None:
    figure = painted(
        figures_overall.paint_improvement,
        result.tables["improvement"],
        result.tables["agents"],
    )
    (axes,) = figure.axes
    pair = result.tables["improvement"][0]
    assert (pair["x"], pair["y"]) == ("a", HOSTILE)
    (image,) = axes.images
    grid = image.get_array()
    assert grid is not None
    assert grid[0, 1] == pair["probability"]
    assert f"{100 * pair['probability']:.0f} %" in [text.get_text() for text in axes.texts]


def test_spread_apart_moves_as_little_as_will_do() -> None:
    spread = figures_overall.spread_apart
    assert spread([0, 5, 9], 1, -10) == [0, 5, 9]
    assert spread([3, 3], 1, -10) == [2.5, 3.5]
    assert spread([0, 0.2, 0.4, 9], 1, 0) == [0, 1, 2, 9]


def test_percent_labels_never_crowd_and_keep_the_record() -> None:
    from matplotlib.figure import Figure

    for floor in (1e-5, 1e-3, 0.1):
        for right in (2.0, 1e6):
            axes = Figure().add_subplot()
            axes.set_xscale("log")
            percent_decades(axes, LogRange(floor, floor, right))
            ticks = axes.get_xticks()
            assert 1.0 in ticks
            assert len(ticks) <= 7
            assert all(math.log10(tick).is_integer() for tick in ticks)


def test_aggregate_titles() -> None:
    assert aggregate_title("hwrns_iqm") == "IQM HWRNS"
    assert aggregate_title("chns_gap") == "optimality gap CHNS"
    assert aggregate_title("records_broken") == "world records broken"
