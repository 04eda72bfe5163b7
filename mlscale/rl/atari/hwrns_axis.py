"""The log axis of HWRNS that the Atari figures share: ratios as data, percent as labels."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlscale.core.figures import INK
from mlscale.core.report.numbers import tick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

SMALLEST = 1e-5
"""The least ratio a log axis is stretched for: 0.001 % of a record."""
HWRNS_AXIS = "HWRNS, % of the human world record (log scale)"


@dataclass(frozen=True, slots=True)
class LogRange:
    """A log axis with a strip at its left for what it cannot show.

    Args:
        left: Where the axis begins; less than `floor` when there is a strip.
        floor: The decade where the scale begins: smaller values go into the strip.
        right: Where the axis ends.
    """

    left: float
    floor: float
    right: float

    @classmethod
    def of(cls, values: Sequence[float]) -> LogRange:
        """Return the range that shows `values` and 1, the record."""
        shown = [value for value in values if value >= SMALLEST]
        # One decade below a value that is itself a power of ten, so that its bar has a length.
        floor = 10.0 ** (math.ceil(math.log10(min([*shown, 0.5])) - 1e-9) - 1)
        right = max([*shown, 1.0]) * 1.5
        has_strip = any(value < floor for value in values)
        width = 0.06 * math.log10(right / floor)
        return cls(floor / 10**width if has_strip else floor, floor, right)

    @property
    def has_strip(self) -> bool:
        """Whether there is a strip."""
        return self.left < self.floor

    @property
    def strip(self) -> float:
        """The middle of the strip."""
        return math.sqrt(self.left * self.floor)

    def place(self, value: float) -> float:
        """Return where a value is drawn: itself, or in the strip."""
        return value if value >= self.floor else self.strip


def record_line(axes: Axes) -> Any:
    """Draw the record and return its line of the legend."""
    from matplotlib.lines import Line2D

    axes.axvline(1.0, color=INK, linewidth=1.2, zorder=1.5, gid="record")
    return Line2D([], [], color=INK, linewidth=1.2, label="human world record")


def percent_decades(axes: Axes, span: LogRange) -> None:
    """Label powers of ten as percent, no more of them than fit."""
    first, last = round(math.log10(span.floor)), math.floor(math.log10(span.right))
    step = math.ceil((last - first + 1) / 7)
    # Counted from the record, so that it always has a label.
    exponents = [e for e in range(first, last + 1) if e % step == 0]
    axes.set_xticks([10.0**e for e in exponents], [tick(10.0**e) for e in exponents])
    minor = itertools.product(range(first, last + 1), range(2, 10))
    axes.set_xticks([m * 10.0**e for e, m in minor if m * 10.0**e <= span.right], minor=True)
    axes.xaxis.set_minor_formatter("")
