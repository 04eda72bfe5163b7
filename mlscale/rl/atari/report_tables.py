"""The tables of the Atari studies: for the report, and as CSV, Markdown and LaTeX.

Ratios stay ratios in CSV; what people read is in percent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mlscale.core.report.blocks import Column, SortableTable
from mlscale.rl.atari.export import Table

if TYPE_CHECKING:
    from mlscale.core.report.blocks import Cell
    from mlscale.rl.atari import export

Agent: TypeAlias = Mapping[str, Any]
Row: TypeAlias = Mapping[str, Any]

STATISTICS = {"mean": "mean", "median": "median", "iqm": "IQM", "gap": "optimality gap"}
SPECIAL = {
    "hwrns_clipped_mean": "mean HWRNS capped at 100 %",
    "records_broken": "world records broken",
    "atari57_median_predicted": "median HNS of 57 games, predicted",
}
PER_FRAMES = 1_000_000


def aggregate_title(name: str) -> str:
    """Return an aggregate's name in words: `hwrns_iqm` gives "IQM HWRNS"."""
    if name in SPECIAL:
        return SPECIAL[name]
    family, _, statistic = name.partition("_")
    return f"{STATISTICS[statistic]} {family.upper()}"


def is_count(name: str) -> bool:
    """Say whether an aggregate counts games; the others are ratios, read as percent."""
    return name == "records_broken"


def games_counted(agent: Agent, name: str) -> int:
    """Return how many games an aggregate is taken over."""
    by_human = name.startswith(("hns", "chns", "atari57"))
    return len(agent["hns_games"] if by_human else agent["record_games"])


def games_table(agents: Sequence[Agent]) -> SortableTable:
    """Return one row per game and agent."""
    several = len(agents) > 1
    rows = [(agent, row) for agent in agents for row in agent["games"]]
    fields = [field for field in _GAME_FIELDS if _has_any(field[1], rows)]
    agent_column = (Column("Agent"),) if several else ()
    return SortableTable(
        caption="Scores in game points, means over seeds; 100 % is the average human (HNS) or the "
        "human world record (HWRNS, SABER)",
        columns=(Column("Game"), *agent_column, *(column for column, _ in fields)),
        rows=tuple(
            (row["name"], *((agent["agent"],) if several else ()), *(get(row) for _, get in fields))
            for agent, row in rows
        ),
    )


def _has_any(get: Callable[[Row], Cell], rows: Sequence[tuple[Agent, Row]]) -> bool:
    return any(get(row) is not None for _, row in rows)


def _ends(row: Row) -> str | None:
    ends = row.get("ends")
    return ", ".join(f"{end} {count}" for end, count in ends.items()) if ends else None


_GAME_FIELDS: tuple[tuple[Column, Callable[[Row], Cell]], ...] = (
    (Column("Score", "number", 1), lambda row: row["score"]),
    (Column("HNS, %", "percent", help="(score - random) / (human - random)"), lambda r: r["hns"]),
    (
        Column("HWRNS, %", "percent", help="(score - random) / (record - random)"),
        lambda r: r["hwrns"],
    ),
    (Column("SABER, %", "percent", help="HWRNS clipped at 200 %"), lambda row: row["saber"]),
    (Column("Record", "number", 1), lambda row: row["record"]),
    (Column("Record broken", "yes_no"), lambda row: row["record_broken"]),
    (Column("Human", "number", 1), lambda row: row["human"]),
    (Column("Random", "number", 1), lambda row: row["random"]),
    (Column("Seeds", "number", 0), lambda row: row["seeds"]),
    (Column("Episodes", "number", 0), lambda row: row.get("episodes")),
    (Column("Frames", "number", 0), lambda row: row.get("frames")),
    (Column("Episodes ended by", "text"), _ends),
)


_AGENT_AGGREGATES = (
    "hwrns_mean",
    "hwrns_median",
    "hwrns_iqm",
    "saber_mean",
    "records_broken",
    "hns_mean",
    "hns_median",
)


def agents_table(agents: Sequence[Agent]) -> SortableTable:
    """Return one row per agent: its training, its main aggregates, its efficiency."""

    def cells(agent: Agent) -> tuple[Cell, ...]:
        known, efficiency = agent["aggregates"], agent["learning_efficiency"] or {}
        return (
            agent["agent"],
            *(known[name]["value"] if name in known else None for name in _AGENT_AGGREGATES),
            len(agent["record_games"]),
            agent["frames"] / PER_FRAMES if agent["frames"] else None,
            agent["game_days"],
            *(_scaled(efficiency.get(f"hwrns_{name}")) for name in ("mean", "median")),
            agent["origin"],
        )

    return SortableTable(
        caption="Agents. Learning efficiency is the aggregate divided by training frames",
        columns=(
            Column("Agent"),
            *(_aggregate_column(name) for name in _AGENT_AGGREGATES),
            Column("games with a record", "number", 0),
            Column("training frames, M", "number", 1),
            Column("game time, days", "number", 1, help="frames at 60 a second"),
            Column("mean HWRNS, % per 1M frames", "percent", 5),
            Column("median HWRNS, % per 1M frames", "percent", 5),
            Column("scores from"),
        ),
        rows=tuple(cells(agent) for agent in agents),
    )


def _scaled(per_frame: float | None) -> float | None:
    return None if per_frame is None else per_frame * PER_FRAMES


def _aggregate_column(name: str) -> Column:
    if is_count(name):
        return Column(aggregate_title(name), "number", 0)
    return Column(f"{aggregate_title(name)}, %", "percent")


def aggregates_table(agents: Sequence[Agent]) -> SortableTable:
    """Return one row per agent and aggregate, with its interval; counts apart from ratios."""
    several = len(agents) > 1
    rows = [
        (
            aggregate_title(name),
            *((agent["agent"],) if several else ()),
            *_ends_of(aggregate),
            games_counted(agent, name),
        )
        for agent in agents
        for name, aggregate in agent["aggregates"].items()
        if not is_count(name)
    ]
    return SortableTable(
        caption="Every aggregate over games, with its 95 % interval where there are enough seeds",
        columns=(
            Column("Aggregate"),
            *((Column("Agent"),) if several else ()),
            Column("value, %", "percent"),
            Column("from, %", "percent"),
            Column("to, %", "percent"),
            Column("games", "number", 0),
        ),
        rows=tuple(rows),
    )


def _ends_of(aggregate: Mapping[str, Any]) -> tuple[float, float | None, float | None]:
    low, high = aggregate["ci95"] or (None, None)
    return aggregate["value"], low, high


def aggregates_data(agents: Sequence[Agent]) -> export.Table:
    """Return every aggregate of every agent, ratios as ratios, for `aggregates.csv`."""
    return Table.from_records(
        [
            {
                "agent": agent["agent"],
                "aggregate": name,
                "value": aggregate["value"],
                "ci95_low": (aggregate["ci95"] or (None, None))[0],
                "ci95_high": (aggregate["ci95"] or (None, None))[1],
                "games": games_counted(agent, name),
            }
            for agent in agents
            for name, aggregate in agent["aggregates"].items()
        ]
    )


def games_data(agents: Sequence[Agent]) -> export.Table:
    """Return one row per agent and game, ratios as ratios: `mlscale atari score` reads it too."""
    measures = ("score", "random", "human", "record", "hns", "chns", "hwrns", "saber")
    return Table.from_records(
        [
            {"agent": agent["agent"], "game": row["game"], "num_runs": row["seeds"]}
            | {measure: row[measure] for measure in measures}
            | {"record_broken": _yes_or_no(row["record_broken"])}
            for agent in agents
            for row in agent["games"]
        ]
    )


def games_print(agents: Sequence[Agent]) -> export.Table:
    """Return one row per game, ratios in percent, for print; aggregates in the footer."""
    measures = ("score", "hns", "hwrns") if len(agents) == 1 else ("score", "hwrns")

    def header(agent: Agent, measure: str) -> str:
        name = _TITLES[measure]
        return f"{agent['agent']} {name}" if len(agents) > 1 else name

    records: dict[str, dict[str, Cell]] = {}
    for agent in agents:
        for row in agent["games"]:
            record = records.setdefault(
                row["game"],
                {"game": row["name"], **{key: row[key] for key in ("random", "human", "record")}},
            )
            for measure in measures:
                record[header(agent, measure)] = _in_percent(row[measure], measure)
    footer = [
        {"game": title}
        | {
            header(agent, measure): 100 * agent["aggregates"][f"{measure}_{name}"]["value"]
            for agent in agents
            for measure in measures
            if f"{measure}_{name}" in agent["aggregates"]
        }
        for name, title in STATISTICS.items()
    ]
    broken: dict[str, Cell] = {"game": "records broken (games)"} | {
        header(agent, "hwrns"): int(agent["aggregates"]["records_broken"]["value"])
        for agent in agents
        if "records_broken" in agent["aggregates"]
    }
    return Table.from_records(list(records.values()), [*footer, broken])


_TITLES = {"score": "score", "hns": "HNS %", "hwrns": "HWRNS %"}


def _in_percent(value: float | None, measure: str) -> float | None:
    return value if value is None or measure == "score" else 100 * value


def _yes_or_no(broken: bool | None) -> str | None:
    return None if broken is None else "yes" if broken else "no"
