"""Figures in one style: drawn without a display, saved as SVG and PNG, the same bytes every time.

A study writes functions that paint on a `matplotlib.figure.Figure`; `draw` sets the style, lays
the figure out, saves it in the run directory and returns the SVG for the report. pyplot, with its
global list of figures, is never imported.
"""

from __future__ import annotations

import io
import itertools
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlscale.core.runs import Run

WIDTH_IN = 7.2
"""As wide as a report's text, so that text in figures is about as large as text around them."""
PNG_DPI = 160

INK = "#222222"
MUTED = "#666666"
FAINT = "#d9d9d9"
PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#b8860b",
    "#56b4e9",
    "#555555",
    "#7a3e9d",
)
"""Okabe and Ito's colours, told apart by colour-blind readers too; the yellows are darkened so
that they show on white."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
DASHES = ("-", "--", "-.", ":")

STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "figure.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    # Names come from users: a dollar sign in one starts no formula.
    "text.parse_math": False,
    # Text stays text: smaller files, and glyphs that the shipped font lacks.
    "svg.fonttype": "none",
    "svg.hashsalt": "mlscale",
}


class Look(NamedTuple):
    """How one series is drawn: told apart by colour, and by shape or dashes without colour."""

    color: str
    marker: str
    dashes: str


def look(k: int) -> Look:
    """Return the look of the k-th series; it is the same in every figure of a report."""
    return Look(
        PALETTE[k % len(PALETTE)],
        MARKERS[(k + k // len(PALETTE)) % len(MARKERS)],
        DASHES[k % len(DASHES)],
    )


def short(name: str, limit: int = 30) -> str:
    """Return a name as a label: one line, cut to `limit` letters, never hidden by matplotlib."""
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return f"\u200a{line}" if line.startswith("_") else line


def draw(
    run: Run,
    name: str,
    paint: Callable[[Figure], None],
    *,
    height_in: float,
    width_in: float = WIDTH_IN,
) -> str:
    """Draw a figure, write `figures/NAME.svg` and `figures/NAME.png`, return the SVG text.

    Args:
        run: Whose directory the files go to; without a directory nothing is written.
        name: The file's stem.
        paint: Puts axes and artists on the empty figure.
        height_in: Height in inches.
        width_in: Width in inches.
    """
    from matplotlib.figure import Figure

    with styled():
        figure = Figure(figsize=(width_in, height_in), layout="constrained")
        paint(figure)
        _lay_out(figure)
        svg = _saved(figure, format="svg", metadata={"Date": None, "Creator": None})
        png = _saved(figure, format="png", dpi=PNG_DPI, metadata={"Software": None})
    run.write(f"figures/{name}.svg", svg)
    run.write(f"figures/{name}.png", png)
    return svg.decode()


@contextmanager
def styled() -> Iterator[None]:
    """Set mlscale's style, whatever the user's matplotlibrc says, and put the old one back."""
    import matplotlib as mpl

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def add_legend(figure: Figure, handles: list[Any]) -> None:
    """Put a legend above all axes, where it covers no data, in as many columns as fit."""
    labels = [handle.get_label() for handle in handles]
    figure.legend(
        handles=handles,
        labels=labels,
        loc="outside upper left",
        ncols=_legend_columns([len(label) for label in labels], figure.get_figwidth()),
        handletextpad=0.5,
        columnspacing=1.4,
    )


def _legend_columns(lengths: list[int], width_in: float) -> int:
    """Return the most columns whose longest labels, in letters, fit beside one another."""
    for columns in range(len(lengths), 1, -1):
        size, larger = divmod(len(lengths), columns)
        starts = [k * size + min(k, larger) for k in range(columns + 1)]
        longest = [max(lengths[i:j]) for i, j in itertools.pairwise(starts)]
        if sum(0.56 + 0.077 * length for length in longest) <= width_in:
            return columns
    return 1


def bare(axes: Axes, *, grid: str | None = None) -> None:
    """Take the frame and tick marks off, with grid lines of one axis (`x`, `y`) or none."""
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    if grid == "x":
        axes.grid(visible=True, axis="x")
    elif grid == "y":
        axes.grid(visible=True, axis="y")


def _lay_out(figure: Figure) -> None:
    """Place the axes once, so that the SVG and the PNG agree and the work is done once."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine("none")


def _saved(figure: Figure, **options: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, **options)
    return file.getvalue()
