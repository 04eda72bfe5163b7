"""Graphs of one's own: text files with one edge a line.

# ranks 0 to 3
0 1          both ways
1 2 0.25     with a weight, the same both ways
2 > 3        one way: 2 sends to 3
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.connected import check_connected
from mlscale.decentral.graphs.links import Links
from mlscale.decentral.graphs.mixing import TOLERANCE, Mixing, Periodic
from mlscale.decentral.graphs.weights import metropolis, uniform

if TYPE_CHECKING:
    from pathlib import Path

    from mlscale.decentral.graphs.names import WeightsName

FORMS = 'write "0 1", "0 1 0.25" with a weight, or "0 > 1" when 0 sends to 1 only'
LINE = re.compile(r"([+-]?[0-9]{1,9})(?:\s*(>)\s*|\s+)([+-]?[0-9]{1,9})(?:\s+(\S+))?")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Edge:
    """One line.

    Args:
        one: A rank; the sender when the edge is one way.
        other: Another; the receiver.
        one_way: Whether only `one` sends.
        weight: What the receiver gives it (both, when it is both ways); None for a rule's.
    """

    one: int
    other: int
    one_way: bool = False
    weight: float | None = None

    @property
    def links(self) -> list[tuple[int, int]]:
        """The pairs (receiver, sender)."""
        forward = (self.other, self.one)
        return [forward] if self.one_way else [forward, (self.one, self.other)]


def read_graph(path: Path, num_ranks: int, weights: WeightsName = "default") -> Periodic:
    """Return the graph in a file.

    Weights given in the file leave the rest of every rank's weight to its own value. Without any,
    the default is Metropolis's where all links are both ways, which keeps the mean, and uniform
    where not, which does not.

    Args:
        path: The file.
        num_ranks: Ranks it is for.
        weights: The rule for edges without weights.

    Raises:
        UserError: The file cannot be read, a line is wrong, or the graph falls into parts.
    """
    edges = parse_edges(_read(path), num_ranks, str(path))
    name = f"file:{path}"
    given = [edge.weight is not None for edge in edges]
    if any(given):
        if weights != "default":
            raise UserError(
                f"{path} gives its own weights, so the {weights} rule has nothing to do",
                "leave the rule out, or the weights in the file",
            )
        mixing = _given(edges, num_ranks)
    else:
        pairs = [pair for edge in edges for pair in edge.links]
        links = Links.of(num_ranks, [to for to, _ in pairs], [sender for _, sender in pairs])
        symmetric = weights == "metropolis" or (weights == "default" and links.is_symmetric)
        mixing = metropolis(links, name) if symmetric else uniform(links)
    graph = Periodic(name, (mixing,))
    check_connected(graph)
    return graph


def parse_edges(text: str, num_ranks: int, file: str) -> list[Edge]:
    """Return the edges in a text, in its order.

    Args:
        text: One edge a line; `#` begins a comment.
        num_ranks: Ranks there are, from 0.
        file: Its name, for errors.

    Raises:
        UserError: A line is malformed, or names an unknown rank, a rank and itself, or an edge
            that was there before; a weight is not above 0, is missing where others are given, or
            leaves a rank less than nothing for its own value.
    """
    edges: list[Edge] = []
    line_of: dict[tuple[int, int], int] = {}
    totals = [0.0] * num_ranks
    for line, written in enumerate(text.split("\n"), start=1):
        content = written.partition("#")[0].strip()
        if not content:
            continue
        where = f"{file}, line {line}"
        edge = _parse_line(content, num_ranks, where)
        if edges and (edge.weight is None) != (edges[0].weight is None):
            raise UserError(
                f"{where}: some edges have weights and some have none", "give all of them, or none"
            )
        for receiver, sender in edge.links:
            if (receiver, sender) in line_of:
                earlier = line_of[receiver, sender]
                raise UserError(
                    f"{where}: {sender} sends to {receiver} already on line {earlier}",
                    "name every edge once; without > it goes both ways",
                )
            line_of[receiver, sender] = line
            totals[receiver] += edge.weight or 0.0
            if totals[receiver] > 1 + TOLERANCE:
                raise UserError(
                    f"{where}: the weights that rank {receiver} gives others add up to "
                    f"{totals[receiver]:.6g}, so its row cannot sum to 1",
                    "what they leave of 1 is a rank's own weight; make them smaller",
                )
        edges.append(edge)
    return edges


def format_edges(edges: list[Edge]) -> str:
    """Return the text whose edges are the given ones."""
    lines = []
    for edge in edges:
        arrow = " > " if edge.one_way else " "
        weight = "" if edge.weight is None else f" {edge.weight!r}"
        lines.append(f"{edge.one}{arrow}{edge.other}{weight}\n")
    return "".join(lines)


def _parse_line(content: str, num_ranks: int, where: str) -> Edge:
    """Return the edge of a line without its comment."""
    match = LINE.fullmatch(content)
    if match is None:
        shown = content if len(content) <= 40 else content[:40] + "..."
        raise UserError(f"{where}: not an edge: {shown!r}", FORMS)
    one, arrow, other, weight = match.groups()
    for rank in (int(one), int(other)):
        if not 0 <= rank < num_ranks:
            raise UserError(
                f"{where}: there is no rank {rank} among {num_ranks}",
                f"ranks are numbered from 0 to {num_ranks - 1}",
            )
    if int(one) == int(other):
        raise UserError(
            f"{where}: rank {int(one)} is linked to itself",
            "leave the line out: every rank keeps what its edges leave of its weight",
        )
    return Edge(int(one), int(other), arrow is not None, _parse_weight(weight, where))


def _parse_weight(text: str | None, where: str) -> float | None:
    """Return a weight, None where there is none."""
    if text is None:
        return None
    if not NUMBER.fullmatch(text):
        raise UserError(f"{where}: not a weight: {text[:40]!r}", FORMS)
    weight = float(text)
    if weight < 0:
        raise UserError(f"{where}: the weight {text} is negative", "weights lie above 0, up to 1")
    if weight == 0 or not math.isfinite(weight):
        raise UserError(
            f"{where}: the weight {text} is out of range",
            "weights lie above 0, up to 1; leave an edge of weight 0 out",
        )
    return weight


def _given(edges: list[Edge], num_ranks: int) -> Mixing:
    """Return the round with the weights of the file."""
    rows: list[list[tuple[int, float]]] = [[] for _ in range(num_ranks)]
    for edge in edges:
        for receiver, sender in edge.links:
            rows[receiver].append((sender, edge.weight or 0.0))
    for rank, row in enumerate(rows):
        own = 1 - math.fsum(weight for _, weight in row)
        row.append((rank, own if abs(own) > TOLERANCE else 0.0))
    return Mixing.from_rows(rows)


def _read(path: Path) -> str:
    """Return the text of a file, its ends of lines as newlines."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror or error}", "name a file of edges: file:PATH"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text", FORMS) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")
