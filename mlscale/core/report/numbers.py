"""Numbers as people read them: thousands apart, a true minus, percent from ratios."""

from __future__ import annotations

import math
import re

MISSING = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"
_SPACE = "\N{NO-BREAK SPACE}"


def fixed(value: float | None, digits: int = 2) -> str:
    """Return `value` with `digits` digits after the point; a missing or NaN one as a dash."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{abs(value):,.{digits}f}"
    # A number that rounds to zero from below is no negative number.
    return _MINUS + text if value < 0 and re.search("[1-9]", text) else text


def significant(value: float | None, digits: int = 3) -> str:
    """Return `value` with `digits` significant digits, or all of its whole ones."""
    if value is None or not math.isfinite(value) or value == 0:
        return fixed(value, 0)
    leading = math.floor(math.log10(abs(value)))
    return fixed(value, max(0, digits - 1 - leading))


def percent(ratio: float | None, digits: int = 3) -> str:
    """Return a ratio as percent with `digits` significant digits: 0.0465 gives "4.65 %"."""
    if ratio is None or not math.isfinite(ratio):
        return MISSING
    return f"{significant(100 * ratio, digits)}{_SPACE}%"


def tick(ratio: float) -> str:
    """Return a ratio as percent without idle zeros, for axes: 0.001 gives "0.1 %"."""
    text = f"{abs(100 * ratio):,.10f}".rstrip("0").rstrip(".")
    return f"{_MINUS if ratio < 0 and text != '0' else ''}{text}{_SPACE}%"


def compact(count: float | None) -> str:
    """Return a large count in thousands, millions, ...: 200,000,000 gives "200M"."""
    if count is None or not math.isfinite(count):
        return MISSING
    for size, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= size:
            return f"{count / size:,.3g}{suffix}"
    return f"{count:.3g}"
