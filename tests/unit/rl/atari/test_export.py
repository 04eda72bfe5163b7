"""Tables as text."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlscale.rl.atari.export import Table, to_csv, to_latex, to_markdown

TABLE = Table(
    columns=("game", "a_1", "frames"),
    rows=(("Q*bert", 0.125, 200_000_000), ("Tom & Jerry|50%", None, -3)),
    footer=(("mean", -1234.567, None),),
)


def test_csv_keeps_every_digit_and_leaves_missing_cells_blank() -> None:
    assert to_csv(TABLE) == (
        "game,a_1,frames\nQ*bert,0.125,200000000\nTom & Jerry|50%,,-3\nmean,-1234.567,\n"
    )


def test_markdown() -> None:
    assert to_markdown(TABLE) == (
        "| game | a_1 | frames |\n"
        "| --- | ---: | ---: |\n"
        "| Q\\*bert | 0.12 | 200,000,000 |\n"
        "| Tom & Jerry\\|50% | - | -3 |\n"
        "| mean | -1,234.57 | - |\n"
    )


def test_latex() -> None:
    assert to_latex(TABLE, num_digits=1) == (
        "% needs \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        "game & a\\_1 & frames \\\\\n"
        "\\midrule\n"
        "Q*bert & 0.1 & 200,000,000 \\\\\n"
        "Tom \\& Jerry\\textbar{}50\\% & -- & $-$3 \\\\\n"
        "\\midrule\n"
        "mean & $-$1,234.6 & -- \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


def test_no_footer_no_second_rule() -> None:
    assert to_latex(Table(("a",), ((1,),))).count("midrule") == 1


def test_latex_escapes_each_special_letter_once() -> None:
    text = to_latex(Table(("x",), ((r"\&%$#_{}~^<>|",),)))
    escaped = (
        r"\textbackslash{}\&\%\$\#\_\{\}\textasciitilde{}\textasciicircum{}"
        r"\textless{}\textgreater{}\textbar{} \\"
    )
    assert text.splitlines()[5] == escaped


def test_a_cell_stays_on_one_line() -> None:
    table = Table(("a\nb",), (("c\r\nd",),))
    assert to_csv(table) == "a b\nc d\n"
    assert to_markdown(table) == "| a b |\n| --- |\n| c d |\n"
    assert "a b \\\\\n" in to_latex(table)
    assert "c d \\\\\n" in to_latex(table)


def test_zero_from_below_has_no_sign() -> None:
    assert to_markdown(Table(("x",), ((-0.001,),))).splitlines()[2] == "| 0.00 |"


def test_records_give_a_column_for_every_key() -> None:
    table = Table.from_records([{"game": "pong", "a": 1}, {"game": "qbert", "b": 2.0}], [{"b": 3}])
    assert table.columns == ("game", "a", "b")
    assert table.rows == (("pong", 1, None), ("qbert", None, 2.0))
    assert table.footer == ((None, None, 3),)


def test_a_row_of_another_length_is_a_bug() -> None:
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        Table(("a", "b"), ((1,),))


@given(st.lists(st.tuples(st.text(), st.floats(allow_nan=False)), min_size=1))
def test_csv_round_trip(rows: list[tuple[str, float]]) -> None:
    text = to_csv(Table(("name", "value"), tuple(rows)))
    read = list(csv.reader(io.StringIO(text, newline="")))[1:]
    expected = [(re.sub("[\r\n]+", " ", name), value) for name, value in rows]
    assert [(name, float(value)) for name, value in read] == expected
