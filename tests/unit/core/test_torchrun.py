"""What torchrun says of a process."""

import pytest

from mlscale.core.torchrun import World, follows, torchrun_size, torchrun_world

VARIABLES = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
}


def test_a_process_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    assert torchrun_world() == World(rank=5, size=8, local_rank=1, local_size=4)
    assert torchrun_size() == 8
    assert follows() == 5


def test_a_process_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")  # clusters set the others by themselves
    assert torchrun_world() is None
    assert torchrun_size() is None
    assert follows() == 0
