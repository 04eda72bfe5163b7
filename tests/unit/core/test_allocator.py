"""Freed memory is kept for the next allocation."""

import platform
import subprocess
import sys

import pytest

from mlscale.core import allocator

ALLOCATE = """
import resource
from mlscale.core.allocator import keep_freed_memory

def allocate():
    blocks = [bytearray(b"1") * 12_000_000 for _ in range(4)]

if {keep}:
    assert keep_freed_memory()
allocate()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    allocate()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(*, keep: bool) -> int:
    command = [sys.executable, "-c", ALLOCATE.format(keep=keep)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has the setting")
def test_memory_that_is_kept_costs_no_page_faults() -> None:
    assert page_faults(keep=True) < 100 < page_faults(keep=False)


def test_other_systems_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not allocator.keep_freed_memory()
