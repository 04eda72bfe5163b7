"""Exchanges that the backward pass hides: a bucket of parameters is stepped and sent at once.

The backward pass comes to the last layers first. As soon as all gradients of a bucket are there,
the optimizer steps it and its exchange begins, while gradients of the layers before are computed.

Shape letters: P parameters.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253 - nothing imports this early

from mlscale.core.errors import UserError
from mlscale.decentral.gossip import Gossip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import nn

    from mlscale.decentral.graphs.mixing import Graph
    from mlscale.decentral.graphs.names import FormName, WeightsName
    from mlscale.decentral.mixer import Wait

BUCKET_BYTES = 8_000_000
AT_ONCE = "atc"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Neighbouring parameter tensors that are stepped and sent together.

    Args:
        tensors: Their numbers in the layout.
        part: Where they lie in the flat tensor.
    """

    tensors: range
    part: slice


def buckets_of(sizes: Sequence[int], most: int) -> list[Bucket]:
    """Return buckets of tensors from the last to the first.

    Args:
        sizes: Values in each tensor, in their order in the flat tensor.
        most: Values after which a bucket is closed; a larger tensor is alone in one.
    """
    buckets = []
    end, last = len(sizes), sum(sizes)
    held = 0
    for number in reversed(range(len(sizes))):
        held += sizes[number]
        following = sizes[number - 1] if number else most
        if held + following > most:
            buckets.append(Bucket(range(number, end), slice(last - held, last)))
            end, last, held = number, last - held, 0
    return buckets


class OverlappedGossip(Gossip):
    """Adapt-then-combine as `Gossip` does it, to the last bit, with most of the waiting hidden.

    Parameters change during `backward()`: gradients cannot be clipped, unscaled or changed in
    any way after it, and there is one backward pass for a step, others within `accumulate`. The
    optimizer's `step` is called for each bucket, which suits optimizers that treat every tensor
    by itself, as all of torch's own do. Of other algorithms, awc hides its exchange by itself.

    Args:
        model: As for `Gossip`.
        optimizer: As for `Gossip`.
        graph: As for `Gossip`.
        algorithm: atc; others are refused.
        weights: As for `Gossip`.
        form: As for `Gossip`.
        seed: As for `Gossip`.
        broadcast: As for `Gossip`.
        bucket_bytes: Bytes of parameters after which a bucket is closed.

    Raises:
        UserError: As for `Gossip`, or another algorithm is asked for.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        graph: str | Graph = "exp",
        algorithm: str = AT_ONCE,
        weights: WeightsName = "default",
        form: FormName = "plain",
        seed: int = 0,
        broadcast: bool = True,
        bucket_bytes: int = BUCKET_BYTES,
    ) -> None:
        if algorithm != AT_ONCE:
            raise UserError(
                f"a bucket can be sent before the others for atc alone, not for {algorithm}",
                "use Gossip, whose awc hides its exchange too",
            )
        super().__init__(
            model,
            optimizer,
            graph=graph,
            algorithm=algorithm,
            weights=weights,
            form=form,
            seed=seed,
            broadcast=broadcast,
        )
        flat = self._flat
        sizes = [one.numel() for one in flat.parameters]
        self._buckets = buckets_of(sizes, max(1, bucket_bytes // flat.x.element_size()))
        self._bucket_of = {
            number: index for index, one in enumerate(self._buckets) for number in one.tensors
        }
        self._parts = [flat.x[bucket.part] for bucket in self._buckets]
        self._accumulates = False
        self._reset()
        for number, parameter in enumerate(flat.parameters):
            parameter.register_post_accumulate_grad_hook(  # type: ignore[no-untyped-call]
                _Arrival(self, number)
            )

    def _reset(self) -> None:
        self._versions: dict[int, int | None] = {}
        self._missing = [len(bucket.tensors) for bucket in self._buckets]
        self._stepped = [False] * len(self._buckets)
        self._waits: list[Wait] = []

    @contextmanager
    def accumulate(self) -> Iterator[None]:
        """Only add up gradients in the backward passes of the block: the step's last is outside."""
        self._accumulates = True
        try:
            yield
        finally:
            self._accumulates = False

    def step(self, closure: None = None, *, scaler: torch.amp.GradScaler | None = None) -> None:
        """Step and send what is left, and wait for the averages.

        Args:
            closure: Refused, as by `Gossip`.
            scaler: Refused: parameters change before gradients could be unscaled.

        Raises:
            UserError: Gradients were changed after the backward pass; or as for `Gossip`.
        """
        if scaler is not None:
            raise UserError(
                "OverlappedGossip steps before gradients can be unscaled",
                "train in bfloat16, which needs no scaler, or use Gossip",
            )
        self._refuse(closure)
        self._check_gradients()
        with torch.no_grad():
            for index in range(len(self._buckets)):
                if not self._stepped[index]:
                    self._step_bucket(index)
            self._send_ready()
            for part, wait in zip(self._parts, self._waits, strict=True):
                part.copy_(wait())
            self._begin().step += 1
        self._has_begun = False
        self._reset()

    def take(self, number: int) -> None:
        """Take note that the gradient of a parameter is complete.

        Raises:
            UserError: It was before, and the parameter has been stepped.
        """
        if self._accumulates:
            return
        if number in self._versions:
            raise UserError(
                "a second backward pass before gossip.step(), and parameters have moved already",
                "put all but the last into `with gossip.accumulate():`",
            )
        self._versions[number] = None
        index = self._bucket_of[number]
        self._missing[index] -= 1
        if not self._missing[index]:
            with torch.no_grad():
                self._step_bucket(index)
                self._send_ready()

    def _step_bucket(self, index: int) -> None:
        """Let the optimizer step the parameters of a bucket and none besides."""
        own = [self._flat.parameters[number] for number in self._buckets[index].tensors]
        chosen = set(map(id, own))
        groups = self.optimizer.param_groups
        some = [
            {**group, "params": [one for one in group["params"] if id(one) in chosen]}
            for group in groups
        ]
        try:
            self.optimizer.param_groups = [group for group in some if group["params"]]
            self.optimizer.step()
        finally:
            self.optimizer.param_groups = groups
        self._stepped[index] = True
        for number in self._buckets[index].tensors:
            gradient = self._flat.parameters[number].grad
            self._versions[number] = None if gradient is None else gradient._version

    def _send_ready(self) -> None:
        """Begin exchanges of stepped buckets, in the order that all ranks keep."""
        step = self._begin().step
        while len(self._waits) < len(self._buckets) and self._stepped[len(self._waits)]:
            self._waits.append(self._mixer.start(self._parts[len(self._waits)], step))

    def _check_gradients(self) -> None:
        """Refuse gradients that were changed after they had been used, as clipping does."""
        for index, bucket in enumerate(self._buckets):
            for number in bucket.tensors if self._stepped[index] else ():
                gradient = self._flat.parameters[number].grad
                if gradient is not None and gradient._version != self._versions[number]:
                    raise UserError(
                        "gradients were changed after backward(), as by clipping, and parameters "
                        "had been stepped by then",
                        "use Gossip, or clip nothing",
                    )


class _Arrival:
    """Tells a Gossip that a parameter's gradient is complete."""

    def __init__(self, gossip: OverlappedGossip, number: int) -> None:
        self._gossip, self._number = gossip, number

    def __call__(self, parameter: Any) -> None:
        self._gossip.take(self._number)
