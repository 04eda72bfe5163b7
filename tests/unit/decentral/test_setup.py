"""What every process works out alone: batches, learning rates, refusals before launch."""

import math

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.errors import UserError
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.setup import Setup, evenly, make_setup, stacked

SMALL = {"max_train": 100, "gpus": 4, "batch": 8}


def setup_of(**more: object) -> Setup:
    return make_setup(TrainConfig(**(SMALL | more)))  # type: ignore[arg-type]


def test_replicas_have_parts_of_their_own_and_take_equally_many_steps() -> None:
    setup = setup_of()
    assert [len(part) for part in setup.parts] == [25] * 4
    assert (setup.batch, setup.steps_per_epoch) == (8, 3)
    assert sorted(np.concatenate(setup.parts).tolist()) == list(range(100))
    x_NB, y_NB = stacked([setup.batches(rank, 0) for rank in range(4)], 1)
    assert (tuple(x_NB.shape), tuple(y_NB.shape)) == ((4, 8, 1, 8, 8), (4, 8))
    x_B, y_B = setup.batches(2, 0).take(1)
    assert torch.equal(x_NB[2], x_B)
    assert torch.equal(y_NB[2], y_B)


def test_a_configuration_gives_everybody_the_same() -> None:
    one, other = setup_of(split="dirichlet", alpha=0.1), setup_of(split="dirichlet", alpha=0.1)
    assert all(np.array_equal(a, b) for a, b in zip(one.parts, other.parts, strict=True))
    assert torch.equal(one.batches(1, 4).take(0)[0], other.batches(1, 4).take(0)[0])
    assert not torch.equal(one.batches(1, 4).take(0)[0], one.batches(1, 5).take(0)[0])
    another = setup_of(split="dirichlet", alpha=0.1, seed=1)
    assert not np.array_equal(one.parts[0], another.parts[0])


def test_the_learning_rate_falls_as_half_a_cosine() -> None:
    setup = setup_of(epochs=4, lr=0.4)
    assert setup.lr(0) == pytest.approx(0.4)
    assert setup.lr(6) == pytest.approx(0.2)
    assert setup.lr(11) == pytest.approx(0.4 * (1 + math.cos(math.pi * 11 / 12)) / 2)
    assert setup_of(epochs=4, lr=0.4, schedule="constant").lr(11) == 0.4


def test_the_learning_rate_grows_with_replicas_and_is_warmed_up() -> None:
    setup = setup_of(epochs=4, lr=0.1, lr_scaling="linear", warmup_epochs=2)
    assert [setup.lr(step) for step in (0, 3, 6)] == pytest.approx([0.1, 0.25, 0.4])
    assert setup.lr(9) == pytest.approx(0.2)


def test_an_algorithm_with_momentum_has_an_optimizer_without() -> None:
    from mlscale.decentral.setup import make_optimizer

    parameters = [torch.zeros(2, requires_grad=True)]
    for algorithm, momentum in (("atc", 0.9), ("decentlam", 0.0), ("qg-dsgdm", 0.0)):
        config = TrainConfig(algorithm=algorithm)  # type: ignore[arg-type]
        assert make_optimizer(config, parameters).param_groups[0]["momentum"] == momentum


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        (
            {"gpus": 101},
            "100 training examples cannot be split over 101 ranks",
            "use fewer ranks or more examples",
        ),
        ({"task": "digit"}, "unknown task 'digit'", "did you mean 'digits'? tasks: "),
        ({"graph": "exq"}, "unknown graph 'exq'", "did you mean 'exp'? graphs are "),
        ({"algorithm": "d2"}, "D2 diverges on exp, which is not symmetric", "choose a symmetric"),
        (
            {"graph": "ada", "algorithm": "choco", "gpus": 8},
            "choco needs the same neighbours in every step, and the graph changes with the epochs",
            "choose a graph of one round",
        ),
        (
            {"algorithm": "allreduce", "on_failure": "continue"},
            "allreduce cannot go on when a replica is gone: it counts on all of them",
            "use --on-failure stop, or one of atc, awc, ",
        ),
        ({"k0": 4}, "exp does not shrink", "k0 and gamma are for --graph ada"),
    ],
)
def test_what_cannot_work_is_refused(settings: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(UserError) as raised:
        setup_of(**settings)
    assert str(raised.value) == message
    assert (raised.value.hint or "").startswith(hint)


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UserError, match="is for processes: a simulation has one"):
        TrainConfig(engine="simulate", on_failure="continue")
    with pytest.raises(UserError, match="gpus"):
        TrainConfig(gpus=0)


def test_warnings_are_kept_for_the_user() -> None:
    setup = setup_of(graph="ring", algorithm="d2", gpus=8, max_train=100)
    assert setup.warnings == ("the smallest eigenvalue of ring is -1/3, the last that D2 bears",)


def test_a_graph_of_any_size_has_few_judges_evenly() -> None:
    assert evenly(8, 64) == list(range(8))
    assert evenly(128, 4) == [0, 32, 64, 96]
    setup = setup_of(judged_every_epochs=3, epochs=5)
    assert [bool(setup.judged(epoch)) for epoch in range(5)] == [False, False, True, False, True]
