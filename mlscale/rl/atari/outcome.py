"""The result of scoring some agents: tables, headline, notes and the report, made one way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.core.results import Result
from mlscale.rl.atari.scoring import (
    AgentRuns,
    conventions,
    headline_metrics,
    notes_on,
    score_agents,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.core.results import Status
    from mlscale.core.runs import Run
    from mlscale.rl.atari.config import Conventions
    from mlscale.rl.atari.records import Reference

UNEQUAL_PROTOCOLS = (
    "published tables come from unequal protocols (starts, caps, training frames): "
    "`mlscale atari agents` says which"
)


def outcome(
    run: Run,
    agents: Sequence[AgentRuns],
    config: Conventions,
    reference: Reference,
    *,
    title: str,
    protocol: Mapping[str, Any] | None = None,
    played: Mapping[str, Mapping[str, Any]] | None = None,
    status: Status = "complete",
) -> Result:
    """Score agents and return the result, its report written.

    Args:
        run: Told of what was left out; takes the report.
        agents: The agents, names all different.
        config: Conventions of the scores.
        reference: Random, human and record scores.
        title: Title of the report.
        protocol: How the episodes were played, where they were played here.
        played: By ROM id, what to add to the game's row.
        status: "failed" when some of the work is missing.

    Raises:
        UserError: An agent has no scores, or none that can be measured against anything.
    """
    run.reporter.progress(0, None, "scoring")
    tables = score_agents(agents, config, reference)
    for agent in tables["agents"]:
        for row in agent["games"]:
            row |= (played or {}).get(row["game"], {})
    for note in notes_on(tables, reference):
        run.note(note)
    result = Result(
        study=run.study,
        metrics=headline_metrics(tables),
        protocol={**(protocol or {}), **conventions(config, reference)},
        tables=tables,
        notes=tuple(
            f"{agent['agent']}: {caveat}"
            for agent in tables["agents"]
            for caveat in agent["caveats"]
        ),
        status=status,
    )
    if config.report and run.path is not None:
        from mlscale.rl.atari.report import write_report

        write_report(run, result, title=title)
    return result
