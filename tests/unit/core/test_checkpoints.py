"""Checkpoints: whole or absent, the last two kept, read back bit for bit."""

import errno
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: TID253 - nearly every test here needs it

from mlscale.core import checkpoints
from mlscale.core.checkpoints import (
    checkpoint_steps,
    load_arrays,
    load_checkpoint,
    save_checkpoint,
)
from mlscale.core.errors import UserError, WorkFailed


def save(folder: Path, step: int, value: float | None = None) -> Path:
    filled = torch.full((3,), float(step if value is None else value))
    return save_checkpoint(folder, step, {"w": filled}, {"step": step})


def value_of(folder: Path, step: int) -> float:
    return float(load_checkpoint(folder, step)[0]["w"][0])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int8, torch.int64,
     torch.bool, torch.uint8],
)  # fmt: skip
def test_tensors_come_back_bit_for_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    bits = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    tensors = {
        "plain": bits.to(dtype),
        "transposed": bits.to(dtype).T,
        "strided": bits.to(dtype)[:, ::2],
        "scalar": bits.to(dtype)[0, 0],
        "empty": bits.to(dtype)[:0],
    }
    save_checkpoint(tmp_path, 0, tensors, {})
    loaded, _ = load_checkpoint(tmp_path, 0)
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == dtype
        assert torch.equal(loaded[name], tensor), name


def test_nan_and_infinity_in_tensors_survive(tmp_path: Path) -> None:
    tensor = torch.tensor([math.nan, math.inf, -math.inf, -0.0])
    save_checkpoint(tmp_path, 0, {"w": tensor}, {})
    loaded = load_checkpoint(tmp_path, 0)[0]["w"]
    assert torch.equal(loaded.view(torch.int32), tensor.view(torch.int32))


def test_tensors_that_share_memory_are_each_saved_whole(tmp_path: Path) -> None:
    whole = torch.arange(12.0)
    tied = torch.nn.Linear(3, 3, bias=False)
    tensors = {
        "a": whole, "again": whole, "view": whole.view(3, 4), "part": whole[2:5],
        "head": tied.weight, "embedding": tied.weight,
    }  # fmt: skip
    before = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    save_checkpoint(tmp_path, 0, tensors, {})
    loaded, _ = load_checkpoint(tmp_path, 0)
    assert all(torch.equal(loaded[name], before[name]) for name in tensors)
    assert tensors["again"] is whole


def test_a_resumed_optimizer_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    def make() -> tuple[torch.nn.Linear, torch.optim.Adam]:
        model = torch.nn.Linear(4, 1)
        torch.nn.init.ones_(model.weight)
        torch.nn.init.zeros_(model.bias)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def step(model: torch.nn.Linear, optimizer: torch.optim.Adam) -> None:
        optimizer.zero_grad()
        (model(torch.ones(1, 4)) ** 2).sum().backward()
        optimizer.step()

    model, optimizer = make()
    step(model, optimizer)
    moments = {
        f"{index}.{name}": tensor
        for index, state in optimizer.state_dict()["state"].items()
        for name, tensor in state.items()
    }
    save_checkpoint(tmp_path, 1, {**model.state_dict(), **moments}, {})
    step(model, optimizer)

    tensors, _ = load_checkpoint(tmp_path, 1)
    again, resumed = make()
    again.load_state_dict({name: tensors[name] for name in again.state_dict()})
    state = resumed.state_dict()
    for name in moments:
        index, _, key = name.partition(".")
        state["state"].setdefault(int(index), {})[key] = tensors[name]
    resumed.load_state_dict(state)
    step(again, resumed)
    assert torch.equal(again.weight, model.weight)


def test_state_comes_back_as_json_does(tmp_path: Path) -> None:
    state = {"order": [3, 1, 2], "best": 0.1 + 0.2, "rng": 2**127 + 1, "none": None, "é": True}
    save_checkpoint(tmp_path, 5, {}, state)
    assert load_checkpoint(tmp_path, 5) == ({}, state)


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    assert checkpoint_steps(tmp_path / "none") == []
    for step in (9, 10, 100, 11):
        save(tmp_path, step)
    assert checkpoint_steps(tmp_path) == [11, 100]
    assert names(tmp_path) == ["100", "11"]


def test_a_step_saved_again_is_replaced(tmp_path: Path) -> None:
    save(tmp_path, 1, value=3)
    save(tmp_path, 1, value=4)
    assert value_of(tmp_path, 1) == 4
    assert names(tmp_path) == ["1"]


def test_nan_in_the_state_is_refused_and_the_old_one_stays(tmp_path: Path) -> None:
    save(tmp_path, 1)
    with pytest.raises(ValueError, match="not JSON compliant"):
        save_checkpoint(tmp_path, 2, {}, {"loss": math.nan})
    assert names(tmp_path) == ["1"]


def failing(number: int, error: BaseException) -> Callable[..., Any]:
    """Return a Path.replace whose call number `number` raises `error`."""
    real, calls = Path.replace, [0]

    def replace(self: Path, target: Path) -> Path:
        calls[0] += 1
        if calls[0] == number:
            raise error
        return real(self, target)

    return replace


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (OSError(errno.ENOSPC, "No space left"), WorkFailed),
        (OSError(errno.EROFS, "Read-only file system"), UserError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_a_save_that_fails_leaves_the_checkpoints_before_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    error: BaseException,
    becomes: type[BaseException],
    again: bool,
) -> None:
    save(tmp_path, 1)
    save(tmp_path, 2)
    step = 2 if again else 3
    if number == 4 and not again:
        number = 3  # tensors, state, the folder; again, the old one goes aside before it
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing(number, error))
        with pytest.raises(becomes):
            save(tmp_path, step, value=99)
    assert names(tmp_path) == ["1", "2"]
    assert [value_of(tmp_path, step) for step in (1, 2)] == [1, 2]


KILLED = """
import os, signal, sys, torch
from pathlib import Path
from mlscale.core.checkpoints import save_checkpoint
real = Path.replace
def replace(self, target):
    if self.is_dir():
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, target)
Path.replace = replace
save_checkpoint(Path(sys.argv[1]), 2, {"w": torch.ones(3)}, {})
"""


def test_a_kill_between_write_and_rename_leaves_the_old_one(tmp_path: Path) -> None:
    save(tmp_path, 1)
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert names(tmp_path) == [".2.tmp", "1"]
    assert checkpoint_steps(tmp_path) == [1]
    assert value_of(tmp_path, 1) == 1
    save(tmp_path, 3)
    assert names(tmp_path) == ["1", "3"]  # what the kill left half-written is gone


def test_a_kill_while_an_old_one_is_removed_leaves_no_half_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.rmtree

    def killed(path: Path, ignore_errors: bool = False) -> None:
        files = list(path.glob("*"))
        if files:
            files[0].unlink()
            raise KeyboardInterrupt
        real(path, ignore_errors=ignore_errors)

    for step in (1, 2):
        save(tmp_path, step)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, 3)
    assert checkpoint_steps(tmp_path) == [2, 3]
    assert [value_of(tmp_path, step) for step in (2, 3)] == [2, 3]


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda target: truncate(target / "tensors.safetensors"),
        lambda target: truncate(target / "state.json"),
        lambda target: (target / "tensors.safetensors").write_bytes(b""),
        lambda target: (target / "tensors.safetensors").write_bytes(b"\xff" * 100),
        lambda target: (target / "tensors.safetensors").unlink(),
        lambda target: (target / "state.json").write_bytes(b"\xff"),
        lambda target: (target / "state.json").unlink(),
        shutil.rmtree,
    ],
)
def test_a_damaged_checkpoint_is_a_user_error(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    save(tmp_path, 1)
    target = save(tmp_path, 2)
    damage(target)
    with pytest.raises(UserError, match=f"^{target} is not a readable checkpoint: ") as caught:
        load_checkpoint(tmp_path, 2)
    assert (caught.value.hint or "").startswith("complete checkpoints here: [1")


def test_some_arrays_are_read_without_the_others(tmp_path: Path) -> None:
    tensors = {"net/a": torch.arange(3.0), "net/b": torch.ones(2, 2), "replay": torch.zeros(5)}
    save_checkpoint(tmp_path, 7, tensors, {})
    arrays = load_arrays(tmp_path, 7, "net/")
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "a": [0.0, 1.0, 2.0], "b": [[1.0, 1.0], [1.0, 1.0]]
    }  # fmt: skip
    with pytest.raises(UserError) as caught:
        load_arrays(tmp_path, 7, "nosuch/")
    assert caught.value.message == f"{tmp_path / '7'} has no tensor named nosuch/..."
    with pytest.raises(UserError) as caught:
        load_arrays(tmp_path, 8, "net/")
    assert caught.value.message.startswith(f"{tmp_path / '8'} is not a readable checkpoint")
    assert caught.value.hint == "complete checkpoints here: [7]"
