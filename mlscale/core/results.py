"""What a study hands back: metrics with their intervals, tables, notes; one JSON schema for all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA = "mlscale.result/1"

Status = Literal["complete", "interrupted", "failed", "unfinished"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One measured number.

    Args:
        value: The number, or None where it could not be had.
        unit: What it counts, as in "record-normalised".
        n: How many independent values it summarises.
        ci95: Ends of the 95 % interval, or None where there is none.
    """

    value: float | None
    unit: str
    n: int
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of one run; `docs/results.md` describes the JSON it becomes.

    Args:
        study: The study's name, as in "atari.eval".
        metrics: Headline numbers by name.
        protocol: The conventions the numbers hold under.
        tables: The rest, study by study: per-game rows, per-agent rows, curves.
        notes: What was skipped, defaulted or approximated on the user's behalf.
        status: "failed" and "interrupted" results hold what was done; "unfinished" is written
            before the work, so a run that was killed still says so.
    """

    study: str
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    protocol: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    status: Status = "complete"


def to_document(
    result: Result,
    *,
    seed: int,
    config: Mapping[str, Any],
    artifacts: list[str],
    elapsed_s: float,
    environment: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the `result.json` document: plain values, every NaN or infinity as null.

    A complete result with a metric that is NaN or infinite has diverged: its status is "failed".
    """
    values = [metric.value for metric in result.metrics.values()]
    diverged = any(value is not None and not math.isfinite(value) for value in values)
    return {
        "schema": SCHEMA,
        "study": result.study,
        "status": "failed" if diverged and result.status == "complete" else result.status,
        "seed": seed,
        "config": clean(config),
        "protocol": clean(result.protocol),
        "metrics": {name: _metric(metric) for name, metric in result.metrics.items()},
        "tables": clean(result.tables),
        "notes": list(result.notes),
        "artifacts": artifacts,
        "elapsed_s": round(elapsed_s, 3),
        "environment": clean(environment),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    interval = list(metric.ci95) if metric.ci95 else None
    document = {"value": metric.value, "ci95": interval, "n": metric.n, "unit": metric.unit}
    cleaned: dict[str, Any] = clean(document)
    return cleaned


def clean(value: Any) -> Any:
    """Return `value` with NumPy scalars and arrays unpacked, tuples as lists, NaN as None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "items"):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value
