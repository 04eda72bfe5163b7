"""The mean model: statistics of its own, and a file that anything can load."""

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from safetensors.torch import load
from torch import nn  # noqa: TID253

from mlscale.decentral.flat import Layout
from mlscale.decentral.mean_model import MeanModel
from mlscale.decentral.tasks.base import Task
from mlscale.decentral.tasks.registry import make_task


class WithNorm(nn.Module):
    """A norm after the first layer, and a layer that shares its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(64, 10), nn.BatchNorm1d(10)
        self.last, self.again = nn.Linear(10, 10), nn.Linear(10, 10)
        self.again.weight = self.last.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = self.again(self.last(self.norm(self.first(x.flatten(1)))))
        return output


@pytest.fixture(scope="module")
def task() -> Task:
    digits = make_task("digits", max_train=300)
    return Task(
        name="normed", train=digits.train, test=digits.test, num_classes=10,
        source=digits.source, build=WithNorm, vmap_safe=False,
    )  # fmt: skip


def test_statistics_are_those_of_training_examples_through_the_mean(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlscale.decentral.mean_model.STATISTICS_BATCH", 100)
    mean_model = MeanModel(task, seed=1)
    layout = Layout.of(task.make_model(1))
    mean_P = np.random.default_rng(0).normal(size=layout.num_parameters).astype(np.float32)
    mean_model.evaluate(mean_P)
    state = load(mean_model.exported())
    x_N, _ = task.train.take(np.arange(300))
    with torch.no_grad():
        hidden = x_N.flatten(1) @ state["first.weight"].T + state["first.bias"]
    batches = hidden.split(100)
    expected = torch.stack([one.mean(dim=0) for one in batches]).mean(dim=0)
    assert torch.allclose(state["norm.running_mean"], expected, atol=1e-4)
    expected = torch.stack([one.var(dim=0) for one in batches]).mean(dim=0)
    assert torch.allclose(state["norm.running_var"], expected, rtol=1e-4)


def test_the_file_holds_the_mean_parameters_shared_ones_once(task: Task) -> None:
    mean_model = MeanModel(task, seed=1)
    layout = mean_model.layout
    mean_P = np.arange(layout.num_parameters, dtype=np.float32) / 100
    mean_model.load(mean_P)
    state = load(mean_model.exported())
    assert "again.weight" not in state
    flat_P = torch.cat([state[name].flatten() for name in layout.names])
    assert torch.equal(flat_P, torch.from_numpy(mean_P))
    model = WithNorm()
    missing = model.load_state_dict(state, strict=False)
    assert missing.missing_keys == ["again.weight"]
    assert torch.equal(model.again.weight, state["last.weight"])


def test_the_norm_s_momentum_is_as_before(task: Task) -> None:
    mean_model = MeanModel(task, seed=1)
    mean_model.load(np.zeros(mean_model.layout.num_parameters, np.float32))
    assert [norm.momentum for norm in mean_model._norms] == [0.1]
