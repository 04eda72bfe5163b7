"""The names of graphs, as a user writes them. Standard library only: `--help` imports this."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlscale.core.errors import UserError, unknown_name

WeightsName = Literal["default", "uniform", "metropolis"]
FormName = Literal["plain", "lazy", "damped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One kind of graph.

    Args:
        pattern: Its name with a letter for the number, as in "lattice-K".
        about: One line on who listens to whom.
        weights: The rule its weights follow by default; "own" when it has weights that no rule
            may replace.
        least: The smallest number that may follow the dash; None when no number does.
        example: A number that works.
    """

    pattern: str
    about: str
    weights: Literal["uniform", "metropolis", "own"] = "uniform"
    least: int | None = None
    example: int = 0

    @property
    def stem(self) -> str:
        """The name without its number."""
        return self.pattern if self.least is None else self.pattern.rsplit("-", 1)[0]

    def named(self, number: int | None = None) -> str:
        """Return a full name, with the example for a number when none is given."""
        if self.least is None:
            return self.pattern
        return f"{self.stem}-{self.example if number is None else number}"


FAMILIES = (
    Family(pattern="complete", about="all others: one round is the exact mean"),
    Family(pattern="ring", about="the two neighbours on a circle"),
    Family(pattern="torus", about="four neighbours on a grid that wraps around"),
    Family(
        pattern="grid",
        about="up to four neighbours on a grid with edges",
        weights="metropolis",
    ),
    Family(pattern="exp", about="the ranks 1, 2, 4, ... before, one way"),
    Family(pattern="exp_sym", about="the ranks 1, 2, 4, ... before and after"),
    Family(pattern="hypercube", about="ranks that differ in one bit; a power of two of them"),
    Family(
        pattern="lattice-K",
        about="the K nearest on a circle, K even; from K = ranks - 1 on complete",
        least=2,
        example=4,
    ),
    Family(pattern="star", about="rank 0 and all others", weights="metropolis"),
    Family(pattern="onepeer", about="one rank a round: 1, then 2, then 4, ... before, one way"),
    Family(
        pattern="base-K",
        about="up to K - 1 ranks a round, so chosen that a period is the exact mean",
        weights="own",
        least=2,
        example=3,
    ),
    Family(
        pattern="equi-M",
        about="the ranks at M random distances before, one way",
        weights="own",
        least=1,
        example=4,
    ),
    Family(pattern="matching", about="a random partner, drawn anew each round"),
)
FILE_ABOUT = 'the edges in a text file, one a line: "0 1", "0 1 0.25", "0 > 1" for one way'
LISTING = "graphs are " + ", ".join([*(family.pattern for family in FAMILIES), "file:PATH"])


@dataclass(frozen=True, slots=True)
class GraphName:
    """What the name of a built-in graph says.

    Args:
        family: The kind of graph.
        number: What follows the dash; 0 where nothing does.
    """

    family: Family
    number: int = 0


def parse_name(name: str) -> GraphName | Path:
    """Return what a graph's name says; the path of file:PATH.

    Raises:
        UserError: No graph has that name, or its number is missing, too small or odd.
    """
    if name.startswith("file:"):
        if name == "file:":
            raise UserError("no file named after file:", "write file:PATH, as in file:my_edges.txt")
        return Path(name.removeprefix("file:"))
    stem, dash, tail = name.rpartition("-")
    for family in FAMILIES:
        if family.least is None and name == family.pattern:
            return GraphName(family)
        if family.least is not None and family.stem in (name, stem):
            return GraphName(family, _number(name, family, tail if dash else ""))
    number = int(tail) if re.fullmatch("[0-9]{1,9}", tail) else None
    choices = [family.named(number) for family in FAMILIES]
    raise unknown_name("graph", name, choices, listing=LISTING)


def _number(name: str, family: Family, text: str) -> int:
    """Return the number in a name."""
    hint = f"as in {family.named()}: {family.about}"
    if not re.fullmatch("[0-9]{1,9}", text):
        raise UserError(f"graph {name!r} needs a whole number after {family.stem}-", hint)
    number, least = int(text), family.least or 0
    if number < least:
        raise UserError(f"graph {name!r} needs at least {least} after {family.stem}-", hint)
    if family.stem == "lattice" and number % 2:
        near = f"{family.named(number - 1)} or {family.named(number + 1)}"
        raise UserError(f"graph {name!r} needs an even number of neighbours", f"take {near}")
    return number
