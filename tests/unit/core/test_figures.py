"""Figures: one style, the same bytes every time, names as they are."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from mlscale.core.figures import MARKERS, PALETTE, STYLE, _legend_columns, draw, look, short, styled
from mlscale.core.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Config:
    seed: int = 0


def paint(figure: Figure) -> None:
    axes = figure.add_subplot()
    axes.plot([1, 2], [3, 4], marker="o")
    axes.set_title("a $5 <b> & $x_1$ $ \N{HANGUL SYLLABLE HAN}")


def test_a_figure_is_saved_twice_and_returned(tmp_path: Path) -> None:
    run = Run("test", Config(), tmp_path)
    svg = draw(run, "curve", paint, height_in=2)
    assert run.artifacts == ["figures/curve.svg", "figures/curve.png"]
    assert (tmp_path / "figures/curve.svg").read_text("utf-8") == svg
    assert (tmp_path / "figures/curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_figure_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw(Run("test", Config(), tmp_path / name), "curve", paint, height_in=2)
    for file in ("figures/curve.svg", "figures/curve.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert "<dc:date>" not in (tmp_path / "a/figures/curve.svg").read_text("utf-8")


def test_names_are_drawn_as_text_whatever_they_hold() -> None:
    svg = draw(Run("test", Config()), "curve", paint, height_in=2)
    texts = [element.text for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert "a $5 <b> & $x_1$ $ \N{HANGUL SYLLABLE HAN}" in texts


def test_the_users_style_neither_shows_nor_is_lost() -> None:
    import matplotlib as mpl

    had_pyplot = "matplotlib.pyplot" in sys.modules
    plain = draw(Run("test", Config()), "curve", paint, height_in=2)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        assert draw(Run("test", Config()), "curve", paint, height_in=2) == plain
        assert mpl.rcParams["font.size"] == 30
    with styled():
        assert mpl.rcParams["svg.hashsalt"] == STYLE["svg.hashsalt"]
    assert ("matplotlib.pyplot" in sys.modules) is had_pyplot


def test_looks_differ_and_stay_apart_when_colours_repeat() -> None:
    assert look(3) == look(3)
    looks = [look(k) for k in range(len(PALETTE) * len(MARKERS))]
    assert len({(one.color, one.marker) for one in looks}) == len(looks)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("rainbow", "rainbow"),
        ("two\nlines\x07", "two lines"),
        ("x" * 40, "x" * 29 + "…"),
        ("_hidden", "\u200a_hidden"),
    ],
)
def test_short(name: str, label: str) -> None:
    assert short(name) == label


def test_legend_columns_are_as_many_as_fit() -> None:
    assert _legend_columns([5, 5, 5], 7.2) == 3
    assert _legend_columns([30, 30, 30], 7.2) == 2
    assert _legend_columns([90, 90], 7.2) == 1
