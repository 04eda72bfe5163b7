"""The tasks on Fashion-MNIST, CIFAR-10 and image folders, on tiny files of their formats."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from PIL import Image
from torch.func import (  # noqa: TID253 - the same
    functional_call,
    grad,
    stack_module_state,
    vmap,
)

from mlscale.core.data.cifar10 import TEST, TRAIN
from mlscale.core.errors import UserError
from mlscale.decentral.tasks.base import Task
from mlscale.decentral.tasks.imagenet import DEVIATION, MEAN
from mlscale.decentral.tasks.registry import make_task


@pytest.fixture
def clothes(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for part, count in (("train", 12), ("t10k", 4)):
        for name, shape, top in (
            ("images-idx3", (count, 28, 28), 256),
            ("labels-idx1", (count,), 10),
        ):
            sizes = b"".join(size.to_bytes(4, "big") for size in shape)
            values = rng.integers(0, top, shape).astype(np.uint8).tobytes()
            content = gzip.compress(bytes([0, 0, 8, len(shape)]) + sizes + values)
            (tmp_path / f"{part}-{name}-ubyte.gz").write_bytes(content)
    return tmp_path


@pytest.fixture
def cifar(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in (*TRAIN, TEST):
        rows = rng.integers(0, 256, (3, 3073)).astype(np.uint8)
        rows[:, 0] %= 10
        (tmp_path / f"{name}.bin").write_bytes(rows.tobytes())
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for part, count in (("train", 3), ("val", 2)):
        for name in ("cat", "dog"):
            (tmp_path / part / name).mkdir(parents=True)
            for number in range(count):
                pixels = rng.integers(0, 256, (20, 30, 3)).astype(np.uint8)
                Image.fromarray(pixels).save(tmp_path / part / name / f"{number}.png")
    return tmp_path


def takes_a_step(task: Task) -> None:
    """Check that a step on one batch lowers its loss."""
    model = task.make_model(0)
    index = np.arange(min(4, len(task.train)))
    x, y = task.train.take(index)
    x = task.augment(x, torch.Generator().manual_seed(0))
    before = task.loss(model(x), y)
    before.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 1e-3 * parameter.grad / (parameter.grad.norm() + 1e-9)
        assert task.loss(model(x), y) < before


@pytest.mark.parametrize("name", ["fashion_mnist", "fashion_mnist-resnet8"])
def test_clothes(clothes: Path, name: str) -> None:
    task = make_task(name, data_dir=clothes)
    x, y = task.train.take(np.arange(12).reshape(3, 4))
    assert (x.shape, y.shape) == ((3, 4, 1, 28, 28), (3, 4))
    assert abs(float(x.mean())) < 1e-5
    assert task.source.origin == f"folder {clothes}"
    assert task.vmap_safe == (name == "fashion_mnist")
    takes_a_step(task)


def test_the_scale_is_that_of_all_training_images_few_as_may_be_kept(clothes: Path) -> None:
    whole, few = (make_task("fashion_mnist", data_dir=clothes, max_train=m) for m in (None, 2))
    assert len(few.train) == 2
    every = np.arange(4)
    assert torch.equal(whole.test.take(every)[0], few.test.take(every)[0])
    assert whole.source.sha256 == few.source.sha256


@pytest.mark.parametrize("name", ["cifar10", "cifar10-cnn"])
def test_cifar(cifar: Path, name: str) -> None:
    task = make_task(name, data_dir=cifar)
    assert (len(task.train), len(task.test)) == (15, 3)
    x, _ = task.train.take(np.arange(15))
    assert x.mean(dim=(0, 2, 3)).abs().max() < 1e-5
    assert not torch.equal(task.augment(x, torch.Generator().manual_seed(0)), x)
    assert task.vmap_safe == (name == "cifar10-cnn")
    takes_a_step(task)


@pytest.mark.parametrize("name", ["fashion_mnist", "cifar10-cnn"])
def test_vmap_is_silent_where_a_task_says_it_is_safe(name: str, request) -> None:
    data_dir = request.getfixturevalue("cifar" if name.startswith("cifar") else "clothes")
    task = make_task(name, data_dir=data_dir)
    assert task.vmap_safe
    models = [task.make_model(seed) for seed in range(2)]
    weights, buffers = stack_module_state(models)
    x, y = task.train.take(np.arange(4).reshape(2, 2))

    def loss(weights: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return task.loss(functional_call(models[0], (weights, buffers), (x,)), y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stacked = vmap(grad(loss))(weights, x, y)
    task.loss(models[1](x[1]), y[1]).backward()
    for key, parameter in models[1].named_parameters():
        torch.testing.assert_close(stacked[key][1], parameter.grad, rtol=1e-3, atol=1e-5)


def test_an_image_folder(folder: Path) -> None:
    task = make_task("imagenet", data_dir=folder)
    assert (len(task.train), len(task.test), task.num_classes) == (6, 4, 2)
    assert task.train.labels.tolist() == [0, 0, 0, 1, 1, 1]
    x, y = task.train.take(np.array([[0, 3], [5, 2]]))
    assert (x.shape, y.tolist()) == ((2, 2, 3, 256, 256), [[0, 1], [1, 0]])
    assert task.augment(x, torch.Generator()).shape == (2, 2, 3, 224, 224)
    x_test, _ = task.test.take(np.array([1]))
    assert x_test.shape == (1, 3, 224, 224)
    shift, scale = (torch.tensor(v)[:, None, None] for v in (MEAN, DEVIATION))
    colours = x_test[0] * scale + shift
    assert -1e-5 < colours.min() < colours.max() < 1 + 1e-5
    few = make_task("imagenet", data_dir=folder, max_train=3, seed=1)
    assert len(few.train) == len(few.train.labels) == 3


@pytest.mark.slow
def test_resnet50_learns_a_folder(folder: Path) -> None:
    takes_a_step(make_task("imagenet", data_dir=folder))


@pytest.mark.slow
def test_the_colours_of_imagenet_are_those_of_transformers() -> None:
    from transformers.image_utils import IMAGENET_DEFAULT_MEAN, IMAGENET_DEFAULT_STD

    assert list(MEAN) == list(IMAGENET_DEFAULT_MEAN)
    assert list(DEVIATION) == list(IMAGENET_DEFAULT_STD)


def test_the_hash_of_a_folder_changes_with_a_file(folder: Path) -> None:
    before = make_task("imagenet", data_dir=folder).source
    assert before.hashed == "names and sizes of all files"
    Image.new("RGB", (4, 4)).save(folder / "train" / "cat" / "0.png")
    assert make_task("imagenet", data_dir=folder).source.sha256 != before.sha256


def test_wrong_folders_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="task 'imagenet' needs a folder of images"):
        make_task("imagenet")
    with pytest.raises(UserError, match="nothing is not a folder"):
        make_task("imagenet", data_dir=folder / "nothing")
    (folder / "val" / "dog").rename(folder / "val" / "wolf")
    with pytest.raises(UserError, match=r"train and val in .* differ in class 'dog'"):
        make_task("imagenet", data_dir=folder)
