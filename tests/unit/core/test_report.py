"""Reports: self-contained, well-formed, escaped, with the numbers they were given."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from html.parser import HTMLParser

import pytest

from mlscale.core.report import numbers
from mlscale.core.report.blocks import (
    Card,
    Column,
    Facts,
    FigureBlock,
    Report,
    Section,
    SortableTable,
)
from mlscale.core.report.build import render, report_on
from mlscale.core.results import Result
from mlscale.core.runs import Run

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"
HOSTILE = "<script>alert('x')</script>\"' onload=alert(1) {{ 7 * 7 }}"
SVG = f"<svg xmlns='http://www.w3.org/2000/svg'><text>{HOSTILE}</text></svg>"
TABLE = SortableTable(
    caption=HOSTILE,
    columns=(
        Column("Name", help=HOSTILE),
        Column("Points", "number", 1),
        Column("Share, %", "percent"),
        Column("Won", "yes_no"),
    ),
    rows=((HOSTILE, 1234.56, 0.123456789, True), ("b", None, -0.000001, None)),
    filter_from=2,
)
REPORT = Report(
    title=HOSTILE,
    status="failed",
    facts=Facts({"command": HOSTILE}),
    notes=(HOSTILE,),
    cards=(Card(name=HOSTILE, value="1", interval="0 to 2", n=HOSTILE, unit="points"),),
    sections=(
        Section(
            HOSTILE,
            (TABLE, FigureBlock(svg=SVG, caption=HOSTILE, alt=HOSTILE), Facts({HOSTILE: HOSTILE})),
        ),
    ),
    details={"config": {HOSTILE: [HOSTILE, float("nan")]}},
)
VOID = {"meta", "link", "input", "img", "br"}


class Page(HTMLParser):
    """Collects what a page holds, refusing tags that do not close in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"{tag} names an attribute twice"
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append((dict(attrs)["data-sort"] or "", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["td"]:
            self.cells[-1] = (self.cells[-1][0], data)
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    return render(REPORT)


def test_hostile_names_stay_text(page: str) -> None:
    assert "alert(&#39;x&#39;)" in page
    assert "{{ 7 * 7 }}" in page
    assert page.count("<script") == 1
    assert not [tag for tag, attrs in Page(page).tags if any(k.startswith("on") for k in attrs)]


def test_the_page_fetches_nothing(page: str) -> None:
    addresses = [
        value or ""
        for _, attrs in Page(page).tags
        for name, value in attrs.items()
        if name in ("src", "href", "srcset", "action", "data", "poster")
    ]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)
    assert not re.search(r"https?://|url\(|@import", page)
    assert "default-src 'none'" in page


def test_only_the_pages_own_script_may_run(page: str) -> None:
    import hashlib

    (script,) = Page(page).scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = next(a["content"] for t, a in Page(page).tags if t == "meta" and "http-equiv" in a)
    assert f"script-src 'sha256-{digest}'" in (policy or "")


def test_the_figure_is_inside_the_page(page: str) -> None:
    (image,) = [attrs for tag, attrs in Page(page).tags if tag == "img"]
    assert base64.b64decode((image["src"] or "").partition(",")[2]).decode() == SVG
    assert image["alt"] == HOSTILE


def test_cells_show_rounded_and_sort_by_full_values(page: str) -> None:
    assert Page(page).cells == [
        ("1234.56", "1,234.6"),
        ("0.123456789", "12.35"),
        ("yes", "yes"),
        ("", DASH),
        ("-1e-06", "0.00"),
        ("", DASH),
    ]


def test_headers_are_buttons_and_long_tables_have_a_filter(page: str) -> None:
    tags = [tag for tag, _ in Page(page).tags]
    assert tags.count("button") == 4
    assert tags.count("input") == 1
    short = Report(
        title="t",
        sections=(Section("s", (SortableTable(caption="c", columns=(Column("a"),), rows=()),)),),
    )
    assert "<input" not in render(short)


def test_what_is_empty_leaves_no_trace() -> None:
    page = render(Report(title="only a title"))
    assert [tag for tag, _ in Page(page).tags if tag in ("h2", "details", "ul", "table")] == []
    assert "Status: " not in page


def test_a_failed_run_says_so(page: str) -> None:
    assert "Status: failed. The numbers below cover what was done." in page


def test_rows_must_fit_the_columns() -> None:
    with pytest.raises(ValueError, match="2 cells for 1 columns"):
        SortableTable(caption="c", columns=(Column("a"),), rows=(("x", "y"),))


@dataclass(frozen=True)
class Config:
    seed: int = 7
    device: str = "cpu"


def test_report_on_tells_of_the_run() -> None:
    run = Run("atari.score", Config())
    run.note("first")
    result = Result(study="atari.score", protocol={"ties": "count"}, notes=("first", "second"))
    report = report_on(run, result, title="t")
    assert report.facts.entries["study"] == "atari.score"
    assert report.facts.entries["seed"] == "7"
    assert report.notes == ("first", "second")
    assert report.details["config"] == {"seed": 7, "device": "cpu"}
    assert report.details["protocol"] == {"ties": "count"}
    assert report.details["environment"]["device"] == "cpu"
    Page(render(report))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (numbers.fixed(-1234.567), f"{MINUS}1,234.57"),
        (numbers.fixed(-0.001), "0.00"),
        (numbers.fixed(None), DASH),
        (numbers.fixed(float("nan")), DASH),
        (numbers.significant(1234.5), "1,234"),
        (numbers.significant(0.0), "0"),
        (numbers.percent(0.04651), "4.65\xa0%"),
        (numbers.percent(1.26), "126\xa0%"),
        (numbers.percent(-0.05), f"{MINUS}5.00\xa0%"),
        (numbers.percent(None), DASH),
        (numbers.tick(0.001), "0.1\xa0%"),
        (numbers.tick(10.0), "1,000\xa0%"),
        (numbers.tick(-0.5), f"{MINUS}50\xa0%"),
        (numbers.compact(200_000_000), "200M"),
        (numbers.compact(10_000_000_000), "10B"),
        (numbers.compact(400_000), "400k"),
        (numbers.compact(12), "12"),
        (numbers.compact(None), DASH),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert text == expected
