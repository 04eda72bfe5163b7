"""Files of edges: what they say, and the text of every error in them."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlscale.core.errors import UserError
from mlscale.decentral.graphs.edge_list import Edge, format_edges, parse_edges
from mlscale.decentral.graphs.registry import make_graph

FORMS = 'write "0 1", "0 1 0.25" with a weight, or "0 > 1" when 0 sends to 1 only'


def graph_of(folder: Path, text: str | bytes, num_ranks: int = 4, **options: object):
    path = folder / "g.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return make_graph(f"file:{path}", num_ranks, **options)  # type: ignore[arg-type]


def error(folder: Path, text: str | bytes, **options: object) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        graph_of(folder, text, **options)
    assert "\n" not in caught.value.message
    return caught.value.message.replace(f"{folder}/", ""), caught.value.hint


def test_edges_both_ways_take_metropolis_weights(tmp_path: Path) -> None:
    text = "\ufeff# a path\r\n0 1\r\n\r\n  1\t2  # the middle\n3 2"
    graph = graph_of(tmp_path, text)
    assert graph.period == 1
    mixing = graph.at(0)
    assert mixing.row(0) == [(0, pytest.approx(2 / 3)), (1, pytest.approx(1 / 3))]
    assert mixing.is_column_stochastic
    assert graph_of(tmp_path, text, weights="uniform").at(0).row(0) == [(0, 0.5), (1, 0.5)]


def test_edges_one_way_take_uniform_weights(tmp_path: Path) -> None:
    mixing = graph_of(tmp_path, "0 > 1\n1>2\n2 >3\n3> 0\n0 2\n").at(0)
    assert mixing.row(1) == [(0, 0.5), (1, 0.5)]
    assert mixing.targets(0) == [1, 2]
    assert [source for source, _ in mixing.received(0)] == [2, 3]
    assert "one way" in error(tmp_path, "0 > 1\n1 > 2\n2 > 3\n3 > 0", weights="metropolis")[0]


def test_weights_of_the_file_leave_the_rest_to_the_own_value(tmp_path: Path) -> None:
    mixing = graph_of(tmp_path, "0 1 0.25\n1 > 2 1\n2 > 3 .5\n3 > 0 7.5e-1\n").at(0)
    assert mixing.row(0) == [(1, 0.25), (3, 0.75)]  # nothing left
    assert mixing.row(1) == [(0, 0.25), (1, 0.75)]
    assert mixing.row(2) == [(1, 1.0)]
    assert mixing.row(3) == [(2, 0.5), (3, 0.5)]
    assert error(tmp_path, "0 1 0.5\n1 2 .5\n2 3 .5", weights="uniform") == (
        "g.txt gives its own weights, so the uniform rule has nothing to do",
        "leave the rule out, or the weights in the file",
    )


def test_forms_apply_to_files(tmp_path: Path) -> None:
    mixing = graph_of(tmp_path, "0 1", 2, form="lazy").at(0)
    assert mixing.row(0) == [(0, 0.75), (1, 0.25)]


def test_a_file_for_one_rank_may_be_empty(tmp_path: Path) -> None:
    assert graph_of(tmp_path, "# nobody else\n", 1).at(0).row(0) == [(0, 1.0)]


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("0 4", "there is no rank 4 among 4", "ranks are numbered from 0 to 3"),
        ("-1 2", "there is no rank -1 among 4", "ranks are numbered from 0 to 3"),
        ("2", "not an edge: '2'", FORMS),
        ("a b", "not an edge: 'a b'", FORMS),
        ("0 2 0.1 0.2", "not an edge: '0 2 0.1 0.2'", FORMS),
        ("0 < 2", "not an edge: '0 < 2'", FORMS),
        ("0 -> 2", "not an edge: '0 -> 2'", FORMS),
        ("0.0 2", "not an edge: '0.0 2'", FORMS),
        ("0 ²", "not an edge: '0 ²'", FORMS),
        ("x" * 90, f"not an edge: '{'x' * 40}...'", FORMS),
        ("0 2 much", "not a weight: 'much'", FORMS),
        ("0 2 nan", "not a weight: 'nan'", FORMS),
        ("0 2 -0.5", "the weight -0.5 is negative", "weights lie above 0, up to 1"),
        (
            "0 2 0",
            "the weight 0 is out of range",
            "weights lie above 0, up to 1; leave an edge of weight 0 out",
        ),
        (
            "0 2 1e999",
            "the weight 1e999 is out of range",
            "weights lie above 0, up to 1; leave an edge of weight 0 out",
        ),
        (
            "2 2",
            "rank 2 is linked to itself",
            "leave the line out: every rank keeps what its edges leave of its weight",
        ),
        (
            "1 0",
            "1 sends to 0 already on line 2",
            "name every edge once; without > it goes both ways",
        ),
        (
            "1 > 0",
            "1 sends to 0 already on line 2",
            "name every edge once; without > it goes both ways",
        ),
        (
            "0 2 0.5",
            "some edges have weights and some have none",
            "give all of them, or none",
        ),
    ],
)
def test_errors_of_a_line(tmp_path: Path, line: str, message: str, hint: str) -> None:
    text = f"# head\n0 1\n{line}\n1 2\n2 3\n"
    assert error(tmp_path, text) == (f"g.txt, line 3: {message}", hint)


def test_rows_that_cannot_sum_to_one(tmp_path: Path) -> None:
    assert error(tmp_path, "0 1 0.6\n2 3 .1\n1 2 0.6\n") == (
        "g.txt, line 3: the weights that rank 1 gives others add up to 1.2, so its row cannot "
        "sum to 1",
        "what they leave of 1 is a rank's own weight; make them smaller",
    )
    third = repr(1 / 3)
    graph_of(tmp_path, f"0 1 {third}\n0 2 {third}\n0 3 {third}\n")


def test_graphs_that_fall_apart(tmp_path: Path) -> None:
    hint = "add edges until every rank can reach every other and be reached by it"
    name = f"graph 'file:{tmp_path / 'g.txt'}'".replace(f"{tmp_path}/", "")
    assert error(tmp_path, "0 1\n2 3\n") == (f"{name} falls into 2 parts: 0-1; 2-3", hint)
    assert error(tmp_path, "0 2\n2 > 3\n3 > 1\n") == (
        f"{name} falls into 3 parts: 0, 2; 1; 3",
        hint,
    )
    assert error(tmp_path, "", num_ranks=9)[0] == (
        f"{name} falls into 9 parts: 0; 1; 2; 3; 4; 5; and 3 more"
    )


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert error(tmp_path, b"0 1\xff") == ("g.txt is not UTF-8 text", FORMS)
    with pytest.raises(UserError) as caught:
        make_graph(f"file:{tmp_path / 'none.txt'}", 4)
    assert caught.value.message == f"cannot read {tmp_path / 'none.txt'}: No such file or directory"
    with pytest.raises(UserError, match="Is a directory"):
        make_graph(f"file:{tmp_path}", 4)


@st.composite
def edge_lists(draw: st.DrawFn) -> list[Edge]:
    weighted = draw(st.booleans())
    # Eleven weights of 1/11 or less cannot go over 1 in any row.
    weights = st.floats(0, 1 / 11, exclude_min=True) if weighted else st.none()
    pairs = st.tuples(st.integers(0, 11), st.integers(0, 11)).filter(
        lambda pair: pair[0] != pair[1]
    )
    taken: set[tuple[int, int]] = set()
    edges = []
    for pair in draw(st.lists(pairs, max_size=40)):
        edge = Edge(*pair, draw(st.booleans()), draw(weights))
        if not taken & set(edge.links):
            taken |= set(edge.links)
            edges.append(edge)
    return edges


@settings(max_examples=60, deadline=None)
@given(edges=edge_lists(), comment=st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_what_is_written_is_read_back(edges: list[Edge], comment: str) -> None:
    text = format_edges(edges)
    assert parse_edges(text, 12, "g.txt") == edges
    assert parse_edges(text.replace("\n", f"  # {comment}\n\n"), 12, "g.txt") == edges


@settings(max_examples=150, deadline=None)
@given(text=st.text(st.sampled_from("0123 >#.e-\n\tx"), max_size=60))
def test_any_text_is_edges_or_one_clear_error(text: str) -> None:
    try:
        edges = parse_edges(text, 4, "g.txt")
    except UserError as caught:
        assert caught.message.startswith("g.txt, line ")  # noqa: PT017 - either is fine
    else:
        assert parse_edges(format_edges(edges), 4, "g.txt") == edges
