"""A training step: state goes on bitwise equal from a checkpoint, divergence leaves all as it was.

Shape letters: N replicas; P parameters.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import nn  # noqa: TID253
from torch.nn import functional as F  # noqa: TID253

from mlscale.core.checkpoints import load_checkpoint, save_checkpoint
from mlscale.decentral.algorithms.registry import ALGORITHMS, make_algorithm
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.epoch import train_epoch
from mlscale.decentral.replica import Replica
from mlscale.decentral.setup import Setup, make_setup, stacked
from mlscale.decentral.simulated import SimulatedMixer
from mlscale.decentral.stack import Stack
from mlscale.decentral.trainer import Diverged, Trainer, evaluate

if TYPE_CHECKING:
    from pathlib import Path

SMALL = TrainConfig(max_train=64, gpus=4, batch=4, graph="ring", engine="simulate")


def setup_of(**changes: object) -> Setup:
    settings = {name: getattr(SMALL, name) for name in TrainConfig.__dataclass_fields__}
    return make_setup(TrainConfig(**(settings | changes)))


def simulated(setup: Setup) -> Trainer:
    task, seed = setup.task, setup.config.seed
    stack = Stack(task.make_model(seed), setup.config.gpus, task.loss, vmap_safe=task.vmap_safe)
    return setup.trainer(stack, SimulatedMixer(setup.round_at, seed))


def steps(setup: Setup, trainer: Trainer, first: int, last: int) -> list[list[float]]:
    """Take steps of the first epoch, again and again, and return their losses."""
    losses = []
    for step in range(first, last):
        batches = [setup.batches(rank, 0) for rank in range(setup.config.gpus)]
        x_NB, y_NB = stacked(batches, step % setup.steps_per_epoch)
        losses.append(trainer.step(x_NB, y_NB, 0.1 / (1 + step)).loss.tolist())
    return losses


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_a_checkpoint_goes_on_bitwise_as_if_nothing_had_been(
    algorithm: str, optimizer: str, tmp_path: Path
) -> None:
    setup = setup_of(algorithm=algorithm, optimizer=optimizer, codec="quantise")
    first = simulated(setup)
    steps(setup, first, 0, 5)
    save_checkpoint(tmp_path, 5, *first.saved())
    unbroken = steps(setup, first, 5, 9)
    second = simulated(setup)
    second.load(*load_checkpoint(tmp_path, 5))
    assert second.step_number == 5
    assert steps(setup, second, 5, 9) == unbroken
    assert torch.equal(first.replicas.x, second.replicas.x)
    assert not torch.equal(first.replicas.x[0], first.replicas.x[1]) or algorithm == "allreduce"


def test_running_statistics_and_plain_values_are_in_a_checkpoint() -> None:
    def trainer() -> Trainer:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.BatchNorm1d(4), nn.Linear(4, 10))
        stack = Stack(model, 2, F.cross_entropy)
        mixing = make_setup(SMALL).topology.at(0)
        algorithm = make_algorithm("local", stack.x.detach(), SimulatedMixer(lambda step: mixing))
        return Trainer(stack, algorithm, torch.optim.Adam(stack.parameters))

    x_NB, y_NB = torch.randn(2, 6, 1, 8, 8), torch.randint(10, (2, 6))
    first, second = trainer(), trainer()
    first.step(x_NB, y_NB, 0.01)
    tensors, state = first.saved()
    tensors = {name: one.clone() for name, one in tensors.items()}
    assert tensors["buffers/2.running_mean"].shape == (2, 4)
    second.load(tensors, json.loads(json.dumps(state)))
    for one in (first, second):
        one.step(x_NB, y_NB, 0.01)
    for name, buffer in first.replicas.buffers().items():
        assert torch.equal(buffer, second.replicas.buffers()[name]), name
    assert torch.equal(first.replicas.x, second.replicas.x)


@pytest.mark.parametrize("max_grad_norm", [None, 0.5])
@pytest.mark.parametrize("task", ["digits", "digits-cnn"])
def test_one_replica_trains_as_a_model_on_its_own(task: str, max_grad_norm: float | None) -> None:
    setup = setup_of(task=task, gpus=1, batch=16, max_grad_norm=max_grad_norm, graph="complete")
    replica = Replica(setup.task.make_model(0), setup.task.loss)
    trainer = Trainer(
        replica,
        make_algorithm("local", replica.x, SimulatedMixer(setup.round_at)),
        torch.optim.SGD(replica.parameters, lr=0.1, momentum=0.9),
        max_grad_norm,
    )
    model = setup.task.make_model(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = setup.batches(0, 0)
    for step in range(3):
        x_B, y_B = batches.take(step)
        loss = trainer.step(x_B, y_B, 0.1).loss
        optimizer.zero_grad()
        expected = setup.task.loss(model(x_B), y_B)
        expected.backward()
        if max_grad_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        optimizer.step()
        assert float(loss) == pytest.approx(float(expected.detach()), rel=1e-6)
    flat = torch.cat([one.detach().flatten() for one in model.parameters()])
    assert torch.allclose(replica.x, flat, atol=1e-6)


def test_a_loss_that_is_not_a_number_stops_before_the_step() -> None:
    setup = setup_of(algorithm="atc")
    trainer = simulated(setup)
    steps(setup, trainer, 0, 2)
    before = trainer.replicas.x.detach().clone()
    x_NB, y_NB = stacked([setup.batches(rank, 0) for rank in range(4)], 0)
    x_NB[2, 0] = float("nan")
    with pytest.raises(Diverged) as raised:
        trainer.step(x_NB, y_NB, 0.1)
    assert str(raised.value) == "training diverged: the loss became nan in step 2"
    assert raised.value.hint == "try a lower --lr"
    assert torch.equal(trainer.replicas.x, before)


def test_an_epoch_yields_its_steps_and_measures_the_last_one() -> None:
    setup = setup_of(algorithm="atc")
    trainer = simulated(setup)
    batches = [setup.batches(rank, 0) for rank in range(4)]
    epoch = train_epoch(trainer, 3, lambda step: stacked(batches, step), lambda step: 0.1)
    assert [next(epoch), next(epoch), next(epoch)] == [1, 2, 3]
    with pytest.raises(StopIteration) as ended:
        next(epoch)
    result = ended.value.value
    assert tuple(result.loss.shape) == (4,)
    assert tuple(result.norms.shape) == (4, len(trainer.replicas.layout.names))
    # before mixing replicas are further apart than after it
    after_NK = trainer.replicas.layout.norms(trainer.replicas.x.detach())
    assert result.norms.std(dim=0).sum() > after_NK.std(dim=0).sum()


def test_evaluation_is_over_all_examples_batch_by_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = setup_of()
    model = setup.task.make_model(3).eval()
    with torch.no_grad():
        x_B, y_B = setup.task.test.take(np.arange(len(setup.task.test)))
        output = model(x_B)
        loss, other = (float(F.cross_entropy(sign * output, y_B)) for sign in (1, -1))
        right = float((output.argmax(1) == y_B).float().mean())
        monkeypatch.setattr("mlscale.decentral.trainer.TEST_BATCH", 100)
        task = setup.task
        losses, rights = evaluate(task, task.test, lambda x: iter([model(x), -model(x)]), 2)
    assert losses == pytest.approx([loss, other], rel=1e-6)
    assert rights[0] == pytest.approx(right)
    assert evaluate(task, task.test, lambda x: iter([]), 0) == ([], [])
