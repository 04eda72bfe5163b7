"""A trained value network as a player: exploration, action sets, weights that do not fit."""

import numpy as np
import pytest
import torch  # noqa: TID253
from torch import Tensor  # noqa: TID253

from mlscale.core.errors import UserError
from mlscale.rl.atari.agents.base import EpisodicAgent, Task
from mlscale.rl.dqn.atari.agent import (
    BLOCK_STEPS,
    EVALUATION_EPSILON,
    ValueAgent,
    explore,
    make_value_agent,
)
from mlscale.rl.dqn.atari.networks import make_network

ALL = tuple(range(18))
PONG = (0, 1, 3, 4, 11, 12)
FRAMES = np.zeros((3, 4, 84, 84), np.uint8)


def always(action: int, num_actions: int = 18):
    values = torch.nn.functional.one_hot(torch.tensor([action]), num_actions).float()

    def network(frames_NFHW: Tensor) -> Tensor:
        return values.expand(len(frames_NFHW), -1)

    return network


def made(epsilon: float = EVALUATION_EPSILON, num_lanes: int = 3) -> ValueAgent:
    agent = ValueAgent(always(5), ALL, Task(game="pong", action_ids=ALL), epsilon=epsilon)
    agent.reset(num_lanes)
    return agent


def test_a_number_below_epsilon_is_a_random_action_and_says_which() -> None:
    drawn = np.array([0.0, 0.0199, 0.0499, 0.05, 0.0999, 0.1, 0.999])
    greedy = np.full(7, 9)
    assert explore(greedy, drawn, 0.1, 4).tolist() == [0, 0, 1, 2, 3, 9, 9]
    assert explore(greedy, drawn, 1.0, 4).tolist() == [0, 0, 0, 0, 0, 0, 3]
    assert explore(greedy, drawn, 0.0, 4).tolist() == [9] * 7


def test_the_largest_number_below_epsilon_is_still_an_action() -> None:
    largest = np.nextafter(0.01, 0)
    assert explore(np.array([0]), np.array([largest]), 0.01, 18).tolist() == [17]


def test_one_action_in_a_hundred_is_random_and_each_is_as_likely() -> None:
    agent = made(num_lanes=3)
    for lane in range(3):
        agent.begin(lane, seed=lane)
    actions = np.concatenate([agent.act(FRAMES) for _ in range(4 * BLOCK_STEPS)])
    share = (actions != 5).mean()
    assert share == pytest.approx(0.01 * 17 / 18, rel=0.3)
    assert EVALUATION_EPSILON == 0.01
    rest = made(epsilon=1.0)
    counts = np.bincount(np.concatenate([rest.act(FRAMES) for _ in range(2_000)]), minlength=18)
    assert counts.min() > 0.7 * 6_000 / 18


def test_an_episode_is_the_same_in_any_lane_and_after_any_other() -> None:
    assert isinstance(made(), EpisodicAgent)
    agent, other = made(epsilon=0.5), made(epsilon=0.5)
    agent.begin(0, seed=7)
    agent.begin(1, seed=8)
    first = np.array([agent.act(FRAMES) for _ in range(50)])
    other.begin(1, seed=3)
    for _ in range(13):
        other.act(FRAMES)
    other.begin(2, seed=7)
    again = np.array([other.act(FRAMES) for _ in range(50)])
    assert again[:, 2].tolist() == first[:, 0].tolist()
    assert first[:, 1].tolist() != first[:, 0].tolist()


def test_values_are_of_the_actions_trained_with_whatever_their_order() -> None:
    reversed_ids = tuple(reversed(ALL))
    task = Task(game="pong", action_ids=ALL)
    agent = ValueAgent(always(5), reversed_ids, task, epsilon=0.0)
    agent.reset(3)
    assert agent.act(FRAMES).tolist() == [12] * 3


@pytest.mark.parametrize(
    ("trained", "offered", "message", "hint"),
    [
        (ALL, PONG, "18 actions; this protocol offers 6", "--protocol saber or machado"),
        (PONG, ALL, "6 actions; this protocol offers 18", "--protocol nature or v5"),
        ((0, 1, 2), ALL, "3 actions; this protocol offers 18", None),
    ],
)
def test_other_actions_than_those_trained_with_are_refused(
    trained: tuple[int, ...], offered: tuple[int, ...], message: str, hint: str | None
) -> None:
    task = Task(game="pong", action_ids=offered)
    with pytest.raises(UserError) as caught:
        ValueAgent(always(0, len(trained)), trained, task)
    assert caught.value.message == f"the weights for pong were trained with {message}"
    assert caught.value.hint == (hint and f"play with {hint}")


@pytest.mark.parametrize("head", ["plain", "duelling"])
def test_weights_make_the_network_they_come_from(head: str) -> None:
    network = make_network("small", 18, seed=3, head=head)
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    task = Task(game="pong", action_ids=ALL)
    agent = make_value_agent(weights, "small", ALL, task)
    agent.reset(3)
    frames = np.random.default_rng(0).integers(0, 256, (3, 4, 84, 84), dtype=np.uint8)
    with torch.inference_mode():
        best = network(torch.from_numpy(frames)).argmax(dim=1)
    agent.begin(0, 1)
    assert agent.act(frames).tolist() == best.tolist()
    del weights["encoder.0.bias"]
    for wrong, kind in ((weights, "small"), (dict(network.state_dict()), "nature")):
        arrays = {name: np.asarray(value) for name, value in wrong.items()}
        with pytest.raises(UserError) as caught:
            make_value_agent(arrays, kind, ALL, task)
        assert caught.value.message == (
            f"the weights for pong are not those of a {kind!r} network of 18 actions"
        )
