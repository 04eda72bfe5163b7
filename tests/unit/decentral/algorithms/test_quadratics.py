"""Every algorithm on f_i(x) = (x - i)^2 / 2 with 8 replicas: fixed points, divergence, means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.decentral.algorithms.registry import ALGORITHMS, make_algorithm
from mlscale.decentral.graphs.mixing import Mixing
from mlscale.decentral.simulated import SimulatedMixer

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlscale.decentral.algorithms.base import Algorithm

MEAN = 3.5


def circulant(num_ranks: int, offsets: list[int]) -> Mixing:
    """Return equal weights for the own value and those some ranks off."""
    weight = 1 / (len(offsets) + 1)
    return Mixing.from_rows(
        [(rank, weight), *(((rank + offset) % num_ranks, weight) for offset in offsets)]
        for rank in range(num_ranks)
    )


def torus(rows: int, columns: int) -> Mixing:
    def neighbours(rank: int) -> set[int]:
        row, column = divmod(rank, columns)
        near = {((row + d) % rows) * columns + column for d in (-1, 1)}
        return near | {row * columns + (column + d) % columns for d in (-1, 1)}

    return Mixing.from_rows(
        [(other, 1 / (len(neighbours(rank)) + 1)) for other in {rank, *neighbours(rank)}]
        for rank in range(rows * columns)
    )


def lazy(mixing: Mixing) -> Mixing:
    return Mixing.from_dense((np.eye(mixing.num_ranks) + mixing.dense()) / 2)


RING = circulant(8, [-1, 1])
EXP = circulant(8, [-1, -2, -4])
EXP_SYM = circulant(8, [-1, 1, -2, 2, 4])
COMPLETE = circulant(8, list(range(1, 8)))
TORUS = torus(2, 4)


def descend(
    name: str,
    mixing: Mixing,
    steps: int,
    lr: float = 0.1,
    optimizer: Callable[[list[torch.Tensor]], torch.optim.Optimizer] | None = None,
) -> tuple[torch.Tensor, Algorithm]:
    """Return x (N, 1) after some steps from 0."""
    num_ranks = mixing.num_ranks
    x = torch.zeros(num_ranks, 1, dtype=torch.float64)
    target = torch.arange(num_ranks, dtype=torch.float64).unsqueeze(1)
    prepared = ALGORITHMS[name].prepared(mixing)
    algorithm = make_algorithm(name, x, SimulatedMixer(lambda step: prepared), codec="quantise")
    sgd = optimizer([x]) if optimizer else torch.optim.SGD([x], lr=lr)
    x.grad = torch.zeros_like(x)
    for _ in range(steps):
        algorithm.before()
        x.grad.copy_(x - target)
        algorithm.gradient(x.grad)
        sgd.step()
        algorithm.after(lr)
    return x, algorithm


def xi2(x: torch.Tensor) -> float:
    return float((x - x.mean()).square().mean())


@pytest.mark.parametrize(
    ("mixing", "atc", "awc"),
    [
        (COMPLETE, 0.0, 0.04338842975),
        (EXP, 0.01266923496, 0.05626911429),
        (TORUS, 0.04132231405, 0.1409550046),
        (RING, 0.2933326214, 0.4136809985),
    ],
)
def test_fixed_points_of_both_orders(mixing: Mixing, atc: float, awc: float) -> None:
    for name, expected in (("atc", atc), ("awc", awc)):
        x, _ = descend(name, mixing, 300)
        assert xi2(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert float(x.mean()) == pytest.approx(MEAN)


@pytest.mark.parametrize(("mixing", "expected"), [(RING, 0.2933326214), (EXP, 0.01266923496)])
def test_local_momentum_ends_where_ten_times_the_rate_does(mixing: Mixing, expected: float) -> None:
    x, _ = descend("atc", mixing, 800, 0.01, lambda x: torch.optim.SGD(x, lr=0.01, momentum=0.9))
    assert xi2(x) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("mixing", "expected"),
    [(RING, 0.005376328110), (TORUS, 4.901480e-04), (EXP_SYM, 4.059884e-05)],
)
def test_decentlam_has_less_bias(mixing: Mixing, expected: float) -> None:
    x, _ = descend("decentlam", mixing, 2_000, 0.01)
    assert xi2(x) == pytest.approx(expected, rel=1e-6)
    assert float(x.mean()) == pytest.approx(MEAN)


@pytest.mark.parametrize("mixing", [EXP, lazy(EXP)])
def test_decentlam_diverges_on_directed_graphs(mixing: Mixing) -> None:
    x, _ = descend("decentlam", mixing, 3_000, 0.01)
    assert not float(x.abs().max()) < 1e6


@pytest.mark.parametrize(("mixing", "expected"), [(RING, 0.2933326), (EXP, 0.0126692)])
def test_quasi_global_momentum_ends_where_sgd_does(mixing: Mixing, expected: float) -> None:
    x, _ = descend("qg-dsgdm", mixing, 600)
    assert xi2(x) == pytest.approx(expected, rel=1e-5)
    assert float(x.mean()) == pytest.approx(MEAN)


@pytest.mark.parametrize("mixing", [RING, EXP])
def test_gradient_tracking_ends_at_the_optimum(mixing: Mixing) -> None:
    x, _ = descend("tracking", mixing, 600)
    assert float((x - MEAN).abs().max()) < 1e-9


def test_d2_ends_at_the_optimum_on_a_ring_and_diverges_on_a_directed_graph() -> None:
    x, _ = descend("d2", RING, 1_200)
    assert float((x - MEAN).abs().max()) < 1e-9
    x, _ = descend("d2", EXP, 2_000, 0.01)
    assert not float(x.abs().max()) < 1e6


def test_d2_needs_the_lazy_form_on_a_torus_of_64() -> None:
    plain, lazily = torus(8, 8), lazy(torus(8, 8))
    x, _ = descend("d2", plain, 163)
    assert float(x.abs().max()) > 1e12
    x, _ = descend("d2", plain, 150)
    assert float(x.abs().max()) < 1e12
    x, _ = descend("d2", lazily, 1_500)
    assert float((x - 31.5).abs().max()) < 1e-6


def test_push_sum_averages_over_a_directed_graph() -> None:
    edges = {0: [1, 2], 1: [2], 2: [3], 3: [0]}
    rows: list[list[tuple[int, float]]] = [[(rank, 1.0)] for rank in range(4)]
    for source, targets in edges.items():
        for target in targets:
            rows[target].append((source, 1.0))
    mixing = ALGORITHMS["sgp"].prepared(Mixing.from_rows(rows))
    assert mixing.is_column_stochastic
    x = torch.arange(4.0, dtype=torch.float64).unsqueeze(1)
    algorithm = make_algorithm("sgp", x, SimulatedMixer(lambda step: mixing))
    for _ in range(300):
        algorithm.before()
        algorithm.after(0.1)
    assert x.flatten().tolist() == pytest.approx([1.5] * 4)
    without_weight = np.linalg.matrix_power(mixing.dense(), 300) @ np.arange(4.0)
    assert without_weight == pytest.approx([1.38461538, 0.92307692, 1.84615385, 1.84615385])


def test_push_sum_on_a_doubly_stochastic_graph_is_adapt_then_combine() -> None:
    x, _ = descend("sgp", EXP, 200)
    y, _ = descend("atc", EXP, 200)
    assert torch.allclose(x, y, rtol=1e-12)


def test_a_complete_graph_is_large_batch_training() -> None:
    def optimizer(x: list[torch.Tensor]) -> torch.optim.Optimizer:
        return torch.optim.SGD(x, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01)

    mixed, _ = descend("atc", COMPLETE, 40, 0.05, optimizer)
    central, _ = descend("allreduce", COMPLETE, 40, 0.05, optimizer)
    assert torch.allclose(mixed, central, rtol=1e-14, atol=1e-14)
    one = torch.zeros(1, 1, dtype=torch.float64)
    sgd = optimizer([one])
    for _ in range(40):
        one.grad = one - MEAN
        sgd.step()
    assert torch.allclose(central, one.expand(8, 1), rtol=1e-14, atol=1e-14)


def test_choco_with_a_fine_code_ends_near_adapt_then_combine() -> None:
    x, _ = descend("choco", EXP, 400)
    assert float(x.mean()) == pytest.approx(MEAN, abs=0.05)
    assert xi2(x) < 0.1


@pytest.mark.parametrize("name", ["local", "pga", "diloco"])
def test_periodic_averages_leave_all_replicas_equal(name: str) -> None:
    x, algorithm = descend(name, RING, 32)
    assert algorithm.step == 32
    assert xi2(x) == pytest.approx(0, abs=1e-24)
    x, _ = descend(name, RING, 33)
    assert xi2(x) > 1e-3


def test_the_outer_step_of_diloco_by_hand() -> None:
    x, _ = descend("diloco", RING, 32)
    local = MEAN * (1 - 0.9**32)  # the mean replica after 32 steps from 0
    change = -local
    assert float(x[0]) == pytest.approx(-0.7 * (change + 0.9 * change))


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_saved_state_goes_on_as_if_unbroken(name: str) -> None:
    def steps(x: torch.Tensor, algorithm: Algorithm, count: int) -> None:
        target = torch.arange(8, dtype=torch.float64).unsqueeze(1)
        for _ in range(count):
            algorithm.before()
            g = x - target
            algorithm.gradient(g)
            x.sub_(g, alpha=0.1)
            algorithm.after(0.1)

    def fresh() -> tuple[torch.Tensor, Algorithm]:
        x = torch.zeros(8, 1, dtype=torch.float64)
        mixing = ALGORITHMS[name].prepared(RING)
        return x, make_algorithm(name, x, SimulatedMixer(lambda step: mixing), codec="quantise")

    unbroken, algorithm = fresh()
    steps(unbroken, algorithm, 40)
    first, algorithm = fresh()
    steps(first, algorithm, 23)
    kept, step = {k: v.clone() for k, v in algorithm.tensors().items()}, algorithm.step
    second, other = fresh()
    second.copy_(first)
    other.load(kept, step)
    steps(second, other, 17)
    assert torch.equal(unbroken, second)
