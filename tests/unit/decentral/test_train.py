"""Where replicas compute, and what a result says of a training."""

import pytest
import torch  # noqa: TID253 - every test here needs it

from mlscale.core.errors import UserError
from mlscale.core.runs import Run
from mlscale.decentral import train
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.setup import make_setup


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "resolve_device", lambda name: "cuda" if name != "cpu" else "cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


def refusal(config: TrainConfig) -> tuple[str, str | None]:
    with pytest.raises(UserError) as raised:
        train.choose_device(config)
    return str(raised.value), raised.value.hint


@pytest.mark.usefixtures("two_gpus")
def test_there_is_a_gpu_for_every_replica_or_none_is_used() -> None:
    assert train.choose_device(TrainConfig(gpus=2)) == "cuda"
    assert train.choose_device(TrainConfig(gpus=8, device="cpu")) == "cpu"
    assert train.choose_device(TrainConfig(gpus=8, engine="simulate")) == "cuda"
    message, hint = refusal(TrainConfig(gpus=3))
    assert message == "--gpus 3 asks for more GPUs than the 2 here"
    assert hint == "use --gpus 2, or --device cpu for CPU processes"


@pytest.mark.usefixtures("two_gpus")
def test_nobody_goes_on_between_gpus() -> None:
    message, hint = refusal(TrainConfig(gpus=2, on_failure="continue"))
    assert message == "exchanges between GPUs end with any of them, so none can go on"
    assert hint == "use --on-failure stop, or --device cpu for CPU processes"
    on_cpu = TrainConfig(gpus=2, on_failure="continue", device="cpu")
    assert train.choose_device(on_cpu) == "cpu"


def test_a_result_is_of_the_last_epoch_and_says_what_it_holds_under() -> None:
    config = TrainConfig(gpus=2, max_train=40, batch=8, graph="ring")
    run = Run("decentral.train", config)
    run.records = [{"epoch": 1, "accuracy": 0.2}, {"epoch": 2, "accuracy": 0.4, "gini": 0.1}]
    result = train.result_of(make_setup(config), run, "failed")
    assert {name: metric.value for name, metric in result.metrics.items()} == {
        "accuracy": 0.4,
        "gini": 0.1,
    }
    assert result.status == "failed"
    assert result.protocol["graphs"] == [{"epoch": 1, "graph": "ring"}]
    assert result.protocol["steps_per_epoch"] == 2
    assert result.protocol["train_examples"] == 40
