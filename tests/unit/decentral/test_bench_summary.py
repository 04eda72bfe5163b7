"""Trainings side by side: numbers by hand, and the words for each way they come out."""

import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from mlscale.cli.decentral_tables import draw_bench
from mlscale.core.results import clean
from mlscale.decentral.bench_cells import Cell
from mlscale.decentral.bench_config import BenchConfig
from mlscale.decentral.bench_outcome import side_by_side
from mlscale.decentral.bench_summary import (
    Bootstrap,
    cell_rows,
    correlations,
    difference,
    tensor_rows,
)
from mlscale.decentral.bench_verdict import plain, points, side, verdicts
from mlscale.decentral.trainings import Training, trainings_of

HOW = Bootstrap(resamples=5_000)
CONNECTIONS = {"complete": 7, "torus": 3, "ring": 2, "ada": 4}


def records_of(
    graph: str | None, seed: int, accuracy: float, gini: float, **changed: Any
) -> list[dict[str, Any]]:
    """Return the records of a training of two epochs; gini falls to a half in the second."""
    names = {"algorithm": "atc" if graph else "allreduce", "graph": graph, "n": 8, "seed": seed}
    epochs = [
        {
            **names,
            "epoch": epoch,
            "accuracy": accuracy - 0.1 * (2 - epoch),
            "local_accuracy": None if epoch == 1 else accuracy - 0.01,
            "test_loss": 1.0,
            "disagreement": 4 * gini / epoch,
            "gini": gini / epoch,
            "cv": gini,
            "iod": gini,
            "qcd": gini,
            "gini/bias": gini / epoch,
            "cv/bias": 1.0,
            "iod/bias": 2.0,
            "qcd/bias": 3.0,
            "neighbours": CONNECTIONS.get(graph or "", 7),
            "sent_bytes_per_step": 100 * CONNECTIONS.get(graph or "", 2),
            "seconds": 1.5,
        }
        for epoch in (1, 2)
    ]
    end = {**names, "outcome": "trained"} | changed
    return [*epochs, end] if end["outcome"] else epochs


def bench(accuracies: dict[str | None, tuple[float, ...]]) -> list[Training]:
    """Return trainings with accuracies by graph, one a seed; None stands for all-reduce."""
    return trainings_of(
        record
        for k, (graph, values) in enumerate(accuracies.items())
        for seed, accuracy in enumerate(values)
        for record in records_of(graph, seed, accuracy, gini=0.1 * k)
    )


def said(accuracies: dict[str | None, tuple[float, ...]]) -> dict[str, str]:
    rows = cell_rows(bench(accuracies), HOW)
    (entry,) = verdicts(rows, correlations(rows, HOW), HOW)
    sentences: dict[str, str] = entry["sentences"]
    return sentences


RISING = {
    None: (0.90, 0.91, 0.92),
    "complete": (0.91, 0.92, 0.93),
    "torus": (0.80, 0.82, 0.84),
    "ring": (0.70, 0.70, 0.70),
}


def test_a_training_by_hand() -> None:
    (training,) = trainings_of(records_of("ring", 3, 0.8, gini=0.2))
    assert (training.cell, training.seed) == (Cell("atc", "ring", 8), 3)
    assert training.outcome == "trained"
    measured = training.measures()
    assert measured["accuracy"] == 0.8
    assert measured["local_accuracy"] == pytest.approx(0.79)
    assert measured["gini"] == pytest.approx((0.2 + 0.1) / 2)
    assert measured["disagreement"] == pytest.approx((0.8 + 0.4) / 2)
    assert (measured["neighbours"], measured["seconds"]) == (2, 3.0)
    assert training.tensors() == {
        "bias": {"gini": pytest.approx(0.15), "cv": 1.0, "iod": 2.0, "qcd": 3.0}
    }


def test_trainings_come_in_the_order_of_the_settings() -> None:
    config = BenchConfig(graphs=("ring", "torus", "complete"))
    found = trainings_of(
        (
            record
            for graph, seed in (("torus", 1), ("complete", 0), ("torus", 0), (None, 0), ("ring", 0))
            for record in records_of(graph, seed, 0.8, gini=0.2)
        ),
        config,
    )
    assert [(training.cell.graph, training.seed) for training in found] == (
        [(None, 0), ("ring", 0), ("torus", 0), ("torus", 1), ("complete", 0)]
    )


def test_an_epoch_logged_twice_counts_once() -> None:
    records = records_of("ring", 0, 0.8, gini=0.2)
    (training,) = trainings_of([*records, records[0]])
    assert [record["epoch"] for record in training.epochs] == [1, 2]


def test_differences_are_paired_by_seed() -> None:
    rows = {row["label"]: row for row in cell_rows(bench(RISING), HOW)}
    assert rows["all-reduce"]["difference"] is None
    assert rows["all-reduce"]["neighbours"] is None
    assert rows["complete"]["difference"]["values"] == pytest.approx([0.01] * 3)
    # Seeds differ by 0.01, graphs always by 0.01: paired, nothing is left to chance.
    assert rows["complete"]["difference"]["ci95"] == pytest.approx((0.01, 0.01))
    assert rows["complete"]["accuracy"]["ci95"][0] < 0.92 < rows["complete"]["accuracy"]["ci95"][1]
    assert rows["torus"]["difference"]["mean"] == pytest.approx(-0.09)
    less = difference(rows["torus"], rows["ring"], HOW, "neighbours")
    assert less is not None
    assert less["values"] == [1, 1, 1]


def test_seeds_that_are_missing_are_left_out_of_pairs() -> None:
    missing = bench(RISING | {"ring": (0.7,)})
    rows = {row["label"]: row for row in cell_rows(missing, HOW)}
    assert rows["ring"]["difference"]["seeds"] == [0]
    assert rows["ring"]["difference"]["ci95"] is None


def test_correlations_by_hand() -> None:
    rows = cell_rows(bench(RISING), HOW)
    rhos = {row["measure"]: row for row in correlations(rows, HOW)}
    assert rhos["gini"]["values"] == [-1, -1, -1]
    assert rhos["gini"]["ci95"] == (-1, -1)
    assert rhos["neighbours"]["mean"] == 1
    assert rhos["neighbours"]["graphs"] == 3
    # In one seed of three the two best change places: 1 - 6 (1 + 1 + 0) / 24 = 1/2.
    changed = RISING | {"torus": (0.80, 0.82, 0.94)}
    rhos = {row["measure"]: row for row in correlations(cell_rows(bench(changed), HOW), HOW)}
    assert rhos["neighbours"]["values"] == pytest.approx([1, 1, 0.5])
    two_graphs = {graph: RISING[graph] for graph in (None, "complete", "ring")}
    assert correlations(cell_rows(bench(two_graphs), HOW), HOW) == []


def test_a_graph_that_diverged_with_a_seed_costs_that_seed_alone() -> None:
    trainings = trainings_of(
        [
            *(record for graph in ("complete", "torus", "ring")
              for seed in range(3) if (graph, seed) != ("ring", 1)
              for record in records_of(graph, seed, RISING[graph][seed], 0.1)),
            *records_of("ring", 1, 0.5, 0.1, outcome="diverged", why="..."),
        ]
    )  # fmt: skip
    rows = cell_rows(trainings, HOW)
    assert (rows[2]["seeds"], rows[2]["diverged"]) == ([0, 2], [1])
    assert rows[2]["accuracy"]["mean"] == pytest.approx(0.7)
    (rho,) = [row for row in correlations(rows, HOW) if row["measure"] == "neighbours"]
    assert rho["seeds"] == [0, 2]
    (entry,) = verdicts(rows, [], HOW)
    assert entry["sentences"]["diverged"].startswith("ring in 1 of 3 seeds. Means leave these out")


def test_an_unfinished_training_counts_in_no_mean() -> None:
    (row,) = cell_rows(trainings_of(records_of("ring", 0, 0.8, 0.1, outcome=None)), HOW)
    assert (row["unfinished"], row["seeds"], row["accuracy"]) == ([0], [], None)
    assert row["curves"] is None


def test_tensors_are_means_over_epochs_and_seeds() -> None:
    (row,) = tensor_rows(bench({"ring": (0.8, 0.9)})[:2])
    assert (row["tensor"], row["label"], row["gini"], row["iod"]) == ("bias", "ring", 0.0, 2.0)


def test_words_follow_the_intervals() -> None:
    sentences = said(RISING)
    assert sentences["connections"] == (
        "More connections went with better accuracy: rank correlation 1.00 [1.00, 1.00] over 3 "
        "graphs, 3 seeds. complete (connections: 7) less ring (connections: 2): +22.00 points "
        "[+21.00, +23.00]."
    )
    assert sentences["dispersion"].startswith("Accuracy was worse where replicas' norms differed")
    worse, better = sentences["all-reduce"].split(". Better than all-reduce: ")
    assert worse.startswith("Worse than all-reduce: torus \N{MINUS SIGN}9.00")
    assert better == "complete +1.00 points [+1.00, +1.00]."
    falling = said(
        {None: (0.9,) * 3, "complete": (0.7,) * 3, "torus": (0.8,) * 3, "ring": (0.9,) * 3}
    )
    assert falling["connections"].startswith("More connections went with worse accuracy")
    assert falling["dispersion"].startswith("Accuracy was better where")
    assert (
        "Not told apart from all-reduce by these seeds: ring 0.00 points" in (falling["all-reduce"])
    )
    mixed = RISING | {"torus": (0.6, 0.95, 0.6), "ring": (0.95, 0.6, 0.95)}
    assert said(mixed)["connections"].startswith("Connections and accuracy show no link")


def test_two_seeds_are_too_few_for_words() -> None:
    sentences = said({graph: values[:2] for graph, values in RISING.items()})
    assert sentences["connections"].startswith("Too few seeds to tell")
    assert "without an interval over 3 graphs, 2 seeds" in sentences["connections"]
    assert sentences["all-reduce"].startswith("Beside all-reduce, with too few seeds")


def test_ada_is_set_beside_the_graph_of_nearest_bytes() -> None:
    sentences = said(RISING | {"ada": (0.85, 0.85, 0.85)})
    # Ada sends 400 bytes, all-reduce 200, the torus 300, complete 700.
    assert sentences["ada"].startswith("Ada against all-reduce: ")
    assert "with 2.00 times its bytes" in sentences["ada"]
    assert (
        "Against torus, whose bytes are nearest (1.33 times as many): better, +3.00"
        in (sentences["ada"])
    )


def test_signs() -> None:
    assert [points(0.0123), points(-0.0123), points(-0.00001)] == [
        "+1.23",
        "\N{MINUS SIGN}1.23",
        "0.00",
    ]
    assert [plain(0.5), plain(-0.5), plain(-0.001)] == ["0.50", "\N{MINUS SIGN}0.50", "0.00"]
    assert [side(ci) for ci in ((0.1, 0.2), (-0.2, -0.1), (-1.0, 1.0), None)] == [1, -1, 0, None]


def test_the_table_fits_a_terminal() -> None:
    console = Console(width=80, record=True, file=io.StringIO(), highlight=False)
    result = side_by_side("decentral.bench", bench(RISING), HOW, protocol={})
    draw_bench(clean(dataclasses.asdict(result)), console)
    lines = console.export_text().splitlines()
    assert lines[0].split() == (
        ["n", "=", "8", "links", "accuracy,", "%", "less", "all-reduce", "apart", "gini", "MB"]
    )
    assert lines[1].split()[0] == "all-reduce"
    assert lines[3].split()[:8] == (
        ["torus", "3", "82.0", "[80.0,", "84.0]", "-9.0", "[-10.0,", "-8.0]"]
    )
    assert max(len(line) for line in lines) <= 80
    assert lines[5].startswith("More connections went with better accuracy")
