"""The digits: the split by hand, the same model for a seed, the loss against a slow sum."""

import math
import warnings

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch.func import functional_call, grad, stack_module_state, vmap  # noqa: TID253 - the same

from mlscale.core.errors import UserError
from mlscale.decentral.tasks.base import Task
from mlscale.decentral.tasks.registry import TASKS, make_task


@pytest.fixture(scope="module")
def task() -> Task:
    return make_task("digits")


def test_every_image_is_in_one_of_the_parts_scaled_to_one(task: Task) -> None:
    from sklearn.datasets import load_digits

    assert (len(task.train), len(task.test)) == (1442, 355)
    x_train, y_train = task.train.take(np.arange(1442))
    x_test, y_test = task.test.take(np.arange(355))
    ours = np.concatenate([x_train.numpy(), x_test.numpy()]).reshape(-1, 64)
    theirs = load_digits()
    assert x_train.dtype == torch.float32
    assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs.data.astype(np.float32) / 16))
    all_y = np.concatenate([y_train, y_test])
    assert np.bincount(all_y).tolist() == np.bincount(theirs.target).tolist()
    shares = np.bincount(y_test) / np.bincount(all_y)
    assert (abs(shares - 0.2) < 0.01).all()


def test_an_index_of_two_dimensions_gives_a_batch_per_rank(task: Task) -> None:
    index = np.arange(12).reshape(3, 4)
    x, y = task.train.take(index)
    assert (x.shape, y.shape) == ((3, 4, 1, 8, 8), (3, 4))
    one, label = task.train.take(np.array([6]))
    assert torch.equal(x[1, 2], one[0])
    assert y[1, 2] == label[0] == task.train.labels[6]


@pytest.mark.parametrize("name", ["digits", "digits-cnn"])
def test_a_seed_gives_the_same_weights_and_disturbs_no_stream(name: str) -> None:
    task = make_task(name, max_train=20)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, same, other = (task.make_model(seed) for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    pairs = list(zip(first.parameters(), same.parameters(), other.parameters(), strict=True))
    assert all(torch.equal(a, b) for a, b, _ in pairs)
    assert not any(torch.equal(a, c) for a, _, c in pairs)


def test_the_perceptron_has_64_64_10_units(task: Task) -> None:
    num_parameters = sum(p.numel() for p in task.make_model(0).parameters())
    assert num_parameters == 64 * 64 + 64 + 64 * 10 + 10


def test_loss_and_count_by_hand(task: Task) -> None:
    outputs, y = torch.tensor([[0.0, math.log(3)], [0.0, 0.0]]), torch.tensor([1, 1])
    assert task.loss(outputs, y).item() == pytest.approx((math.log(4 / 3) + math.log(2)) / 2)
    assert task.correct(outputs, torch.tensor([1, 1])).item() == 1  # a tie goes to the first


def test_loss_of_tokens_is_the_mean_over_all_of_them(task: Task) -> None:
    outputs, y = torch.randn(3, 5, 7), torch.randint(0, 7, (3, 5))
    slow = [-outputs[b, t].log_softmax(0)[y[b, t]] for b in range(3) for t in range(5)]
    assert task.loss(outputs, y).item() == pytest.approx(float(sum(slow)) / 15, rel=1e-5)


@pytest.mark.parametrize("name", ["digits", "digits-cnn"])
def test_vmap_gives_every_replica_its_own_gradient(name: str) -> None:
    task = make_task(name, max_train=20)
    models = [task.make_model(seed) for seed in range(3)]
    weights, buffers = stack_module_state(models)
    x, y = task.train.take(np.arange(12).reshape(3, 4))

    def loss(weights: dict, buffers: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return task.loss(functional_call(models[0], (weights, buffers), (x,)), y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # vmap warns where it goes one by one
        stacked = vmap(grad(loss))(weights, buffers, x, y)
    for rank, model in enumerate(models):
        task.loss(model(x[rank]), y[rank]).backward()
        for key, parameter in model.named_parameters():
            torch.testing.assert_close(stacked[key][rank], parameter.grad, rtol=1e-4, atol=1e-6)


def test_a_perceptron_learns_the_digits(task: Task) -> None:
    model = task.make_model(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    x, y = task.train.take(np.arange(len(task.train)))
    for _ in range(150):
        optimizer.zero_grad()
        task.loss(model(x), y).backward()
        optimizer.step()
    x_test, y_test = task.test.take(np.arange(len(task.test)))
    assert task.correct(model(x_test), y_test).item() / len(task.test) > 0.9


def test_fewer_training_examples_are_drawn_from_the_seed() -> None:
    first, same, other = (make_task("digits", max_train=50, seed=s) for s in (0, 0, 1))
    index = np.arange(50)
    assert len(first.train) == len(other.train) == 50
    assert len(first.test) == 355
    assert torch.equal(first.train.take(index)[0], same.train.take(index)[0])
    assert not torch.equal(first.train.take(index)[0], other.train.take(index)[0])


def test_the_source_says_where_from(task: Task) -> None:
    source = task.source.to_json()
    assert source["origin"] == "package scikit-learn"
    assert len(source["sha256"]) == 64
    assert source["version"]
    assert task.source.sentence().startswith("data: digits from package scikit-learn ")


def test_errors_say_what_would_be_right(tmp_path) -> None:
    with pytest.raises(UserError, match="unknown task 'digit'") as caught:
        make_task("digit")
    assert "did you mean 'digits'?" in caught.value.hint
    assert all(name in caught.value.hint for name in TASKS)
    with pytest.raises(UserError, match="reads no folder"):
        make_task("digits", data_dir=tmp_path)
    with pytest.raises(UserError, match="at least one training example"):
        make_task("digits", max_train=0)
