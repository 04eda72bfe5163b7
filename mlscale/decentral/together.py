"""Processes that torchrun started meet, and hear why one of them ends."""

from __future__ import annotations

import contextlib
import signal
from datetime import timedelta
from typing import TYPE_CHECKING

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253
from torch.distributed.rendezvous import rendezvous  # noqa: TID253

from mlscale.core.devices import resolve_device
from mlscale.core.errors import MlscaleError, UserError, WorkFailed, one_line
from mlscale.core.torchrun import ToldElsewhereError
from mlscale.decentral.exchange import LostRankError
from mlscale.decentral.group import backend_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch._C._distributed_c10d import Store

    from mlscale.core.torchrun import World
    from mlscale.decentral.config import TrainConfig

CAUSE = "mlscale/cause"


def check_world(config: TrainConfig, world: World) -> None:
    """Refuse settings that torchrun decides.

    Raises:
        UserError: Another number of replicas is asked for, a simulation, or to go on without some.
    """
    if config.gpus != world.size:
        raise UserError(
            f"--gpus {config.gpus} is not the {world.size} processes that torchrun has started",
            "leave --gpus out: each process is a replica",
        )
    if config.engine == "simulate":
        raise UserError("a simulation is one process", "leave torchrun or --engine simulate out")
    if config.on_failure == "continue":
        raise UserError(
            "torchrun ends all processes when one is gone, so none can go on",
            "leave --on-failure out, and give --out DIR for a restart to go on from",
        )


def own_device(config: TrainConfig, world: World) -> str:
    """Return where this process computes: "cpu", or a CUDA device of its own.

    Raises:
        UserError: There are GPUs, and too few.
    """
    if not resolve_device(config.device).startswith("cuda"):
        return "cpu"
    found = torch.cuda.device_count()
    if found < world.local_size:
        raise UserError(
            f"torchrun has started {world.local_size} processes on a machine of {found} GPUs",
            f"use --nproc-per-node {found}, or --device cpu",
        )
    torch.cuda.set_device(world.local_rank)
    return f"cuda:{world.local_rank}"


class Cause:
    """Why a rank has ended: the first to know leaves word for rank 0.

    Args:
        store: That all ranks reach.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def leave(self, text: str) -> bool:
        """Leave word, and return whether there was none yet."""
        try:
            return bool(self._store.compare_set(CAUSE, "", text).decode() == text)
        except RuntimeError:  # whoever keeps the store is gone
            return True

    def read(self) -> str | None:
        """Return the word that was left."""
        with contextlib.suppress(RuntimeError):
            if self._store.check([CAUSE]):
                return str(self._store.get(CAUSE).decode())
        return None


@contextlib.contextmanager
def joined(world: World, device: str, silence_limit_s: float) -> Iterator[Store]:
    """Meet the other processes, for as long as the block lasts.

    Args:
        world: Of torchrun.
        device: Where this process computes.
        silence_limit_s: Seconds that a process waits for another.

    Yields:
        A store that all reach.

    Raises:
        ToldElsewhereError: Another process is gone or has failed, and rank 0 says so.
    """
    limit = timedelta(seconds=silence_limit_s)
    with _ended_at_once():
        store, rank, size = next(iter(rendezvous("env://", timeout=limit)))
        dist.init_process_group(
            backend_for(torch.device(device)),
            store=store,
            rank=rank,
            world_size=size,
            timeout=limit,
        )
    try:
        yield store
    except LostRankError as error:
        if error.rank is not None:
            Cause(store).leave(f"{error.which} is gone")
        if world.rank:
            raise ToldElsewhereError(error.message) from None
        raise
    except Exception as error:
        said = error.message if isinstance(error, MlscaleError) else one_line(error)
        is_first = Cause(store).leave(f"rank {world.rank} failed: {said}")
        if world.rank and isinstance(error, WorkFailed) and not is_first:
            raise ToldElsewhereError(said) from None  # as of a loss that is NaN on all ranks
        raise
    # After a failure the others may be gone, and taking leave of them could take for ever.
    dist.destroy_process_group()


@contextlib.contextmanager
def _ended_at_once() -> Iterator[None]:
    """Let torchrun end this process while it waits in torch, where Python hears no signals."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
