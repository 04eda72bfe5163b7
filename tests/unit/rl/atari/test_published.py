"""The published agents and their scores."""

import statistics

import pytest

from mlscale.core.errors import UserError
from mlscale.rl.atari import games, published


def test_every_column_of_the_table_is_an_agent_and_the_other_way_round() -> None:
    reference = ["game", "ale_id", "random", "human_average", "human_world_record"]
    columns = list(games.shipped_rows()[0])
    assert columns == reference + [agent.column for agent in published.published_agents()]


def test_ids_are_distinct_and_leave_dqn_to_the_runnable_agent() -> None:
    names = [
        games.fold_name(name)
        for agent in published.published_agents()
        for name in {agent.id, *agent.aliases}
    ]
    assert len(names) == len(set(names)) == 17
    assert not published.is_published("dqn")


@pytest.mark.parametrize(
    ("name", "agent_id"),
    [
        ("agent57", "agent57"),
        ("Agent57", "agent57"),
        ("agent57_100b", "agent57"),
        ("R2D2 (bandit)", "r2d2_bandit"),
        ("go-explore", "go_explore"),
        ("GDI-H3", "gdi_h3"),
        ("impala_deep", "impala"),
        ("dqn_200m", "dqn_200m"),
    ],
)
def test_agents_answer_to_ids_columns_and_printed_names(name: str, agent_id: str) -> None:
    assert published.find_published(name).id == agent_id
    assert published.is_published(name)


def test_an_unknown_agent_is_an_error_with_a_near_miss_and_the_list() -> None:
    with pytest.raises(UserError, match=r"^unknown published agent 'agent56'$") as caught:
        published.find_published("agent56")
    hint = caught.value.hint
    assert hint is not None
    assert hint.startswith("did you mean 'agent57'? published agents: dqn_200m, rainbow, impala, ")


@pytest.mark.parametrize(
    ("agent_id", "num_games"),
    [("agent57", 57), ("dreamerv2", 55), ("simple", 36), ("gdi_h3", 56), ("gdi_i3", 49)],
)
def test_missing_games_are_left_out(agent_id: str, num_games: int) -> None:
    assert len(published.published_scores(published.find_published(agent_id))) == num_games


def test_scores_are_the_tables_and_zero_has_no_sign() -> None:
    assert published.published_scores(published.find_published("agent57"))["pong"] == 20.67
    tennis = published.published_scores(published.find_published("rainbow"))["tennis"]
    assert str(tennis) == "0.0"


def test_scores_are_a_copy() -> None:
    agent = published.find_published("agent57")
    published.published_scores(agent).clear()
    assert len(published.published_scores(agent)) == 57


def human_normalised(agent_id: str) -> list[float]:
    scores = published.published_scores(published.find_published(agent_id))
    found = [(games.find_game(rom_id), score) for rom_id, score in scores.items()]
    return [
        100 * (score - game.random) / (game.human - game.random) for game, score in found
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("agent_id", "mean", "median"),
    [
        ("r2d2", 4024.9, 1922.7),  # R2D2 paper, Table 1: 4024.9 and 1920.6
        ("impala", 957.3, 191.8),  # the same table: 957.6 and 191.8
        ("agent57", 4766.3, 1933.5),
    ],
)
def test_aggregates_meet_the_published_ones(agent_id: str, mean: float, median: float) -> None:
    values = human_normalised(agent_id)
    assert statistics.mean(values) == pytest.approx(mean, abs=0.1)
    assert statistics.median(values) == pytest.approx(median, abs=0.1)


def test_frames_are_given_only_where_a_source_states_them() -> None:
    frames = {agent.id: agent.frames for agent in published.published_agents()}
    assert frames["r2d2"] == 10_000_000_000
    assert [agent_id for agent_id, value in frames.items() if value is None] == [
        "r2d2_bandit",
        "go_explore",
    ]
    assert all(type(value) is int for value in frames.values() if value is not None)


def test_every_agent_says_where_it_comes_from() -> None:
    for agent in published.published_agents():
        assert agent.paper
        assert agent.protocol
        assert agent.source
        assert isinstance(agent.caveats, tuple)
