"""What a benchmark found, in plain words and whichever way it came out; from its tables alone.

Every sentence that says "more", "less", "better" or "worse" has a 95 % interval that leaves out
zero behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlscale.decentral.bench_config import ADA
from mlscale.decentral.bench_summary import FEWEST_GRAPHS, baseline_of, difference, groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mlscale.decentral.bench_summary import Bootstrap

Row = dict[str, Any]
MINUS = "\N{MINUS SIGN}"


def verdicts(
    rows: Sequence[Row], correlated: Sequence[Row], how: Bootstrap
) -> list[dict[str, Any]]:
    """Return what to take from each group of graphs: topics and a sentence or two on each.

    Args:
        rows: As `cell_rows` returns them.
        correlated: As `correlations` returns them.
        how: How intervals are made.
    """
    found = []
    for (variant, n, algorithm), own in groups(rows):
        names = {"variant": variant, "n": n, "algorithm": algorithm}
        rhos = {
            row["measure"]: row
            for row in correlated
            if all(row[name] == value for name, value in names.items())
        }
        baseline = baseline_of(variant, n, rows)
        sentences = {
            "connections": _connections(own, rhos.get("neighbours"), how),
            "dispersion": _dispersion(own, rhos.get("gini")),
            "all-reduce": _against_baseline(own),
            ADA: _ada(own, baseline, how),
            "diverged": _diverged(rows, variant, n, algorithm),
        }
        told = {topic: sentence for topic, sentence in sentences.items() if sentence}
        found.append({**names, "sentences": told})
    return found


def points(value: float, digits: int = 2) -> str:
    """Return a difference of shares in percentage points with its sign, as in "+0.42"."""
    text = f"{abs(100 * value):.{digits}f}"
    if not any(digit in text for digit in "123456789"):
        return text
    return (MINUS if value < 0 else "+") + text


def plain(value: float, digits: int = 2) -> str:
    """Return a number with a sign where it is negative."""
    text = f"{abs(value):.{digits}f}"
    is_zero = not any(digit in text for digit in "123456789")
    return text if value >= 0 or is_zero else MINUS + text


def side(ci95: Sequence[float] | None) -> int | None:
    """Return on which side of zero an interval lies: 1, -1, or 0 for both; None without one."""
    if ci95 is None:
        return None
    return 1 if ci95[0] > 0 else -1 if ci95[1] < 0 else 0


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _rho(row: Row) -> str:
    ci95 = row["ci95"]
    interval = f" [{plain(ci95[0])}, {plain(ci95[1])}]" if ci95 else ", without an interval"
    seeds = _seeds(len(row["seeds"]))
    return f"rank correlation {plain(row['mean'])}{interval} over {row['graphs']} graphs, {seeds}"


def _points_of(found: Row) -> str:
    ci95 = found["ci95"]
    interval = f" [{points(ci95[0])}, {points(ci95[1])}]" if ci95 else " (no interval)"
    return f"{points(found['mean'])} points{interval}"


def _connections(own: Sequence[Row], rho: Row | None, how: Bootstrap) -> str:
    if rho is None:
        return _no_rank(own, "connections")
    words = {
        1: "More connections went with better accuracy",
        -1: "More connections went with worse accuracy",
        0: "Connections and accuracy show no link that these seeds can tell",
        None: "Too few seeds to tell whether connections and accuracy are linked",
    }
    said = f"{words[side(rho['ci95'])]}: {_rho(rho)}."
    ordered = sorted(own, key=lambda row: float(row["neighbours"]["mean"]))
    fewest, most = ordered[0], ordered[-1]
    between = difference(most, fewest, how)
    if between is None:
        return said
    return f"{said} {_linked(most)} less {_linked(fewest)}: {_points_of(between)}."


def _linked(row: Row) -> str:
    return f"{row['label']} (connections: {row['neighbours']['mean']:.3g})"


def _no_rank(own: Sequence[Row], measure: str) -> str:
    if len(own) < FEWEST_GRAPHS:
        return ""
    return f"No rank correlation: accuracy or {measure} were the same on all graphs."


def _dispersion(own: Sequence[Row], rho: Row | None) -> str:
    if rho is None:
        return _no_rank(own, "dispersion")
    words = {
        1: "Accuracy was better where replicas' norms differed more",
        -1: "Accuracy was worse where replicas' norms differed more",
        0: "Dispersion of norms and accuracy show no link that these seeds can tell",
        None: "Too few seeds to tell whether dispersion of norms and accuracy are linked",
    }
    return f"{words[side(rho['ci95'])]}: of gini, {_rho(rho)}."


def _against_baseline(own: Sequence[Row]) -> str:
    compared = [row for row in own if row["difference"] is not None]
    if not compared:
        return ""
    parts = []
    for where, words in (
        (-1, "Worse than all-reduce"),
        (1, "Better than all-reduce"),
        (0, "Not told apart from all-reduce by these seeds"),
        (None, "Beside all-reduce, with too few seeds for intervals"),
    ):
        named = [
            f"{row['label']} {_points_of(row['difference'])}"
            for row in compared
            if side(row["difference"]["ci95"]) == where
        ]
        if named:
            parts.append(f"{words}: {'; '.join(named)}.")
    return " ".join(parts)


def _ada(own: Sequence[Row], baseline: Row | None, how: Bootstrap) -> str:
    """Set Ada beside all-reduce, and beside the graph whose bytes are nearest to its own.

    That graph is chosen by its cost, not by its accuracy: the best of several would be favoured.
    """
    for ada in own:
        if ada["graph"] == ADA:
            break
    else:
        return ""
    num_bytes = ada["sent_bytes_per_step"]["mean"]
    parts = []
    if baseline is not None and ada["difference"] is not None:
        share = num_bytes / baseline["sent_bytes_per_step"]["mean"]
        parts.append(
            f"Ada against all-reduce: {_points_of(ada['difference'])} with {share:.2f} times its "
            "bytes."
        )
    others = [row for row in own if row is not ada]
    if others:
        near = min(others, key=lambda row: abs(row["sent_bytes_per_step"]["mean"] - num_bytes))
        against = difference(ada, near, how)
        if against is not None:
            times = num_bytes / near["sent_bytes_per_step"]["mean"]
            verdict = {
                1: "better",
                -1: "worse",
                0: "not told apart",
                None: "too few seeds to tell",
            }[side(against["ci95"])]
            parts.append(
                f"Against {near['label']}, whose bytes are nearest ({times:.2f} times as many): "
                f"{verdict}, {_points_of(against)}."
            )
    return " ".join(parts)


def _diverged(rows: Sequence[Mapping[str, Any]], variant: str, n: int, algorithm: str) -> str:
    named = [
        f"{row['label']} in {len(row['diverged'])} of "
        f"{len(row['diverged']) + len(row['seeds']) + len(row['unfinished'])} seeds"
        for row in rows
        if row["diverged"]
        and (row["variant"], row["n"]) == (variant, n)
        and row["algorithm"] in (algorithm, "allreduce")
    ]
    return f"{'; '.join(named)}. Means leave these out, which favours them." if named else ""
