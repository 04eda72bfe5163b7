"""The work of one replica's process.

Shape letters: P parameters; K parameter tensors.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253

from mlscale.core.allocator import keep_freed_memory
from mlscale.core.checkpoints import load_checkpoint, save_checkpoint
from mlscale.core.config import from_dict
from mlscale.core.engine.jobs import Progress
from mlscale.decentral.board import Board
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.exchange import ProcessMixer
from mlscale.decentral.group import backend_for, make_mixer
from mlscale.decentral.replica import Replica
from mlscale.decentral.replica_epochs import replica_epochs
from mlscale.decentral.setup import make_setup

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from mlscale.core.engine.jobs import Record
    from mlscale.decentral.setup import Setup

SIGN_EVERY_S = 0.5
PAUSE_S = 0.01


def train_rank(
    payload: Mapping[str, Any], finished: Sequence[Record]
) -> Iterator[Record | Progress]:
    """Train one replica and yield a report for each epoch, and between them how far it is.

    Args:
        payload: config, rank, meeting (the file that processes meet by), board, device, first
            (the epoch to begin with), loads (whose checkpoint of it) and checkpoints (the run's
            folder of them, or None).
        finished: Not used: `first` says where to begin.

    Raises:
        Diverged: A loss is NaN or infinite.
        LostRankError: Another replica is gone.
    """
    config = from_dict(TrainConfig, dict(payload["config"]), where="config")
    rank, num_ranks = int(payload["rank"]), config.gpus
    setup = make_setup(config)
    keep_freed_memory()
    device = torch.device(payload["device"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group(
        backend_for(device),
        init_method=f"file://{payload['meeting']}",
        rank=rank,
        world_size=num_ranks,
        timeout=timedelta(seconds=config.silence_limit_s),
    )
    if config.on_failure == "continue":
        mixer = ProcessMixer(rank, num_ranks, setup.round_at, config.seed, goes_on=True)
    else:
        mixer = make_mixer(device, rank, num_ranks, setup.round_at, seed=config.seed)
    said_s = -SIGN_EVERY_S
    for said in _train(setup, mixer, payload):
        if isinstance(said, dict):
            yield said
        elif time.monotonic() >= said_s + SIGN_EVERY_S:
            said_s = time.monotonic()
            yield Progress({"step": said})


def _train(
    setup: Setup, mixer: ProcessMixer, payload: Mapping[str, Any]
) -> Generator[Record | int]:
    """Yield reports, and between them the steps taken so far as often as there is time to."""
    config, task, rank = setup.config, setup.task, int(payload["rank"])
    device = str(payload["device"])
    replica = Replica(task.make_model(config.seed), task.loss, device)
    trainer = setup.trainer(replica, mixer)
    layout = replica.layout
    board = Board(Path(payload["board"]), config.gpus, layout.num_parameters, len(layout.names))
    folder = Path(payload["checkpoints"]) if payload["checkpoints"] else None
    first = int(payload["first"])
    if folder and first:
        trainer.load(*load_checkpoint(folder / f"rank-{payload['loads']}", first))
    yield trainer.step_number
    for said in replica_epochs(setup, rank, replica, trainer, mixer, first):
        if isinstance(said, int):
            yield said
            continue
        yield from _until_taken(board, said.epoch, trainer.step_number)
        if folder:
            save_checkpoint(folder / f"rank-{rank}", said.epoch + 1, *trainer.saved())
        board.post(rank, replica.x.detach().cpu().numpy(), said.norms_K.cpu().numpy())
        yield {"epoch": said.epoch, **asdict(said.report)}
    # Others may still have to read what this one sent.
    yield from _until_taken(board, config.epochs, trainer.step_number)


def _until_taken(board: Board, epochs: int, step: int) -> Iterator[int]:
    """Wait until the caller has logged so many epochs, with signs of life."""
    while board.taken < epochs:
        yield step
        time.sleep(PAUSE_S)
