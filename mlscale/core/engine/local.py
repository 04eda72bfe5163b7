"""Jobs as processes on this machine, one process for each attempt of a job."""

from __future__ import annotations

import atexit
import functools
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from mlscale.core.engine.process import Worker, prepare_fork_server
from mlscale.core.engine.tries import Tries, tick_s, tries_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from mlscale.core.engine.jobs import Event, Job, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """Runs jobs in processes on this machine.

    Attributes:
        num_workers: Jobs that run at one time.
        threads_per_worker: Threads that numerical libraries may use in each.
        max_attempts: Workers that may die over one job before it is given up.
        silence_limit_s: Seconds without a sign of life after which a job is killed.
        preload: Modules to import once for all jobs, besides the one that holds the work.
    """

    num_workers: int
    threads_per_worker: int = 1
    max_attempts: int = 3
    silence_limit_s: float = 600.0
    preload: tuple[str, ...] = ()

    def run(
        self, work: str, jobs: Sequence[Job], finished: Mapping[str, Sequence[Record]]
    ) -> Generator[Event]:
        """Run the jobs; see `Engine.run`."""
        waiting = deque(tries_of(jobs, finished, self.max_attempts))
        running: list[Worker] = []
        # An iterator that nobody closed must not keep its caller from exiting.
        stop = functools.partial(_stop, running)
        atexit.register(stop)
        try:
            while waiting or running:
                while waiting and len(running) < self.num_workers:
                    yield from self._start(work, waiting, running)
                ready, listened_s = self._listen(running)
                for worker in tuple(running):
                    yield from self._attend(worker, ready, listened_s)
                    if worker.sentinel in ready:
                        running.remove(worker)
                        yield from _bury(worker, waiting)
        finally:
            atexit.unregister(stop)
            stop()

    def _start(self, work: str, waiting: deque[Tries], running: list[Worker]) -> Iterator[Event]:
        tries = waiting.popleft()
        tries.begin()
        prepare_fork_server([work.partition(":")[0], *self.preload], self.threads_per_worker)
        try:
            running.append(Worker(work, tries, self.threads_per_worker))
        except (OSError, EOFError) as error:  # no memory, no handles, the fork server was killed
            time.sleep(tick_s(self.silence_limit_s))  # trying at once would waste the attempts
            yield from _lose(tries, f"did not start: {error!r}", waiting)

    def _listen(self, running: Sequence[Worker]) -> tuple[set[object], float]:
        """Wait for a message, a death or the next tick; return what is ready and the seconds."""
        timeout_s = tick_s(self.silence_limit_s)
        handles = [handle for worker in running for handle in worker.handles]
        began_s = time.monotonic()
        ready: set[object] = set(wait(handles, timeout_s))
        return ready, min(time.monotonic() - began_s, timeout_s)

    def _attend(self, worker: Worker, ready: set[object], listened_s: float) -> Iterator[Event]:
        tries = worker.tries
        if not ready.isdisjoint(worker.handles):
            for message in worker.receive():
                if (event := tries.take(message)) is not None:
                    yield event
            return
        tries.silent_s += listened_s
        if tries.silent_s >= self.silence_limit_s:
            worker.kill()
            if not tries.over:
                yield tries.give_up_silent(self.silence_limit_s)


def _bury(worker: Worker, waiting: deque[Tries]) -> Iterator[Event]:
    how = worker.close()
    if not worker.tries.over:
        yield from _lose(worker.tries, how, waiting)


def _lose(tries: Tries, reason: str, waiting: deque[Tries]) -> Iterator[Event]:
    event = tries.lose(reason)
    if not tries.over:
        waiting.appendleft(tries)
    yield event


def _stop(running: list[Worker]) -> None:
    for worker in running:
        worker.kill()
    while running:
        running.pop().close()
