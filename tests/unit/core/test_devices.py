"""Device names, and what is said when a device is not here."""

import pytest
import torch  # noqa: TID253 - nearly every test here needs it

from mlscale.core.devices import check_device_name, resolve_device
from mlscale.core.errors import UserError


@pytest.mark.parametrize("name", ["auto", "cpu", "cuda", "mps", "cuda:0", "cuda:12"])
def test_legal_names(name: str) -> None:
    check_device_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1:2", "cpu:0", "CUDA", "cuda:²", "cuda:0\n"],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UserError) as caught:
        check_device_name(name)
    assert caught.value.message == f"unknown device {name!r}"
    assert "choices: auto, cpu, cuda, mps, cuda:N" in (caught.value.hint or "")


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UserError) as caught:
        check_device_name("cud")
    assert (caught.value.hint or "").startswith("did you mean 'cuda'? ")


def machine(monkeypatch: pytest.MonkeyPatch, *, cuda: int = 0, mps: bool = False) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "best"), [(0, False, "cpu"), (0, True, "mps"), (2, False, "cuda")]
)
def test_auto_takes_the_best(
    monkeypatch: pytest.MonkeyPatch, cuda: int, mps: bool, best: str
) -> None:
    machine(monkeypatch, cuda=cuda, mps=mps)
    assert resolve_device("auto") == best
    assert resolve_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("name", "cuda", "message"),
    [
        ("cuda", 0, "no CUDA device here"),
        ("cuda:0", 0, "no CUDA device here"),
        ("cuda:2", 2, "no device cuda:2: this machine has 2"),
        ("mps", 2, "no MPS device here"),
    ],
)
def test_a_device_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch, name: str, cuda: int, message: str
) -> None:
    machine(monkeypatch, cuda=cuda)
    with pytest.raises(UserError) as caught:
        resolve_device(name)
    assert caught.value.message == message
