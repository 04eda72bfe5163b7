"""Device names, and what is said when a device is not here."""

import pytest
import torch  # noqa: TID253 - nearly every test here needs it

from mlscale.core.devices import check_device_name, resolve_device, resolve_number_format
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


@pytest.mark.parametrize(
    ("capabilities", "automatic"),
    [
        ({"avx2": True, "avx512_bf16": False, "amx_bf16": False}, "float32"),
        ({"avx512_bf16": True}, "bfloat16"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"neon": True}, "float32"),
    ],
)
def test_bfloat16_is_automatic_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], automatic: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert resolve_number_format("auto", "cpu") == automatic
    assert resolve_number_format("auto", "mps") == "float32"
    for asked in ("float32", "bfloat16"):
        assert resolve_number_format(asked, "cpu") == asked


def test_an_old_torch_that_cannot_tell_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert resolve_number_format("auto", "cpu") == "float32"


@pytest.mark.parametrize(("built_for_it", "automatic"), [(True, "bfloat16"), (False, "float32")])
def test_a_gpu_that_emulates_bfloat16_computes_in_float32(
    monkeypatch: pytest.MonkeyPatch, built_for_it: bool, automatic: str
) -> None:
    def is_bf16_supported(*, including_emulation: bool = True) -> bool:
        return including_emulation or built_for_it

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", is_bf16_supported)
    assert resolve_number_format("auto", "cuda:1") == automatic
