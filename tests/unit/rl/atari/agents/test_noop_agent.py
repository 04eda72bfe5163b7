"""The no-op agent."""

import numpy as np
import pytest

from mlscale.rl.atari.agents.base import Task
from mlscale.rl.atari.agents.noop_agent import NoopAgent


@pytest.mark.parametrize(("action_ids", "index"), [((0, 1, 3), 0), ((5, 3, 0), 2)])
def test_it_answers_the_index_of_the_no_op_in_every_lane(
    action_ids: tuple[int, ...], index: int
) -> None:
    agent = NoopAgent(Task(game="pong", action_ids=action_ids))
    for num_lanes in (3, 1):
        agent.reset(num_lanes)
        actions_N = agent.act(np.full((num_lanes, 4, 84, 84), 255, np.uint8))
        assert actions_N.tolist() == [index] * num_lanes
        assert np.issubdtype(actions_N.dtype, np.integer)
