"""What a report is made of. Plain data: `build.render` turns it into HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from mlscale.core.report import numbers

Cell: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A headline number, as text.

    Args:
        name: What it is.
        value: The number with its sign or percent.
        interval: Its 95 % interval, or nothing.
        n: Over what it is taken, as in "56 games".
        unit: What it counts.
    """

    name: str
    value: str
    interval: str = ""
    n: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        name: Its header, with the unit.
        kind: How cells are shown and sorted; "percent" cells are ratios shown times 100, without
            a sign since the header has it.
        digits: Digits after the point of numbers.
        help: What the column is, on hovering and to screen readers.
    """

    name: str
    kind: Literal["text", "number", "percent", "yes_no"] = "text"
    digits: int = 2
    help: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether cells are numbers, to sort by size and align right."""
        return self.kind in ("number", "percent")

    def show(self, cell: Cell) -> str:
        """Return a cell as it is read."""
        if cell is None:
            return numbers.MISSING
        if self.kind == "yes_no":
            return "yes" if cell else "no"
        if isinstance(cell, str):
            return cell
        return numbers.fixed(100 * cell if self.kind == "percent" else cell, self.digits)

    def sort_key(self, cell: Cell) -> str:
        """Return what a cell is sorted by: its full value, or nothing where it is missing."""
        if cell is None:
            return ""
        return repr(cell) if self.is_numeric else self.show(cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class SortableTable:
    """A table that sorts by a click on a header; long ones get a box to filter by.

    Args:
        caption: What the table holds.
        columns: Its columns.
        rows: One cell per column each; None is a missing value.
        filter_from: Rows from which on there is a filter box.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    filter_from: int = 12

    def __post_init__(self) -> None:
        """Check that the rows fit the columns."""
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells for {len(self.columns)} columns: {row}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureBlock:
    """A figure.

    Args:
        svg: A whole SVG document.
        caption: What it shows and how to read it.
        alt: The same in a few words, for those who cannot see it.
    """

    svg: str
    caption: str
    alt: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and their values, in words."""

    entries: Mapping[str, str]


Block: TypeAlias = SortableTable | FigureBlock | Facts


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole report.

    Args:
        title: The heading.
        status: "complete", or what went wrong.
        facts: The lines below the heading: study, seed, date, versions, command.
        notes: What was skipped, defaulted or approximated on the user's behalf.
        cards: Headline numbers.
        sections: The rest, in order.
        details: Documents of plain values by name, shown as JSON when opened.
    """

    title: str
    status: str = "complete"
    facts: Facts = field(default_factory=lambda: Facts({}))
    notes: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    sections: tuple[Section, ...] = ()
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
