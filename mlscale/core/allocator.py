"""How the C library hands out memory: training on CPUs frees and takes the same large tensors.

glibc gives freed memory back to the system where there is much of it at the end of the heap, and
taking it again costs a page fault for every 4 KiB: a tenth to a sixth of the time of updates of a
convolutional network.
"""

from __future__ import annotations

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h
KEPT_BYTES = 2**30
LARGEST_KEPT_BYTES = 2**25  # of one block; glibc of 64 bits allows no more


def keep_freed_memory() -> bool:
    """Let this process keep up to 1 GiB that it freed for what it allocates next.

    Returns:
        Whether it does: not where the C library is another than glibc.

    Source: Linux man-pages, mallopt(3).
    """
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    settings = {M_MMAP_THRESHOLD: LARGEST_KEPT_BYTES, M_TRIM_THRESHOLD: KEPT_BYTES}
    return all(library.mallopt(name, value) == 1 for name, value in settings.items())
