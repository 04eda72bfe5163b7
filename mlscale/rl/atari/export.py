"""Result tables as CSV, Markdown and LaTeX text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Cell: TypeAlias = str | int | float | None

_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results.

    Attributes:
        columns: Names of the columns.
        rows: Cells, one row per game; None is a missing value.
        footer: Cells of the aggregates, below a rule where the format has one.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    footer: tuple[tuple[Cell, ...], ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows + self.footer:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells for {len(self.columns)} columns: {row}")

    @classmethod
    def from_records(
        cls, records: Sequence[Mapping[str, Cell]], footer: Sequence[Mapping[str, Cell]] = ()
    ) -> Table:
        """Return the table of `records`, with a column for every key in order of appearance."""
        columns = tuple(dict.fromkeys(key for record in (*records, *footer) for key in record))

        def cells(some: Sequence[Mapping[str, Cell]]) -> tuple[tuple[Cell, ...], ...]:
            return tuple(tuple(record.get(name) for name in columns) for record in some)

        return cls(columns, cells(records), cells(footer))

    def numeric_columns(self) -> tuple[bool, ...]:
        """Return for each column whether it holds numbers and no text."""
        return tuple(
            any(cell is not None for cell in cells) and not any(isinstance(c, str) for c in cells)
            for cells in (
                [row[place] for row in self.rows + self.footer]
                for place in range(len(self.columns))
            )
        )


def to_csv(table: Table) -> str:
    """Return the table as CSV: floats at full precision, missing values blank."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in (table.columns, *table.rows, *table.footer):
        writer.writerow([_one_line(cell) if isinstance(cell, str) else cell for cell in row])
    return text.getvalue()


def to_markdown(table: Table, *, num_digits: int = 2) -> str:
    """Return the table as GitHub Markdown.

    Args:
        table: What to write.
        num_digits: Digits of floats after the point.
    """

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    rules = ["---:" if numeric else "---" for numeric in table.numeric_columns()]
    rows = [
        [_format(cell, num_digits, _MARKDOWN) for cell in row] for row in table.rows + table.footer
    ]
    names = [_escape_markdown(name) for name in table.columns]
    return "".join(line(cells) for cells in (names, rules, *rows))


def to_latex(table: Table, *, num_digits: int = 2) -> str:
    """Return the table as a LaTeX tabular with rules of the booktabs package.

    Args:
        table: What to write.
        num_digits: Digits of floats after the point.
    """

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    def body(rows: tuple[tuple[Cell, ...], ...]) -> list[str]:
        return [line([_format(cell, num_digits, _LATEX) for cell in row]) for row in rows]

    alignment = "".join("r" if numeric else "l" for numeric in table.numeric_columns())
    lines = [
        "% needs \\usepackage{booktabs}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        line([_escape_latex(name) for name in table.columns]),
        r"\midrule",
        *body(table.rows),
        *([r"\midrule", *body(table.footer)] if table.footer else []),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _format(cell: Cell, num_digits: int, style: _Style) -> str:
    if cell is None:
        return style.missing
    if isinstance(cell, str):
        return style.escape(cell)
    text = f"{abs(cell):,}" if isinstance(cell, int) else f"{abs(cell):,.{num_digits}f}"
    # A number that rounds to zero from below is no negative number.
    negative = cell < 0 and re.search("[1-9a-z]", text)
    return style.minus + text if negative else text


def _one_line(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*`<\[])", r"\\\1", _one_line(text))


def _escape_latex(text: str) -> str:
    return "".join(_LATEX_ESCAPES.get(letter, letter) for letter in _one_line(text))


@dataclass(frozen=True, slots=True)
class _Style:
    """How a format writes cells."""

    missing: str
    minus: str
    escape: Callable[[str], str]


_MARKDOWN = _Style(missing="-", minus="-", escape=_escape_markdown)
_LATEX = _Style(missing="--", minus="$-$", escape=_escape_latex)
