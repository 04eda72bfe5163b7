"""The plan: its rows against the published arithmetic, its verdict in words, its settings."""

from typing import Any

import pytest

from mlscale.core.config import from_dict, to_dict
from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.decentral.plan import plan_rows, run
from mlscale.decentral.plan_config import PlanConfig
from mlscale.decentral.verdict import verdict

RESNET50 = "25557032"
MEGABYTES = {  # of a ResNet-50 in float32, at n = 8, 16, 64, 1008
    "all-reduce": (178.9, 191.7, 201.3, 204.3),
    "exp": (306.7, 408.9, 613.4, 1022.3),
    "ring": (204.5, 204.5, 204.5, 204.5),
    "torus": (306.7, 408.9, 408.9, 408.9),
    "onepeer": (102.2, 102.2, 102.2, 102.2),
}


def planned(**settings: Any) -> dict[str, dict[str, Any]]:
    """Return the rows of one number of ranks by graph."""
    config = PlanConfig(**settings)
    return {row["graph"]: row for row in plan_rows(config, config.n[0], Run("x", config))}


@pytest.mark.parametrize("which", range(4))
def test_megabytes_of_resnet50(which: int) -> None:
    rows = planned(params=RESNET50, n=((8, 16, 64, 1008)[which],))
    found = {name: round(rows[name]["bytes"] / 1e6, 1) for name in MEGABYTES}
    assert found == {name: megabytes[which] for name, megabytes in MEGABYTES.items()}
    assert rows["lattice-4"]["bytes"] == pytest.approx(4 * 4 * 25557032)
    assert rows["complete"]["sends"] == rows["star"]["most_sends"] == rows["exp"]["n"] - 1
    assert rows["base-3"]["sends"] <= rows["base-3"]["most_sends"] <= 2


def test_complete_is_counted_as_its_rounds_would_be() -> None:
    from mlscale.decentral.costs import count_sends
    from mlscale.decentral.graphs.registry import make_graph
    from mlscale.decentral.plan import sends_of

    for num_ranks in (1, 2, 9):
        assert sends_of("complete", num_ranks, 0) == count_sends(make_graph("complete", num_ranks))


def test_times_by_hand_and_the_fastest_first() -> None:
    # S = 1 MB and B = 1 MB/s, so a model takes a second.
    settings = {"params": "250k", "n": (4,), "bandwidth": "1MB/s", "latency": "100ms"}
    rows = planned(**settings, compute_ms=1500.0)
    assert rows["all-reduce"]["ms"] == pytest.approx(6 * 100 + 1500)
    assert rows["ring"]["ms"] == pytest.approx(100 + 2000)
    assert rows["onepeer"]["ms"] == pytest.approx(100 + 1000)
    assert rows["onepeer"]["step_ms"] == pytest.approx(2600)
    assert rows["onepeer"]["overlapped_ms"] == 1500
    assert rows["ring"]["overlapped_ms"] == pytest.approx(2100)
    # (2n - 3) alpha = (2 - 1.5) S/B
    assert rows["ring"]["faster_from_us"] == pytest.approx(0.5 / 5 * 1e6)
    times = [row["ms"] for row in rows.values()]
    assert times == sorted(times)
    assert planned(**settings)["ring"]["step_ms"] is None
    shared = planned(**settings, ranks_per_nic=2)
    assert shared["ring"]["ms"] == pytest.approx(100 + 4000)
    assert shared["all-reduce"]["ms"] == rows["all-reduce"]["ms"]


def test_a_wide_lattice_may_double_its_sums_and_waits_for_each_send() -> None:
    settings = {"params": "250k", "bandwidth": "1MB/s", "latency": "100ms"}
    rows = planned(**settings, n=(64,), graph=("lattice-4", "lattice-10"))
    assert list(rows) == ["lattice-4", "lattice-10 by doubling", "lattice-10", "all-reduce"]
    doubled = rows["lattice-10 by doubling"]
    assert (doubled["sends"], doubled["ms"]) == (6, pytest.approx(6 * 100 + 6 * 1000))
    # (2(n-1) - 6) alpha = (6 - 2(n-1)/n) S/B
    expected = (6 - 126 / 64) / 120 * 1e6
    assert doubled["faster_from_us"] == pytest.approx(expected)
    assert "lattice-10 by doubling" not in planned(**settings, n=(8,), graph=("lattice-10",))


def test_bytes_of_a_parameter_count() -> None:
    assert planned(n=(8,), dtype_bytes=2)["ring"]["bytes"] == 2 * 2 * 25_600_000


def words(num_ranks: int, **settings: Any) -> list[str]:
    config = PlanConfig(params=RESNET50, n=(num_ranks,), **settings)
    return verdict(plan_rows(config, num_ranks, Run("x", config)), 1e6 * config.latency_s)


def test_the_verdict_at_1008_ranks() -> None:
    graphs = ("ring", "torus", "exp", "onepeer")
    assert words(1008, graph=graphs) == [
        "A static ring saves no bytes: 204.5 MB a step, 0.099 % more than all-reduce.",
        "exp moves more bytes than all-reduce: 1,022 MB, 5 times all-reduce's.",
        "onepeer saves half of the bytes: 102.2 MB.",
        "Faster than all-reduce at 10 us a message: onepeer, ring; ring by latency alone, "
        "not by bytes.",
        "A message's latency counts 2,014 times in all-reduce, once in gossip: "
        "above 32.53 us torus would be faster too.",
    ]


def test_the_verdict_at_8_ranks_without_and_with_latency() -> None:
    graphs = ("ring", "exp", "onepeer", "torus", "hypercube")
    assert words(8, graph=graphs, latency="0s") == [
        "A static ring saves no bytes: 204.5 MB a step, 14 % more than all-reduce.",
        "exp moves more bytes than all-reduce: 306.7 MB, 71 % more than all-reduce.",
        "onepeer saves 43 % of the bytes here, and half among many ranks: 102.2 MB.",
        "Faster than all-reduce at 0 us a message: onepeer.",
        "A message's latency counts 14 times in all-reduce, once in gossip: "
        "above 629.1 us ring would be faster too.",
    ]
    assert words(8, graph=graphs, latency="1ms")[3:] == [
        "Faster than all-reduce at 1 ms a message: onepeer, ring; ring by latency alone, "
        "not by bytes.",
        "A message's latency counts 14 times in all-reduce, once in gossip: "
        "above 3.145 ms exp and 2 others would be faster too.",
    ]
    assert words(8, graph=graphs, latency="10ms")[3:] == [
        "Faster than all-reduce at 10 ms a message: every graph here; "
        "ring and 3 others by latency alone, not by bytes.",
        "A message's latency counts 14 times in all-reduce, once in gossip.",
    ]


def test_the_verdict_on_two_ranks_one_rank_and_no_winner() -> None:
    assert words(2, graph=("ring", "exp", "onepeer"))[:3] == [
        "A static ring saves no bytes: 102.2 MB a step, as much as all-reduce.",
        "exp saves no bytes among so few ranks: 102.2 MB, as much as all-reduce.",
        "onepeer saves no bytes between two ranks: 102.2 MB; among many it saves half.",
    ]
    assert words(1) == ["One rank has nobody to send to."]
    assert words(8, graph=("exp",))[1].endswith("at 10 us a message: none.")


def test_what_a_family_cannot_do_is_left_out_and_said_unless_it_was_asked_for() -> None:
    config = PlanConfig(n=(6,))
    planning = Run("decentral.plan", config)
    tables = run(config, planning).tables
    assert "hypercube" not in [row["graph"] for row in tables["plan"]]
    (note,) = planning.notes
    assert note == "hypercube left out at n = 6: a hypercube needs a power of two of ranks, not 6"
    config = PlanConfig(n=(6,), graph=("hypercube",))
    with pytest.raises(UserError, match="power of two"):
        run(config, Run("decentral.plan", config))


def test_the_worst_case_of_shared_network_cards_is_said() -> None:
    config = PlanConfig(n=(8,), ranks_per_nic=4)
    planning = Run("decentral.plan", config)
    run(config, planning)
    assert planning.notes[0].startswith("4 ranks share a network card: every neighbour counts as")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"params": "many"}, "'many' is not a number of parameters"),
        ({"bandwidth": "25"}, "'25' is not a bandwidth"),
        ({"latency": "10"}, "'10' is not a duration"),
        ({"n": ()}, "--n must name one number of ranks or more, each once"),
        ({"n": (8, 8)}, "--n must name one number of ranks or more, each once"),
        ({"n": (0,)}, "--n must be at least 1, got 0"),
        ({"n": (8, 5000)}, "--n must be at most 4096, got 5000"),
        ({"n": (4, 8), "ranks_per_nic": 8}, "--ranks-per-nic is 8, more than the 4 ranks of --n"),
        ({"graph": ("rung",)}, "unknown graph 'rung'"),
        ({"graph": ("ring", "ring")}, "the same graph is named twice"),
        ({"dtype_bytes": 0}, "--dtype-bytes must be at least 1, got 0"),
        ({"compute_ms": -1.0}, "--compute-ms must be at least 0, got -1.0"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        PlanConfig(**settings)
    assert caught.value.message == message


def test_settings_replay() -> None:
    config = PlanConfig(params="7B", n=(8,), compute_ms=3.0, graph=("ring", "lattice-4"))
    assert from_dict(PlanConfig, to_dict(config), where="x") == config
    assert (config.num_params, config.model_bytes) == (7 * 10**9, 28 * 10**9)
