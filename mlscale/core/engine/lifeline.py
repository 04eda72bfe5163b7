"""Ends a worker process when the process that wants its results is gone.

The caller holds the only write end of a pipe that nobody ever writes to; however the caller ends,
the kernel closes it. A thread that waits for that would be enough, were it not for C code that
keeps the interpreter lock for minutes. Linux can send SIGKILL at that moment by itself.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def end_with(lifeline: Connection) -> None:
    """Kill this process as soon as the other end of `lifeline` is closed."""
    if sys.platform == "linux":
        import fcntl

        fd = lifeline.fileno()
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
        if lifeline.poll():  # closed before the signal was armed
            os._exit(1)
    else:
        threading.Thread(target=_exit_after, args=(lifeline,), daemon=True).start()


def _exit_after(lifeline: Connection) -> None:
    lifeline.poll(None)
    os._exit(1)
