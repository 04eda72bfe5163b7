"""What rank 0 says when another rank of a torchrun is gone, whoever notices first."""

from typing import Any

import pytest

from mlscale.core.errors import WorkFailed
from mlscale.core.runs import Run
from mlscale.core.torchrun import World
from mlscale.decentral import train_together
from mlscale.decentral.config import TrainConfig
from mlscale.decentral.exchange import LostRankError
from mlscale.decentral.together import CAUSE, Cause


class Words:
    """A store in this process, as `torch.distributed.Store` is between processes."""

    def __init__(self, cause: str = "") -> None:
        self.values = {CAUSE: cause} if cause else {}

    def check(self, keys: list[str]) -> bool:
        return all(key in self.values for key in keys)

    def get(self, key: str) -> bytes:
        return self.values[key].encode()


def said(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, cause: str = "", rank: int = 0
) -> str:
    def fail(*given: Any) -> None:
        raise error

    monkeypatch.setattr(train_together, "_train", fail)
    run = Run("decentral.train", TrainConfig())
    run.records = [{"epoch": 1}, {"epoch": 2}]
    nothing: Any = None
    store: Any = Words(cause)
    assert Cause(store).read() == (cause or None)
    with pytest.raises(WorkFailed) as caught:
        train_together.train_together(
            nothing, run, nothing, world=World(rank, 3, rank, 3), store=store
        )
    return caught.value.message


@pytest.mark.parametrize(("rank", "who"), [(2, "rank 2"), (None, "another rank")])
def test_rank_0_names_who_is_gone(
    monkeypatch: pytest.MonkeyPatch, rank: int | None, who: str
) -> None:
    message = said(monkeypatch, LostRankError(rank))
    assert message == f"{who} is gone; the checkpoint of epoch 2 is kept"


def test_what_another_rank_found_out_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = "; the checkpoint of epoch 2 is kept"
    for error in (LostRankError(None), KeyboardInterrupt()):
        assert said(monkeypatch, error, "rank 2 is gone") == f"rank 2 is gone{kept}"


def test_other_ranks_leave_the_words_to_rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, LostRankError(2), "rank 2 is gone", rank=1) == "it lost rank 2"


def test_an_interrupt_without_a_cause_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        said(monkeypatch, KeyboardInterrupt())
