"""The checks behind `mlscale doctor`."""

import sys

import pytest

from mlscale.core import health
from mlscale.core.health import EXTRAS, REQUIRED_PACKAGES, Check, check_all


def by_name(checks: list[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


def test_every_required_package_extra_and_part_is_looked_at() -> None:
    checks = by_name(check_all())
    assert set(checks) == {
        "machine", *REQUIRED_PACKAGES, "torch build", "devices", "backends", "Atari ROMs",
        *(f"extra {extra}" for extra in EXTRAS),
    }  # fmt: skip
    assert all(checks[name].state == "ok" for name in REQUIRED_PACKAGES)
    for check in checks.values():
        assert check.found
        assert check.mend == "" or check.state != "ok"


def test_a_missing_package_is_broken_and_mended_by_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    real = health.version_of
    monkeypatch.setattr(health, "version_of", lambda name: None if name == "numpy" else real(name))
    found = by_name(check_all())
    assert found["numpy"] == Check("numpy", "broken", "not installed", "pip install numpy")
    assert found["torch"].state == "ok"


def test_a_missing_extra_is_absent_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(health.EXTRAS, "video", ("no_such_module_here", "films of episodes"))
    found = by_name(check_all())["extra video"]
    assert found == Check(
        "extra video", "absent", "films of episodes", "pip install 'mlscale[video]'"
    )


@pytest.mark.parametrize("error", [ImportError("libfoo.so: cannot open"), RuntimeError("boom")])
def test_an_import_that_breaks_is_reported_and_the_other_checks_go_on(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken() -> Check:
        raise error

    monkeypatch.setattr(health, "_check_torch", broken)
    found = by_name(check_all())
    assert found["torch build"].state == "broken"
    assert found["torch build"].found == f"{type(error).__name__}: {error}"
    assert found["torch build"].mend
    assert found["Atari ROMs"].state == "ok"


@pytest.mark.parametrize(("roms", "state"), [([], "broken"), (["pong", "breakout"], "ok")])
def test_ale_without_roms_is_broken(
    monkeypatch: pytest.MonkeyPatch, roms: list[str], state: str
) -> None:
    import ale_py.roms

    monkeypatch.setattr(ale_py.roms, "get_all_rom_ids", lambda: roms)
    assert by_name(check_all())["Atari ROMs"].state == state


@pytest.mark.parametrize(
    ("built_for", "driver", "found", "mend"),
    [
        (None, None, "CPU only", ""),
        (None, "/usr/bin/nvidia-smi", "CPU only", "pip install --force-reinstall torch"),
        ("12.8", None, "CPU only, though torch is built for CUDA", "nvidia-smi"),
    ],
)
def test_no_gpu_says_what_to_do_by_build(
    monkeypatch: pytest.MonkeyPatch,
    built_for: str | None,
    driver: str | None,
    found: str,
    mend: str,
) -> None:
    import torch

    monkeypatch.setattr("mlscale.core.health.shutil.which", lambda name: driver)

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", built_for)
    assert by_name(check_all())["devices"] == Check("devices", "absent", found, mend)


def test_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", ["H200", "A100"].__getitem__)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert by_name(check_all())["devices"] == Check("devices", "ok", "H200, A100")


def test_a_broken_torch_does_not_hide_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # import torch raises ImportError
    found = by_name(check_all())
    assert found["machine"].state == "ok"
    assert {found[name].state for name in ("torch build", "devices")} == {"broken"}
