"""From a report's blocks to one HTML file that needs nothing but a browser."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import jinja2
from markupsafe import Markup

from mlscale.core import environment
from mlscale.core.config import to_dict
from mlscale.core.files import to_json
from mlscale.core.report.blocks import Card, Facts, FigureBlock, Report, Section, SortableTable
from mlscale.core.results import clean

if TYPE_CHECKING:
    from mlscale.core.results import Result
    from mlscale.core.runs import Run


def report_on(
    run: Run,
    result: Result,
    *,
    title: str,
    cards: tuple[Card, ...] = (),
    sections: tuple[Section, ...] = (),
) -> Report:
    """Return the report of a run: the study's own blocks between what every run can tell.

    Args:
        run: The run, for its configuration and notes.
        result: Its result, for status, notes and protocol.
        title: The heading.
        cards: The study's headline numbers.
        sections: The study's tables and figures.
    """
    config = to_dict(run.config)
    made_with = environment.describe(str(config.get("device", "cpu")))
    facts = {
        "study": result.study,
        "seed": str(config.get("seed", "")),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "versions": _versions(made_with),
        "command": str(made_with["command"]),
    }
    return Report(
        title=title,
        status=result.status,
        facts=Facts({name: text for name, text in facts.items() if text}),
        notes=tuple(dict.fromkeys((*run.notes, *result.notes))),
        cards=cards,
        sections=sections,
        details={"config": config, "protocol": result.protocol, "environment": made_with},
    )


def render(report: Report) -> str:
    """Return the report as one HTML document: no network, no other files."""
    script = _shipped("report.js")
    template = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(_shipped("report.html.jinja"))
    template.globals.update(
        data_uri=_data_uri,
        kind_of=_kind_of,
        json=lambda document: to_json(clean(document)),
    )
    return template.render(
        report=report,
        style=Markup(_shipped("report.css")),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        script_hash=_hash(script),
    )


def _kind_of(block: SortableTable | FigureBlock | Facts) -> str:
    return type(block).__name__


def _data_uri(svg: str) -> str:
    """Return an SVG as an image's address: as an image it can neither run scripts nor fetch."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _hash(script: str) -> str:
    """Return the hash by which the page allows its own script and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _shipped(name: str) -> str:
    return (importlib.resources.files(__package__) / name).read_text("utf-8")


def _versions(made_with: dict[str, object]) -> str:
    commit = str(made_with["git"])[:10]
    changed = " with changes" if made_with["dirty"] else ""
    own = f"mlscale {made_with['mlscale']}" + (f" ({commit}{changed})" if commit else "")
    return f"{own}, Python {made_with['python']}"
