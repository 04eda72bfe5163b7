"""What a plan means, in plain words; drawn from its rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALL_REDUCE = "all-reduce"
EVEN = 1e-9
"""Shares of all-reduce's bytes that differ by less are the same."""
MOST_NAMES = 2
"""Graphs that a sentence names beside one another."""


def verdict(rows: Sequence[Mapping[str, Any]], latency_us: float) -> list[str]:
    """Return what to take from the rows of one number of ranks, a sentence each.

    Args:
        rows: All-reduce's and those of the graphs, each with graph, bytes, share of all-reduce's
            bytes, ms, and the latency in us from which it is faster.
        latency_us: The latency that was asked about, in us.
    """
    by_name = {row["graph"]: row for row in rows}
    reduced = by_name[ALL_REDUCE]
    if reduced["n"] == 1:
        return ["One rank has nobody to send to."]
    judges = {"ring": _ring, "exp": _exp, "onepeer": _one_peer}
    sentences = [judge(by_name[name]) for name, judge in judges.items() if name in by_name]
    graphs = [row for row in rows if row["graph"] != ALL_REDUCE]
    return [*sentences, *_latency(graphs, reduced, latency_us)]


def megabytes(num_bytes: float) -> str:
    """Return bytes as megabytes with four digits, as in "204.5 MB"."""
    return f"{number(num_bytes / 1e6)} MB"


def microseconds(us: float) -> str:
    """Return a latency with its unit, as in "10 us" or "3.145 ms"."""
    return f"{number(us)} us" if us < 1000 else f"{number(us / 1000)} ms"


def number(value: float) -> str:
    """Return a number with four digits, more of a large one."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _ring(row: Mapping[str, Any]) -> str:
    return f"A static ring saves no bytes: {megabytes(row['bytes'])} a step, {_beside(row)}."


def _exp(row: Mapping[str, Any]) -> str:
    sent = megabytes(row["bytes"])
    if row["share"] > 1 + EVEN:
        return f"exp moves more bytes than all-reduce: {sent}, {_beside(row)}."
    return f"exp saves no bytes among so few ranks: {sent}, {_beside(row)}."


def _one_peer(row: Mapping[str, Any]) -> str:
    sent = megabytes(row["bytes"])
    if row["share"] > 1 - EVEN:
        return f"onepeer saves no bytes between two ranks: {sent}; among many it saves half."
    saved = f"{100 * (1 - row['share']):.0f} %"
    if saved == "50 %":
        return f"onepeer saves half of the bytes: {sent}."
    return f"onepeer saves {saved} of the bytes here, and half among many ranks: {sent}."


def _beside(row: Mapping[str, Any]) -> str:
    share = row["share"]
    if abs(share - 1) <= EVEN:
        return "as much as all-reduce"
    if share < 2:
        return f"{100 * (share - 1):.2g} % more than all-reduce"
    return f"{share:.3g} times all-reduce's"


def _latency(
    graphs: Sequence[Mapping[str, Any]], reduced: Mapping[str, Any], latency_us: float
) -> list[str]:
    """Say which graphs are faster at this latency, and from which the next would be."""
    faster = [row for row in graphs if row["ms"] < reduced["ms"]]
    others = [row for row in graphs if row["ms"] >= reduced["ms"]]
    by_latency = [row["graph"] for row in faster if row["faster_from_us"] > 0]
    listed = ", ".join(row["graph"] for row in faster) or "none"
    if faster and not others:
        listed = "every graph here"
    if by_latency:
        listed += f"; {_listed(by_latency)} by latency alone, not by bytes"
    times = f"{2 * (reduced['n'] - 1):,} times"
    waits = f"A message's latency counts {times} in all-reduce, once in gossip"
    if others:
        least_us = min(row["faster_from_us"] for row in others)
        names = [row["graph"] for row in others if row["faster_from_us"] == least_us]
        waits += f": above {microseconds(least_us)} {_listed(names)} would be faster too"
    return [
        f"Faster than all-reduce at {microseconds(latency_us)} a message: {listed}.",
        f"{waits}.",
    ]


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMES:
        return f"{names[0]} and {len(names) - 1} others"
    return " and ".join(names)
