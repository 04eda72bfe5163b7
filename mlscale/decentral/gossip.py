"""Gossip in a training loop of one's own: three lines around any model and torch optimizer.

    torch.distributed.init_process_group("gloo")
    gossip = Gossip(model, optimizer, graph="exp")
    ...
    loss.backward()
    gossip.step()  # in place of optimizer.step()

Shape letters: P parameters.
"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any

import torch  # noqa: TID253 - nothing imports this early
import torch.distributed as dist  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.core.seeding import derive_seed
from mlscale.decentral.algorithms.base import Algorithm
from mlscale.decentral.algorithms.fits import check_fit
from mlscale.decentral.algorithms.registry import find_algorithm, make_algorithm
from mlscale.decentral.flat_model import FlatModel
from mlscale.decentral.gossip_checks import (
    check_model,
    check_optimizer,
    check_process_group,
    is_plain_sgd,
)
from mlscale.decentral.graphs.connected import check_connected
from mlscale.decentral.graphs.registry import make_graph
from mlscale.decentral.group import broadcast_model, check_same_size, make_mixer, mean_over_ranks
from mlscale.decentral.topology import Topology

if TYPE_CHECKING:
    from torch import nn

    from mlscale.decentral.graphs.mixing import Graph
    from mlscale.decentral.graphs.names import FormName, WeightsName
    from mlscale.decentral.mixer import Traffic

_WRAPPED: weakref.WeakSet[nn.Module] = weakref.WeakSet()


class Gossip:
    """Takes an optimizer's steps and averages the model with those of neighbouring ranks.

    All ranks make it together, with the same arguments, and step together. It starts from rank
    0's parameters and buffers, which the other ranks are sent. Parameters become views of one
    flat tensor; what is trained is settled here.

    Args:
        model: On its device, with parameters of one floating-point dtype.
        optimizer: Any of torch's that needs no closure; learning-rate schedulers work on it.
        graph: As `make_graph` takes it, or a graph of one's own, whose rounds follow the steps.
        algorithm: As in `ALGORITHMS`.
        weights: As for `make_graph`.
        form: As for `make_graph`.
        codec: What choco sends.
        seed: Of graphs that are drawn and of what codecs round; the same on all ranks.
        broadcast: Whether all start from rank 0's model; else each from its own.

    Attributes:
        model: As given.
        optimizer: As given.

    Raises:
        UserError: There is no process group, the model was wrapped before, or what is given does
            not go together.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        graph: str | Graph = "exp",
        algorithm: str = "atc",
        weights: WeightsName = "default",
        form: FormName = "plain",
        codec: str = "top-k",
        seed: int = 0,
        broadcast: bool = True,
    ) -> None:
        check_process_group()
        self._rank, self._num_ranks = dist.get_rank(), dist.get_world_size()
        self._name, self._kind, self._codec = algorithm, find_algorithm(algorithm), codec
        check_model(model)
        if any(module in _WRAPPED for module in model.modules()):
            raise UserError("the model is in a Gossip already", "keep the first one")
        check_optimizer(optimizer, model, algorithm, self._kind)
        chosen = _graph_of(graph, self._num_ranks, weights, form, seed)
        for warning in check_fit(algorithm, chosen) if self._rank == 0 else ():
            warnings.warn(warning, stacklevel=2)

        self.model, self.optimizer = model, optimizer
        self._flat = FlatModel(model)
        round_at = Topology([(0, chosen)], 1).prepared(self._kind.prepared)
        self._mixer = make_mixer(
            self._flat.x.device, self._rank, self._num_ranks, round_at, seed=seed
        )
        check_same_size(self._flat.x)
        if broadcast:
            broadcast_model(model, self._flat.x)
        self._algorithm: Algorithm | None = None
        self._has_begun = False
        if self._kind.before is not Algorithm.before:
            _begin_with_forward(self)
        _WRAPPED.update(model.modules())

    @property
    def traffic(self) -> Traffic:
        """Bytes sent and seconds waited in all steps so far."""
        return self._mixer.traffic

    def step(self, closure: None = None, *, scaler: torch.amp.GradScaler | None = None) -> None:
        """Step the optimizer with the gradients there are, and average with the neighbours.

        Args:
            closure: Refused; it is here for those who are used to it.
            scaler: Steps the optimizer where losses were scaled. Where it skips the step, for
                gradients that are infinite, the model is averaged all the same.

        Raises:
            UserError: A closure is given, the model was moved, or the algorithm cannot use scaled
                gradients.
        """
        self._refuse(closure)
        with torch.no_grad():
            algorithm = self._begin()
            if self._kind.gradient is not Algorithm.gradient:
                if scaler is not None:
                    raise UserError(
                        f"{self._name} changes gradients and cannot tell scaled ones",
                        "train in bfloat16, which needs no scaler, or with atc, awc, sgp or choco",
                    )
                algorithm.gradient(self._flat.gather())
            if scaler is None:
                self.optimizer.step()
            else:
                scaler.step(self.optimizer)
            algorithm.after(self._lr())
        self._has_begun = False

    def mean_state(self) -> dict[str, Any]:
        """Return the state of the mean model: what a training is for. All ranks call it together.

        It is the model's `state_dict` with means over ranks in place of its parameters and of
        floating-point buffers, such as running statistics; the model itself is left as it is.
        """
        means = dict(
            zip(
                map(id, self._flat.parameters),
                self._flat.layout.views(mean_over_ranks(self._flat.x)),
                strict=True,
            )
        )
        buffers = {id(one) for one in self.model.buffers() if one.is_floating_point()}
        state: dict[str, Any] = {}
        for name, value in self.model.state_dict(keep_vars=True).items():
            if id(value) in means:
                state[name] = means[id(value)]
            elif id(value) in buffers:
                state[name] = mean_over_ranks(value.detach())
            else:
                state[name] = value.detach().clone() if torch.is_tensor(value) else value
        return state

    def disagreement(self) -> float:
        """Return the mean square distance of the ranks' parameters from their mean.

        (1/n) sum_i |x_i - mean|^2; all ranks call it together.
        """
        x_P = self._flat.x
        away = torch.linalg.vector_norm(x_P - mean_over_ranks(x_P), dtype=torch.float64)
        return float(mean_over_ranks(away.square().reshape(1)))

    def state_dict(self) -> dict[str, Any]:
        """Return what a rank's checkpoint keeps beside the model's and the optimizer's state."""
        algorithm = self._algorithm
        return {
            "algorithm": self._name,
            "step": algorithm.step if algorithm else 0,
            "tensors": algorithm.tensors() if algorithm else {},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was asked; the model's state is loaded before this.

        Raises:
            UserError: The state is of another algorithm, or a step has begun.
        """
        if state["algorithm"] != self._name:
            raise UserError(f"the state is of {state['algorithm']}, not of {self._name}")
        if self._has_begun:
            raise UserError(
                "a step has begun with the forward pass, so no state can be loaded",
                "load it right after Gossip(...) or after a step",
            )
        self._algorithm = self._make_algorithm()
        if state["step"]:
            self._algorithm.load(state["tensors"], int(state["step"]))

    def _refuse(self, closure: Any) -> None:
        """Refuse a step that cannot be taken."""
        if closure is not None:
            raise UserError(
                "Gossip.step takes no closure", "call loss.backward() and then gossip.step()"
            )
        self._flat.check()

    def _begin(self) -> Algorithm:
        """Return the algorithm, told that a step begins. Made late: weights may be loaded first."""
        if self._algorithm is None:
            self._algorithm = self._make_algorithm()
        if not self._has_begun:
            self._algorithm.before()
            self._has_begun = True
        return self._algorithm

    def _make_algorithm(self) -> Algorithm:
        return make_algorithm(self._name, self._flat.x, self._mixer, codec=self._codec)

    def _lr(self) -> float:
        if self._kind.own_momentum and not is_plain_sgd(self.optimizer):
            raise UserError(f"{self._name} needs one learning rate for all parameters")
        return float(self.optimizer.param_groups[0]["lr"])


def _begin_with_forward(gossip: Gossip) -> None:
    """Let a step begin with the forward pass, whose time hides what an algorithm sends at once.

    The model holds no reference to the Gossip, so that it is copied and freed as before.
    """
    held, model = weakref.ref(gossip), weakref.ref(gossip.model)

    def begin(module: nn.Module, inputs: Any) -> None:
        there = held()
        if there and module is model() and module.training and torch.is_grad_enabled():
            with torch.no_grad():
                there._begin()

    gossip.model.register_forward_pre_hook(begin)


def _graph_of(
    graph: str | Graph, num_ranks: int, weights: WeightsName, form: FormName, seed: int
) -> Graph:
    """Return the graph, each rank of which hears of all others.

    Raises:
        UserError: There is no such graph, or it is of another number of ranks.
    """
    if isinstance(graph, str):
        seed = derive_seed(seed, "graph")
        graph = make_graph(graph, num_ranks, weights=weights, form=form, seed=seed)
    elif graph.num_ranks != num_ranks:
        raise UserError(f"{graph.name} is of {graph.num_ranks} ranks, and there are {num_ranks}")
    check_connected(graph)
    return graph
