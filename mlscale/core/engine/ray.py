"""Jobs as tasks on a Ray cluster, one streaming task for each attempt of a job."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlscale.core.engine.make import default_workers
from mlscale.core.engine.tries import Tries, tick_s, tries_of
from mlscale.core.engine.work import describe, perform
from mlscale.core.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from mlscale.core.engine.jobs import Event, Job, Record

# Records are small and travel beside the object store, so a local cluster needs the least of it.
_LOCAL_STORE_BYTES = 100_000_000

_CONNECT_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RayEngine:
    """Runs jobs on a Ray cluster, whose machines have the same mlscale installed.

    Attributes:
        address: The cluster; RAY_ADDRESS, or else a new one on this machine, when None.
        num_workers: Jobs given to the cluster at one time; all of them when None.
        threads_per_worker: Processor cores taken by each job, and threads it may use.
        max_attempts: Workers that may die over one job before it is given up.
        silence_limit_s: Seconds without a sign of life, from its start, after which a job
            is killed.
    """

    address: str | None = None
    num_workers: int | None = None
    threads_per_worker: int = 1
    max_attempts: int = 3
    silence_limit_s: float = 600.0

    def run(
        self, work: str, jobs: Sequence[Job], finished: Mapping[str, Sequence[Record]]
    ) -> Generator[Event]:
        """Run the jobs; see `Engine.run`."""
        waiting = tries_of(jobs, finished, self.max_attempts)[::-1]
        most = self.num_workers or len(waiting)
        with self._cluster() as ray:
            remote = ray.remote(
                num_cpus=self.threads_per_worker,
                num_returns="streaming",
                max_retries=0,  # Ray's own retry would not know the finished records
            )(perform)
            running: dict[Any, Tries] = {}
            try:
                while waiting or running:
                    while waiting and len(running) < most:
                        tries = waiting.pop()
                        tries.begin()
                        stream = remote.remote(
                            work, tries.job.payload, tries.records, self.threads_per_worker
                        )
                        running[stream] = tries
                    yield from self._listen(ray, running, waiting)
            finally:
                for stream in running:
                    ray.cancel(stream, force=True)

    def _listen(self, ray: Any, running: dict[Any, Tries], waiting: list[Tries]) -> Iterator[Event]:
        """Wait for the next messages or the next tick, and yield what they mean."""
        timeout_s = tick_s(self.silence_limit_s)
        began_s = time.monotonic()
        streams = list(running)
        ray.wait(streams, timeout=timeout_s, fetch_local=False)
        listened_s = min(time.monotonic() - began_s, timeout_s)
        # The first wait ends with one stream; the others must not have to wait for it.
        ready, silent = ray.wait(streams, num_returns=len(streams), timeout=0, fetch_local=False)
        for stream in ready:
            tries = running[stream]
            event, ended = _next_event(ray, stream, tries)
            if ended:
                del running[stream]
                if not tries.over:
                    waiting.append(tries)
            if event is not None:
                yield event
        for stream in silent:
            tries = running[stream]
            if not tries.heard:  # it has not started, which may take as long as it takes
                continue
            tries.silent_s += listened_s
            if tries.silent_s >= self.silence_limit_s:
                ray.cancel(stream, force=True)
                del running[stream]
                if not tries.over:
                    yield tries.give_up_silent(self.silence_limit_s)

    @contextlib.contextmanager
    def _cluster(self) -> Iterator[Any]:
        """Connect to the cluster, or start one, for the time of the context."""
        ray = _import_ray()
        if ray.is_initialized() and not self.address:  # the caller's own connection
            yield ray
            return
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        address = self.address or os.environ.get("RAY_ADDRESS")
        if address:
            _connect(ray, address, quiet)
        else:
            num_cpus = self.num_workers or default_workers(self.threads_per_worker)
            ray.init(
                address="local",
                num_cpus=num_cpus * self.threads_per_worker,
                include_dashboard=False,
                object_store_memory=_LOCAL_STORE_BYTES,
                **quiet,
            )
        try:
            with _cluster_errors_on_stderr(ray):
                yield ray
        finally:
            ray.shutdown()


def _next_event(ray: Any, stream: Any, tries: Tries) -> tuple[Event | None, bool]:
    """Take the next message of a stream that has one; return its event and whether it ended."""
    try:
        message = ray.get(next(stream))
    except StopIteration:
        return (None if tries.over else tries.lose("ended without a word")), True
    except ray.exceptions.RayTaskError as error:  # before or around the job, such as an import
        return tries.take(describe(error)), True
    except ray.exceptions.RayError as error:
        # Also when only one message is lost: those after it would come out of order.
        ray.cancel(stream, force=True)
        return tries.lose(f"was lost: {type(error).__name__}"), True
    return tries.take(message), False


def _connect(ray: Any, address: str, options: Mapping[str, Any]) -> None:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        if port.isdecimal():  # Ray itself goes on knocking at a closed door for many minutes
            socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_S).close()
        ray.init(address=address, **options)
    except OSError as error:
        raise UserError(
            f"there is no Ray cluster at {address}",
            "start one with `ray start --head`, or leave the address out for a local one",
        ) from error


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # What will be the default: jobs without GPUs see them all, as they do without Ray.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UserError(
            "engine 'ray' needs the extra 'ray'", "pip install 'mlscale[ray]'"
        ) from error
    return ray


@contextlib.contextmanager
def _cluster_errors_on_stderr(ray: Any) -> Iterator[None]:
    """Send to stderr what Ray prints of a cluster's errors; it has no setting for that.

    They say what an event cannot, such as that no machine has the cores a job asks for.
    """
    module = ray._private.worker
    show = module.print_to_stdstream
    module.print_to_stdstream = lambda data, **rest: show({**data, "is_err": True}, **rest)
    try:
        yield
    finally:
        module.print_to_stdstream = show
