"""The listing of graphs: its rows, what is left out, and the drawings."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.core.runs import Run, open_run
from mlscale.decentral.drawing import circle, draw_graph, links, stem
from mlscale.decentral.graphs.mixing import Mixing, Periodic
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.graphs_config import GraphsConfig
from mlscale.decentral.listing import run


def listed(**settings: Any) -> dict[str, dict[str, Any]]:
    config = GraphsConfig(**settings)
    tables = run(config, Run("decentral.graphs", config)).tables
    return {row["graph"]: row for row in tables["graphs"]}


def test_rows_hold_what_is_known_of_eight_ranks() -> None:
    rows = listed(n=(8,))
    known = {  # degree, gap, rounds, disagreement, effective neighbours at 0.9, symmetric, exact
        "complete": (7, 1, 1, 0, 8, True, 1),
        "ring": (2, 0.1952621459, 32, 0.51116071, 5.9198, True, None),
        "torus": (3, 0.5, 10, 0.16666667, 7.0857, True, None),
        "grid": (3, 0.1464466094, 44, 0.43724963, 6.1963, True, None),
        "exp": (3, 0.5, 10, 0.15470054, 7.1376, False, None),
        "exp_sym": (5, 0.6666666667, 7, 0.04503676, 7.7240, True, None),
        "star": (7, 0.125, 52, 2.45, 3.2292, True, None),
    }
    names = ("degree", "gap", "rounds", "disagreement", "effective_neighbours", "symmetric")
    for graph, expected in known.items():
        found = [rows[graph][name] for name in (*names, "exact_after")]
        assert found[-1] == expected[-1], graph
        np.testing.assert_allclose(found[:-1], expected[:-1], rtol=0, atol=5.1e-5, err_msg=graph)
    assert rows["onepeer"]["exact_after"] == 3
    assert rows["onepeer"]["disagreement"] == pytest.approx(0.5)
    assert rows["ring"]["lambda_min"] == pytest.approx(-1 / 3)
    assert rows["ring"]["effective_neighbours_99"] == pytest.approx(7.6906, abs=5e-5)
    assert {"hypercube", "lattice-4", "base-3", "equi-4", "matching"} < set(rows)


def test_the_form_of_the_weights_counts() -> None:
    plain, lazy = (listed(n=(8,), graph=("ring",), form=form)["ring"] for form in ("plain", "lazy"))
    assert lazy["gap"] == pytest.approx(plain["gap"] / 2)
    damped = listed(n=(8,), graph=("ring",), form="damped", damping=0.25)["ring"]
    assert damped["gap"] == pytest.approx(plain["gap"] / 4)
    star = listed(n=(8,), graph=("star",), weights="uniform")["star"]
    assert not star["keeps_mean"]


def test_a_family_that_has_no_such_graph_is_left_out_and_said_unless_asked_for() -> None:
    config = GraphsConfig(n=(6,))
    listing = Run("decentral.graphs", config)
    result = run(config, listing)
    assert "hypercube" not in [row["graph"] for row in result.tables["graphs"]]
    assert any(note.startswith("hypercube left out at n = 6: ") for note in listing.notes)
    assert result.tables["families"][-1]["graph"] == "file:PATH"
    with pytest.raises(UserError, match="power of two"):
        listed(n=(6,), graph=("hypercube",))


def test_graphs_from_files_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "line.txt"
    file.write_text("0 1\n1 2\n2 3\n")
    row = listed(n=(4,), graph=(f"file:{file}",))[f"file:{file}"]
    assert row["degree"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"graph": ("rnig",)}, "unknown graph 'rnig'"),
        ({"graph": ("ring", "ring")}, "the same graph is named twice"),
        ({"n": (8, 8)}, "--n must name one number of ranks or more, each once"),
        ({"form": "lasy"}, "--form cannot be 'lasy'"),
        ({"damping": 0.0}, "--damping must be more than 0, got 0.0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        GraphsConfig(**settings)
    assert caught.value.message == message


def test_links_are_told_apart_by_direction() -> None:
    mixing = Mixing.from_rows([[(0, 0.5), (1, 0.5)], [(0, 0.5), (1, 0.5)], [(1, 0.5), (2, 0.5)]])
    both_E2, one_way_E2 = links(mixing)
    assert (both_E2.tolist(), one_way_E2.tolist()) == ([[0, 1]], [[1, 2]])
    both_E2, one_way_E2 = links(Mixing.from_rows([[(0, 1.0)]]))
    assert both_E2.shape == one_way_E2.shape == (0, 2)


def test_rank_0_is_on_top_and_the_others_follow_clockwise() -> None:
    np.testing.assert_allclose(circle(4), [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12)


def test_names_of_files_hold_no_path() -> None:
    graph = Periodic("file:../a b/Ünï.txt", (Mixing.from_rows([[(0, 1.0)]]),))
    assert stem(graph) == "file-..-a-b-n-.txt-n1"


@pytest.mark.parametrize(("name", "num_ranks"), [("exp", 8), ("matching", 3), ("ring", 1)])
def test_pictures_are_written_twice_the_same(tmp_path: Path, name: str, num_ranks: int) -> None:
    config = GraphsConfig(n=(num_ranks,), graph=(name,))
    texts = []
    for folder in ("a", "b"):
        drawing = open_run("decentral.graphs", config, out=tmp_path / folder)
        draw_graph(make_graph(name, num_ranks), drawing)
        label = f"figures/{name}-n{num_ranks}"
        assert drawing.artifacts == [f"{label}.svg", f"{label}.png"]
        texts.append((tmp_path / folder / f"{label}.svg").read_text())
    assert texts[0] == texts[1]
    assert f"{name}, n = {num_ranks}" in texts[0]


def test_many_ranks_are_drawn_as_a_matrix(tmp_path: Path) -> None:
    config = GraphsConfig(n=(65,), graph=("onepeer",))
    run(config, open_run("decentral.graphs", config, out=tmp_path))
    text = (tmp_path / "figures" / "onepeer-n65.svg").read_text()
    assert "<image" in text
    assert "round 6 of 7" in text
    assert "round 7 of 7" not in text
