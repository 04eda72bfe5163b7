"""Acting greedily on a network's values, by hand."""

import numpy as np
import pytest
import torch  # noqa: TID253 - every test here needs it
from torch import Tensor  # noqa: TID253

from mlscale.rl.atari.agents.base import EpisodicAgent, Task
from mlscale.rl.atari.agents.network_agent import NetworkAgent

ALL = tuple(range(18))
PONG = (0, 1, 3, 4, 11, 12)


def act(values: list[list[float]], policy_ids: tuple[int, ...], offered: tuple[int, ...]):
    values_NA = torch.tensor(values)
    agent = NetworkAgent(lambda _: values_NA, policy_ids, Task(game="pong", action_ids=offered))
    agent.reset(len(values))
    return agent.act(np.zeros((len(values), 4, 84, 84), np.uint8))


def values_of(best: dict[int, float]) -> list[float]:
    return [best.get(action, -1.0) for action in ALL]


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (PONG, [5, 0, 2]),  # the place of the best output among the game's own actions
        (ALL, [12, 0, 3]),  # its number among all 18
    ],
)
def test_a_policy_of_the_games_own_actions(offered: tuple[int, ...], expected: list[int]) -> None:
    values = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [0, 0, 9, 0, 0, 0]]
    assert act(values, PONG, offered).tolist() == expected


def test_a_policy_of_all_actions_under_a_protocol_of_few_takes_the_best_legal_one() -> None:
    values = [
        values_of({2: 9.0, 11: 8.0, 0: 7.0}),  # up is best and not offered; right and fire is next
        values_of({12: 9.0}),
        values_of({17: 9.0, 16: 8.0, 15: 7.0, 3: 6.0}),
    ]
    assert act(values, ALL, PONG).tolist() == [4, 5, 2]


def test_a_policy_of_all_actions_under_a_protocol_of_all() -> None:
    assert act([values_of({17: 1.0}), values_of({2: 1.0})], ALL, ALL).tolist() == [17, 2]


def test_negative_values_are_no_worse_than_masked_ones() -> None:
    values = [[-5.0] * 18]
    values[0][4] = -4.0
    assert act(values, ALL, PONG).tolist() == [3]


def test_ties_go_to_the_first() -> None:
    assert act([[1.0] * 6], PONG, ALL).tolist() == [0]
    assert act([values_of({2: 1.0, 4: 1.0, 3: 1.0})], ALL, PONG).tolist() == [2]


def test_actions_are_integers_in_numpy() -> None:
    actions_N = act([[0, 1, 2, 3, 4, 5]], PONG, ALL)
    assert isinstance(actions_N, np.ndarray)
    assert actions_N.dtype == np.int64


def test_the_network_sees_the_frames_as_they_are_and_without_gradients() -> None:
    seen = []

    def network(frames_NFHW: Tensor) -> Tensor:
        seen.append((frames_NFHW.clone(), torch.is_grad_enabled()))
        return torch.zeros((len(frames_NFHW), 6))

    frames_NFHW = np.arange(2 * 4 * 84 * 84, dtype=np.uint32).astype(np.uint8)
    frames_NFHW = frames_NFHW.reshape(2, 4, 84, 84)
    agent = NetworkAgent(network, PONG, Task(game="pong", action_ids=PONG))
    agent.reset(2)
    agent.act(frames_NFHW)
    ((frames, grad),) = seen
    assert frames.dtype == torch.uint8
    assert np.array_equal(frames.numpy(), frames_NFHW)
    assert not grad


def test_it_keeps_no_state_of_an_episode() -> None:
    agent = NetworkAgent(
        lambda frames: torch.zeros((len(frames), 6)), PONG, Task(game="pong", action_ids=PONG)
    )
    assert not isinstance(agent, EpisodicAgent)
