"""Names of engines, as the command line writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlscale.core.environment import usable_cpus
from mlscale.core.errors import unknown_name

if TYPE_CHECKING:
    from mlscale.core.engine.jobs import Engine

NAMES = ("local", "ray")


def make_engine(
    name: str = "local",
    *,
    num_workers: int | None = None,
    threads_per_worker: int = 1,
    max_attempts: int = 3,
    silence_limit_s: float = 600.0,
    preload: tuple[str, ...] = (),
    address: str | None = None,
) -> Engine:
    """Return the engine of that name.

    Args:
        name: One of `NAMES`.
        num_workers: Jobs that run at one time; as many as the processor cores hold when None
            (on a Ray cluster: as many as the cluster holds).
        threads_per_worker: Threads, and with Ray processor cores, that each job may use.
        max_attempts: Workers that may die over one job before it is given up.
        silence_limit_s: Seconds without a sign of life after which a job is killed.
        preload: Modules that the local engine imports once for all jobs.
        address: The Ray cluster to use; RAY_ADDRESS, or else a new one on this machine, when None.

    Raises:
        UserError: There is no engine of that name.
    """
    if name == "local":
        from mlscale.core.engine.local import LocalEngine

        return LocalEngine(
            num_workers=num_workers or default_workers(threads_per_worker),
            threads_per_worker=threads_per_worker,
            max_attempts=max_attempts,
            silence_limit_s=silence_limit_s,
            preload=preload,
        )
    if name == "ray":
        from mlscale.core.engine.ray import RayEngine

        return RayEngine(
            address=address,
            num_workers=num_workers,
            threads_per_worker=threads_per_worker,
            max_attempts=max_attempts,
            silence_limit_s=silence_limit_s,
        )
    raise unknown_name("engine", name, NAMES, listing=f"the engines are {', '.join(NAMES)}")


def default_workers(threads_per_worker: int) -> int:
    """Return how many workers keep busy the processor cores that this process may use."""
    return max(1, usable_cpus() // threads_per_worker)
