"""One attempt of one job in a process of its own, on this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import types
from multiprocessing import forkserver, resource_tracker
from typing import TYPE_CHECKING, Any

from mlscale.core.engine import preload
from mlscale.core.engine.lifeline import end_with
from mlscale.core.engine.work import perform, thread_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from multiprocessing.connection import Connection

    from mlscale.core.engine.jobs import Record
    from mlscale.core.engine.tries import Tries
    from mlscale.core.engine.work import Message

# A fork server imports torch once and forks each job from there, in milliseconds. Elsewhere than
# on Linux system libraries may break in forked processes, so Python does not fork there either.
if sys.platform == "linux":
    CONTEXT = multiprocessing.get_context("forkserver")
else:
    CONTEXT = multiprocessing.get_context("spawn")


class Worker:
    """The caller's handle on the process of one attempt."""

    def __init__(self, work: str, tries: Tries, num_threads: int) -> None:
        self.tries = tries
        self._messages, sender = CONTEXT.Pipe(duplex=False)
        alive, self._lifeline = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(
            target=_main,
            args=(
                sender,
                alive,
                dict(os.environ),
                work,
                tries.job.payload,
                tries.records,
                num_threads,
            ),
            name=tries.job.key,
        )
        try:
            with _hidden_main(), _sigint_held(not _forks()):
                self._process.start()
        except BaseException:
            self._messages.close()
            self._lifeline.close()
            raise
        finally:
            sender.close()
            alive.close()

    @property
    def sentinel(self) -> int:
        """A handle that becomes ready when the process has ended."""
        return self._process.sentinel

    @property
    def handles(self) -> list[Connection | int]:
        """What becomes ready when the process has something to say or has ended."""
        return [self.sentinel] if self._messages.closed else [self.sentinel, self._messages]

    def receive(self) -> Iterator[Message]:
        """Yield one waiting message, or all that a dead process has left behind."""
        while not self._messages.closed and self._messages.poll():
            try:
                message = self._messages.recv()
            except (EOFError, OSError):  # it closed its end, or died within a message
                self._messages.close()
                return
            yield message
            if self._process.is_alive():  # the other jobs have a turn
                return

    def kill(self) -> None:
        """Kill the process; nothing in it can refuse."""
        self._process.kill()

    def close(self) -> str:
        """Wait for the end of a process that is ending, and say how it ended."""
        self._process.join()
        exitcode = self._process.exitcode
        self._process.close()
        self._messages.close()
        self._lifeline.close()
        return describe_exit(exitcode)


def describe_exit(exitcode: int | None) -> str:
    """Return how a process ended, as in "was killed by SIGKILL"."""
    if exitcode is None or exitcode >= 0:
        return f"exited with code {exitcode}"
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = f"signal {-exitcode}"
    out_of_memory = " (out of memory?)" if name == "SIGKILL" else ""
    return f"was killed by {name}{out_of_memory}"


def prepare_fork_server(modules: Sequence[str], num_threads: int) -> None:
    """Start this process's fork server, if it is not running yet.

    There is one for the whole life of a process: modules that a later call adds are imported
    by each job instead.

    Args:
        modules: What it imports for all jobs to come.
        num_threads: Threads that the libraries it imports may use.
    """
    if not _forks():
        return
    forkserver.set_forkserver_preload([__name__, preload.__name__])
    environment = {
        **thread_environment(num_threads),
        preload.VARIABLE: ",".join(modules),
        "PYTHONPATH": os.pathsep.join(sys.path),  # before 3.12 nothing else tells it
    }
    with _environment(environment), _sigint_held(True):
        forkserver.ensure_running()


def _main(
    sender: Connection,
    alive: Connection,
    environment: Mapping[str, str],
    work: str,
    payload: Mapping[str, Any],
    finished: Sequence[Record],
    num_threads: int,
) -> None:
    end_with(alive)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the caller decides
    os.dup2(2, 1)  # stdout is for the command's result
    os.environ.clear()  # the fork server's is as old as the fork server
    os.environ.update(environment)
    with contextlib.suppress(BrokenPipeError):  # the caller has lost interest
        for message in perform(work, payload, finished, num_threads):
            sender.send(message)


def _forks() -> bool:
    return CONTEXT.get_start_method() == "forkserver"


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _hidden_main() -> Iterator[None]:
    """Hide the main module, which multiprocessing would run again in every job.

    That costs the import of the whole command line, and a script without a main guard would
    start its jobs again. No job needs it: work is named by its module.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def _sigint_held(wanted: bool) -> Iterator[None]:
    """Hold Ctrl-C back, in the processes started here for good: they are too young to ignore it."""
    if not wanted or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting it ends with SIGINT let through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
