"""Terminal tables of the `mlscale atari` commands, drawn from the result document alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

Document = dict[str, Any]

BAR_WIDTH = 12
PREDICTED = "atari57"  # a family of its own, shown whatever the headline
FAMILIES = {
    "hwr": ("hwrns", "records", PREDICTED),
    "hns": ("hns", "chns", PREDICTED),
    "saber": ("saber", PREDICTED),
    "all": ("hwrns", "records", "saber", "hns", "chns", PREDICTED),
}
PER_GAME = {"hwr": "hwrns", "hns": "hns", "saber": "saber", "all": "hwrns"}
LABELS = {
    "hwrns": "HWRNS",
    "hns": "HNS",
    "chns": "CHNS",
    "saber": "SABER",
    "records": "records broken",
    PREDICTED: "Atari-57 median HNS, predicted",
}
STATISTICS = {"mean": "mean", "median": "median", "iqm": "IQM", "gap": "optimality gap"}
MAX_SIDE_BY_SIDE = 5
NUM_GAMES = 57


def draw_games(document: Document, console: Console) -> None:
    """Draw the games with their reference scores."""
    table = _table(
        "game", "ALE id", "random", "human", "record", right=("random", "human", "record")
    )
    for row in document["tables"]["games"]:
        table.add_row(
            row["name"],
            row["ale_id"],
            _points(row["random"]),
            _points(row["human"]),
            _points(row["record"]),
        )
    console.print(table)
    console.print(f"records: {document['protocol']['records']}", markup=False)
    console.print(str(document["protocol"]["references"]))


def draw_agents(document: Document, console: Console) -> None:
    """Draw the agents that can be played and the published ones."""
    table = _table("to play", "")
    for row in document["tables"]["runnable"]:
        table.add_row(row["agent"], row["description"])
    table.add_row("module:factory", "code of your own")
    table.add_row("FILE.pt2", "a torch.export program (--trust)")
    table.add_row("FILE.zip", "a Stable-Baselines3 policy (--trust, extra sb3)")
    console.print(table)
    console.print()
    table = _table("published", "games", "frames", "protocol", right=("games", "frames"))
    for row in document["tables"]["published"]:
        table.add_row(row["agent"], str(row["games"]), _frames(row["frames"]), row["protocol"])
    console.print(table)
    console.print("--json shows papers, sources and caveats", markup=False)


def draw_score(document: Document, console: Console) -> None:
    """Draw the scores of one agent or of several."""
    agents = document["tables"]["agents"]
    metric = document["config"]["metric"]
    if len(agents) == 1:
        _draw_one(agents[0], metric, console)
    else:
        _draw_several(document, agents, metric, console)
    _draw_conventions(document, console)


def draw_compare(document: Document, console: Console) -> None:
    """Draw agents side by side."""
    draw_score(document, console)


def draw_eval(document: Document, console: Console) -> None:
    """Draw an evaluation; when nothing could be played there is nothing to draw."""
    if "agents" in document["tables"]:
        draw_score(document, console)


def _draw_one(agent: dict[str, Any], metric: str, console: Console) -> None:
    """Draw an agent's games with a bar each, then its aggregates."""
    key = PER_GAME[metric]
    target = "human" if key == "hns" else "record"
    ends = f"{key}_ci95"
    rows = sorted(agent["games"], key=lambda row: (row[key] is None, -(row[key] or 0)))
    has_intervals = any(row.get(ends) for row in rows)
    columns = ["score", target, LABELS[key], *(["95 % interval"] if has_intervals else [])]
    width = BAR_WIDTH // 2 if has_intervals else BAR_WIDTH
    table = _table("game", *columns, f"0{'':{width - 2}}1", right=columns)
    for row in rows:
        cells = [_points(row["score"]), _points(row[target]), _percent(row[key])]
        if has_intervals:
            cells.append(_interval(key, row.get(ends)))
        table.add_row(row["name"], *cells, _bar(row[key], width))
    console.print(table)
    console.print()
    table = _table(agent["agent"], "value", "95 % interval", right=("value", "95 % interval"))
    for name, aggregate in agent["aggregates"].items():
        family, _, statistic = name.partition("_")
        if family in FAMILIES[metric] and statistic != "clipped_mean":
            table.add_row(
                _label(family, statistic),
                _aggregate(name, aggregate["value"], agent),
                _interval(name, aggregate["ci95"]),
            )
    efficiency = agent["learning_efficiency"]
    for name in ("hwrns_mean", "hns_mean"):
        if efficiency and name in efficiency and name.split("_")[0] in FAMILIES[metric]:
            label = f"{LABELS[name.split('_')[0]]} mean per frame"
            table.add_row(label, f"{efficiency[name]:.2e}", "")
    if agent["game_days"]:
        table.add_row("training, game time", _game_time(agent["game_days"]), "")
    console.print(table)


def _draw_several(
    document: Document, agents: list[dict[str, Any]], metric: str, console: Console
) -> None:
    """Draw the aggregates of all agents, their games side by side, and who beats whom."""
    names = [
        name
        for name in dict.fromkeys(name for agent in agents for name in agent["aggregates"])
        if name.split("_")[0] in FAMILIES[metric] and not name.endswith("clipped_mean")
    ]
    table = _agents_in_columns(agents, names)
    unbounded = console.options.update(max_width=10_000)
    if console.measure(table, options=unbounded).maximum <= console.width:
        console.print(table)
    else:
        _draw_agents_in_rows(agents, names, console)
    console.print()
    if len(agents) > MAX_SIDE_BY_SIDE:
        console.print("games side by side and P(X > Y): in the report and --json")
        return
    console.print(_side_by_side(agents, PER_GAME[metric]))
    console.print()
    console.print(_improvement(document["tables"]["improvement"]))


def _agents_in_columns(agents: list[dict[str, Any]], names: list[str]) -> Table:
    table = _table("", *(agent["agent"] for agent in agents), right=[a["agent"] for a in agents])
    table.add_row("games with a record", *(str(len(agent["record_games"])) for agent in agents))
    for name in names:
        family, _, statistic = name.partition("_")
        cells = []
        for agent in agents:
            aggregate = agent["aggregates"].get(name)
            interval = _interval(name, aggregate["ci95"]) if aggregate else ""
            cells.append(f"{_cell(agent, name)}\n{interval}" if interval else _cell(agent, name))
        table.add_row(_label(family, statistic), *cells)
    table.add_row("training frames", *(_frames(agent["frames"]) for agent in agents))
    return table


def _draw_agents_in_rows(agents: list[dict[str, Any]], names: list[str], console: Console) -> None:
    """Draw a table per metric with an agent a row: many agents fit no terminal side by side."""
    columns = ("games with a record", "training frames")
    table = _table("", *columns, right=columns)
    for agent in agents:
        games = str(len(agent["record_games"]))
        table.add_row(agent["agent"], games, _frames(agent["frames"]))
    console.print(table)
    for family in dict.fromkeys(name.split("_")[0] for name in names):
        own = [name for name in names if name.split("_")[0] == family]
        titles = [STATISTICS.get(name.split("_")[1], LABELS[family]) for name in own]
        table = _table("" if family == "records" else LABELS[family], *titles, right=titles)
        for agent in agents:
            table.add_row(agent["agent"], *(_cell(agent, name) for name in own))
        console.print()
        console.print(table)
    if any(agent["num_resamples"] for agent in agents):
        console.print("too narrow here for the intervals; --json and the report have them")


def _cell(agent: dict[str, Any], name: str) -> str:
    aggregate = agent["aggregates"].get(name)
    return _aggregate(name, aggregate["value"], agent) if aggregate else "-"


def _side_by_side(agents: list[dict[str, Any]], key: str) -> Table:
    games: dict[str, str] = {}
    values: dict[tuple[str, str], float | None] = {}
    for agent in agents:
        for row in agent["games"]:
            games[row["game"]] = row["name"]
            values[row["game"], agent["agent"]] = row[key]
    names = [agent["agent"] for agent in agents]
    table = _table(LABELS[key], *names, right=names)
    for game in sorted(games):
        row = [values.get((game, name)) for name in names]
        known = [value for value in row if value is not None]
        best = max(known) if known else None
        cells = [
            Text(_percent(value), style="bold" if value is not None and value == best else "")
            for value in row
        ]
        table.add_row(games[game], *cells)
    return table


def _improvement(rows: list[dict[str, Any]]) -> Table:
    title = "P(X > Y)"
    table = _table("X", "Y", "games", title, "95 % interval", right=("games", title))
    for row in rows:
        probability = row["probability"]
        shown = "-" if probability is None else f"{probability:.3f}"
        interval = f"{row['ci95'][0]:.3f} to {row['ci95'][1]:.3f}" if row["ci95"] else ""
        table.add_row(row["x"], row["y"], str(row["num_games"]), shown, interval)
    return table


def _draw_conventions(document: Document, console: Console) -> None:
    """Say which list, clip and ties rule the numbers hold under, and which games count."""
    protocol = document["protocol"]
    agents = document["tables"]["agents"]
    if "sticky_prob" in protocol:
        actions = "all 18 actions" if protocol["full_actions"] else "the game's own actions"
        console.print(
            f"protocol {protocol['name']}: sticky {protocol['sticky_prob']}, {actions}, "
            f"cap {protocol['max_frames']:,} frames"
            + (f", stuck after {protocol['stuck_frames']:,}" if protocol["stuck_frames"] else ""),
            markup=False,
        )
    clip = "at 200 %" if protocol["saber_clip"] == "upper" else "to 0..200 %"
    ties = "count as broken" if protocol["ties"] == "count" else "do not count"
    console.print(f"records {protocol['records']}; SABER clipped {clip}; ties {ties}", markup=False)
    for agent in agents:
        console.print(f"games counted, {agent['agent']}: {_counted(agent)}", markup=False)


def _counted(agent: dict[str, Any]) -> str:
    """Say which games count, by name: those that do or, of many, those that do not."""
    names = [row["game"] for row in agent["games"]]
    counted = agent["record_games"]
    text = f"{len(counted)} for records, {len(agent['hns_games'])} for HNS"
    left_out = f"no record: {', '.join(agent['without_record'])}" if agent["without_record"] else ""
    if len(names) == NUM_GAMES:
        return f"{text}; all {NUM_GAMES}" + (f", {left_out}" if left_out else "")
    missing = NUM_GAMES - len(names)
    listed = ", ".join(names) if len(names) <= missing else f"all but {_missing(names)}"
    return f"{text}; {listed}" + (f" ({left_out})" if left_out else "")


def _missing(names: list[str]) -> str:
    from mlscale.rl.atari.games import all_games

    return ", ".join(game.rom_id for game in all_games() if game.rom_id not in names)


def _table(*columns: str, right: tuple[str, ...] | list[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            Text(column), justify="right" if column in right else "left", overflow="fold"
        )
    return table


def _label(family: str, statistic: str) -> str:
    if family in ("records", PREDICTED):
        return LABELS[family]
    return f"{LABELS[family]} {STATISTICS[statistic]}"


def _aggregate(name: str, value: float | None, agent: dict[str, Any]) -> str:
    if name == "records_broken":
        return f"{value:.0f} of {len(agent['record_games'])}"
    return _percent(value)


def _interval(name: str, bounds: list[float] | None) -> str:
    if not bounds:
        return ""
    if name == "records_broken":
        return f"{bounds[0]:.0f} to {bounds[1]:.0f}"
    low, high = (round(100 * bound, 1) + 0.0 for bound in bounds)  # no minus before a zero
    return f"{low:,.1f} to {high:,.1f} %"


def _points(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{round(100 * value, 1) + 0.0:,.1f} %"


def _frames(frames: float | None) -> str:
    if not frames:
        return "-"
    for scale, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if frames >= scale:
            return f"{frames / scale:g}{unit}"
    return f"{frames:g}"


def _game_time(days: float) -> str:
    return f"{days:.1f} days" if days < 365 else f"{days / 365:.1f} years"


def _bar(value: float | None, width: int) -> Text:
    """Return a bar from 0 to the record, a star where it is reached."""
    if value is None:
        return Text("")
    eighths = round(min(max(value, 0.0), 1.0) * width * 8)
    full, part = divmod(eighths, 8)
    bar = "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")
    if value >= 1:
        return Text(bar + " *", style="green")
    return Text(bar, style="cyan" if value > 0 else "")
