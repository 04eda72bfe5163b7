"""Gossip around a loop of one's own with one rank: it is plain training, and says what is wrong."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import torch  # noqa: TID253 - every test here needs it
import torch.distributed as dist  # noqa: TID253
from torch import nn  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.decentral.gossip import Gossip
from mlscale.decentral.graphs.registry import make_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module", autouse=True)
def process_group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    meeting: Path = tmp_path_factory.mktemp("gossip") / "meeting"
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


class Tied(nn.Module):
    """Two layers that share a weight, one that is frozen, one that the loss does not use."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.b.weight = self.a.weight
        self.norm = nn.BatchNorm1d(4)
        self.frozen, self.unused = nn.Linear(4, 4).requires_grad_(False), nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.frozen(self.norm(self.b(torch.tanh(self.a(x)))))
        return y


def make_model() -> Tied:
    torch.manual_seed(1)
    return Tied()


def sgd(model: nn.Module, **more: Any) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=0.1, **more)


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    step: Callable[[], None],
    *,
    steps: int = 3,
    clip: float | None = None,
    accumulated: int = 1,
    set_to_none: bool = True,
) -> dict[str, torch.Tensor]:
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=set_to_none)
        for part in X.chunk(accumulated):
            (model(part).square().mean() / accumulated).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        step()
    return {name: one.detach().clone() for name, one in model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


ALONE_IS_PLAIN = ["atc", "awc", "sgp", "tracking", "pga", "local", "allreduce", "d2", "choco"]


@pytest.mark.parametrize("algorithm", ALONE_IS_PLAIN)
@pytest.mark.parametrize("set_to_none", [True, False])
def test_one_rank_trains_as_without_gossip(algorithm: str, set_to_none: bool) -> None:
    plain = make_model()
    optimizer = sgd(plain, momentum=0.9, weight_decay=0.1)
    options: dict[str, Any] = {"clip": 0.05, "accumulated": 2, "set_to_none": set_to_none}
    expected = train(plain, optimizer, optimizer.step, **options)

    model = make_model()
    optimizer = sgd(model, momentum=0.9, weight_decay=0.1)
    gossip = Gossip(model, optimizer, algorithm=algorithm)
    found = train(model, optimizer, gossip.step, **options)
    for name, value in found.items():
        if not (name.startswith("unused") and algorithm in ("tracking", "allreduce")):
            torch.testing.assert_close(value, expected[name], rtol=1e-5, atol=1e-6)
    assert model.b.weight is model.a.weight


def test_a_scheduler_and_adamw_go_on_working() -> None:
    results = []
    for wrapped in (False, True):
        model = make_model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        step = Gossip(model, optimizer).step if wrapped else optimizer.step

        def both(step: Callable[[], None] = step, scheduler: Any = scheduler) -> None:
            step()
            scheduler.step()

        results.append(train(model, optimizer, both))
        assert optimizer.param_groups[0]["lr"] == 0.0125
    assert same(*results)


@pytest.mark.parametrize("algorithm", ["atc", "awc", "sgp", "tracking", "choco", "qg-dsgdm"])
def test_a_checkpoint_goes_on_as_if_never_stopped(algorithm: str) -> None:
    model = make_model()
    optimizer = sgd(model)
    gossip = Gossip(model, optimizer, algorithm=algorithm)
    train(model, optimizer, gossip.step, steps=2)
    kept = copy.deepcopy((model.state_dict(), optimizer.state_dict(), gossip.state_dict()))
    expected = train(model, optimizer, gossip.step, steps=2)

    model = Tied()  # other weights
    optimizer = sgd(model)
    gossip = Gossip(model, optimizer, algorithm=algorithm)
    model.load_state_dict(kept[0])
    optimizer.load_state_dict(kept[1])
    gossip.load_state_dict(kept[2])
    assert same(train(model, optimizer, gossip.step, steps=2), expected)
    assert gossip.state_dict()["step"] == 4


@pytest.mark.parametrize("algorithm", ["sgp", "diloco", "choco", "d2"])
def test_weights_loaded_before_the_first_step_count(algorithm: str) -> None:
    model = make_model()
    optimizer = sgd(model)
    expected = train(model, optimizer, optimizer.step, steps=1)
    model = Tied()
    optimizer = sgd(model)
    gossip = Gossip(model, optimizer, algorithm=algorithm)
    model.load_state_dict(make_model().state_dict())
    found = train(model, optimizer, gossip.step, steps=1)
    for name, value in found.items():
        torch.testing.assert_close(value, expected[name], rtol=1e-5, atol=1e-6)


def test_a_scaler_steps_and_skips() -> None:
    model = make_model()
    optimizer = sgd(model)
    gossip = Gossip(model, optimizer)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    before = model.a.weight.detach().clone()
    scaler.scale(model(X * float("inf")).square().mean()).backward()
    gossip.step(scaler=scaler)
    scaler.update()
    assert torch.equal(model.a.weight, before)
    assert scaler.get_scale() == 4.0
    assert gossip.state_dict()["step"] == 1


def test_alone_the_mean_is_the_model_and_nothing_disagrees() -> None:
    model = make_model()
    gossip = Gossip(model, sgd(model))
    assert gossip.disagreement() == 0
    mean = gossip.mean_state()
    assert same(mean, model.state_dict())
    mean["a.weight"].zero_()
    assert model.a.weight.abs().sum() > 0
    assert gossip.traffic.sent_bytes == 0


def test_a_copy_of_the_model_is_on_its_own() -> None:
    model = make_model()
    optimizer = sgd(model)
    gossip = Gossip(model, optimizer, algorithm="awc")
    average = copy.deepcopy(model)
    before = average.a.weight.detach().clone()
    average(X)
    train(model, optimizer, gossip.step)
    assert torch.equal(average.a.weight, before)
    Gossip(average, sgd(average))


def test_a_graph_of_ones_own() -> None:
    model = make_model()
    Gossip(model, sgd(model), graph=make_graph("ring", 1))
    other = make_model()
    with pytest.raises(UserError, match=r"^ring is of 4 ranks, and there are 1$"):
        Gossip(other, sgd(other), graph=make_graph("ring", 4))


def refusal(run: Callable[[], object]) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        run()
    return caught.value.message, caught.value.hint


def test_models_that_cannot_be_wrapped() -> None:
    model = make_model()
    gossip = Gossip(model, sgd(model))
    said = ("the model is in a Gossip already", "keep the first one")
    assert refusal(lambda: Gossip(model, sgd(model))) == said
    assert refusal(lambda: Gossip(model.a, sgd(model.a))) == said
    assert refusal(lambda: Gossip(nn.Sequential(model), sgd(model))) == said
    parallel = nn.parallel.DistributedDataParallel(make_model(), find_unused_parameters=True)
    assert refusal(lambda: Gossip(parallel, sgd(parallel))) == (
        "the model is in DistributedDataParallel, whose place gossip takes",
        "give Gossip the model alone",
    )
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
    assert "torch.float64 on cpu" in refusal(lambda: Gossip(mixed, sgd(mixed)))[0]
    assert gossip.model is model


def test_optimizers_that_cannot_step_a_replica() -> None:
    model, other = make_model(), make_model()
    assert refusal(lambda: Gossip(model, sgd(other)))[0] == (
        "the optimizer has 9 tensors that are no parameters of the model"
    )
    lbfgs = torch.optim.LBFGS(model.parameters())
    assert refusal(lambda: Gossip(model, lbfgs))[0].startswith("LBFGS evaluates the loss many")
    own = "qg-dsgdm has a momentum of its own and needs plain SGD"
    for optimizer in (sgd(model, momentum=0.9), torch.optim.Adam(model.parameters())):
        assert refusal(lambda: Gossip(model, optimizer, algorithm="qg-dsgdm"))[0] == own  # noqa: B023
    unknown: Any = object()
    assert "not torch's Optimizer" in refusal(lambda: Gossip(model, unknown))[0]
    Gossip(model, sgd(model))  # nothing of the above has wrapped it


def test_steps_that_are_refused() -> None:
    model = make_model()
    gossip = Gossip(model, sgd(model), algorithm="awc")
    closure: Any = lambda: 0.0  # noqa: E731
    assert refusal(lambda: gossip.step(closure))[0] == "Gossip.step takes no closure"
    model(X)
    assert refusal(lambda: gossip.load_state_dict(gossip.state_dict()))[0].startswith(
        "a step has begun with the forward pass"
    )
    state = {**gossip.state_dict(), "algorithm": "atc"}
    assert refusal(lambda: gossip.load_state_dict(state))[0] == "the state is of atc, not of awc"

    tracking = make_model()
    scaled = Gossip(tracking, sgd(tracking), algorithm="tracking")
    scaler = torch.amp.GradScaler("cpu")
    assert refusal(lambda: scaled.step(scaler=scaler))[0] == (
        "tracking changes gradients and cannot tell scaled ones"
    )
    model.frozen.requires_grad_(True)
    assert "nobody is sent them" in refusal(gossip.step)[0]
    tracking.double()
    assert refusal(scaled.step)[0].startswith("the model's parameters were moved or cast")


def test_names_that_are_not_known() -> None:
    model = make_model()
    assert refusal(lambda: Gossip(model, sgd(model), graph="rng"))[1].startswith("did you mean")  # type: ignore[union-attr]
    assert refusal(lambda: Gossip(model, sgd(model), algorithm="act"))[0] == (
        "unknown algorithm 'act'"
    )


def test_without_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "is_initialized", lambda: False)
    model = make_model()
    message, hint = refusal(lambda: Gossip(model, sgd(model)))
    assert message == "there is no process group to gossip in"
    assert hint is not None
    assert 'torch.distributed.init_process_group("gloo")' in hint
