"""Published agents, score tables and evaluations as one kind of thing."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core.errors import UserError
from mlscale.core.results import Result
from mlscale.core.runs import Run, open_run
from mlscale.rl.atari import compare, evaluate
from mlscale.rl.atari.config import CompareConfig, EvalConfig, ScoreConfig
from mlscale.rl.atari.outcome import UNEQUAL_PROTOCOLS
from mlscale.rl.atari.published import find_published, published_agents, published_scores
from mlscale.rl.atari.scoring import AgentRuns

TABLE = "agent,game,seed,score\na,pong,0,1\na,pong,1,3\nb,alien,0,10\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(TABLE)
    return tmp_path


def quiet_run(config: Any = None) -> Run:
    return Run("atari.compare", config or CompareConfig(agents=("agent57",)))


def find(name: str) -> list[AgentRuns]:
    return compare.find_runs(name, quiet_run())


def compared(*agents: str) -> tuple[Result, list[str]]:
    config = CompareConfig(agents=agents, report=False, resamples=100)
    run = quiet_run(config)
    return compare.run(config, run), run.notes


def error_of(*agents: str) -> tuple[str, str | None]:
    with pytest.raises(UserError) as caught:
        compared(*agents)
    return caught.value.message, caught.value.hint


def write_evaluation(out: str, rows: list[dict[str, Any]], **changes: Any) -> None:
    config = EvalConfig(agent="random", games="pong")
    run = open_run("atari.eval", config, out=Path(out))
    agent = {"agent": "random", "frames": 0, "origin": "played so", "games": rows}
    run.finish(Result(study="atari.eval", tables={"agents": [agent]}, **changes))


@pytest.mark.parametrize("name", ["agent57", "Agent57", "AGENT-57"])
def test_published_agents_are_found_by_any_spelling(name: str) -> None:
    (agent,) = find(name)
    published = find_published("agent57")
    assert (agent.agent, agent.frames, agent.caveats) == (
        "agent57", 100_000_000_000, published.caveats,
    )  # fmt: skip
    assert {game: score.tolist() for game, score in agent.scores.items()} == {
        game: [score] for game, score in published_scores(published).items()
    }


def test_a_table_gives_all_its_agents() -> None:
    a, b = find("s.csv")
    assert (a.agent, a.scores["pong"].tolist()) == ("a", [1, 3])
    assert (b.agent, b.scores["alien"].tolist(), b.origin) == ("b", [10], "s.csv")


def test_columns_that_a_table_has_for_itself_are_said(folder: Path) -> None:
    (folder / "s.csv").write_text("agent,game,score,mood\na,pong,1,good\n")
    _, notes = compared("s.csv")
    assert "s.csv: columns not used: mood" in notes


def test_an_evaluation_gives_a_score_a_seed() -> None:
    write_evaluation("run", [{"game": "pong", "score": -20.5, "scores": [-21.0, -20.0]}])
    (agent,) = find("run")
    assert (agent.agent, agent.frames, agent.origin) == ("random", 0, "played so")
    assert agent.scores["pong"].tolist() == [-21, -20]


def test_an_evaluation_that_was_a_published_table_can_be_compared() -> None:
    config = EvalConfig(agent="agent57", report=False, resamples=100)
    run = open_run("atari.eval", config, out=Path("run"))
    run.finish(evaluate.run(config, run))
    (agent,), (published,) = find("run"), find("agent57")
    assert agent.agent == "agent57"
    assert {g: s.tolist() for g, s in agent.scores.items()} == {
        g: s.tolist() for g, s in published.scores.items()
    }


def test_a_table_wins_over_a_published_agent_of_its_name_and_a_mere_folder_does_not(
    folder: Path,
) -> None:
    (folder / "agent57").write_text(TABLE)
    assert [agent.agent for agent in find("agent57")] == ["a", "b"]
    (folder / "muzero").mkdir()
    assert [agent.agent for agent in find("muzero")] == ["muzero"]


def test_a_run_wins_over_a_published_agent_of_its_name() -> None:
    write_evaluation("agent57", [{"game": "pong", "score": 1, "scores": [1]}])
    assert [agent.agent for agent in find("agent57")] == ["random"]


def test_a_label_gives_another_name(folder: Path) -> None:
    (folder / "t.csv").write_text("agent,game,score\na,pong,1\n")
    (folder / "a=b.csv").write_text("agent,game,score\nc,pong,1\n")
    result, notes = compared("first=t.csv", "theirs=agent57", "t.csv", "a=b.csv")
    assert [agent["agent"] for agent in result.tables["agents"]] == ["first", "theirs", "a", "c"]
    assert UNEQUAL_PROTOCOLS in notes
    assert error_of("x=s.csv") == ("s.csv holds 2 agents; 'x' can name one only", None)
    assert error_of("x=xyzzy")[0] == "unknown agent 'xyzzy'"
    result, _ = compared("=agent57")
    assert [agent["agent"] for agent in result.tables["agents"]] == ["agent57"]


def test_evaluations_played_under_unequal_conditions_are_said() -> None:
    rows = [{"game": "pong", "score": 1, "scores": [1]}]
    write_evaluation("one", rows)
    write_evaluation("two", rows)
    text = Path("two/result.json").read_text().replace("played so", "played otherwise")
    _, notes = compared("one", "b=two")
    assert not any("played differently" in note for note in notes)
    Path("two/result.json").write_text(text)
    _, notes = compared("one", "b=two")
    assert "the evaluations were played differently: played otherwise; played so" in notes


def test_side_by_side_in_the_order_they_were_named() -> None:
    result, notes = compared("muzero", "s.csv", "agent57")
    agents = result.tables["agents"]
    assert [agent["agent"] for agent in agents] == ["muzero", "a", "b", "agent57"]
    assert len(result.tables["improvement"]) == 12
    assert notes.count(UNEQUAL_PROTOCOLS) == 1


def test_tables_alone_are_not_told_of_unequal_protocols() -> None:
    _, notes = compared("s.csv")
    assert UNEQUAL_PROTOCOLS not in notes


@pytest.mark.parametrize(
    ("status", "message"),
    [("failed", "it is failed"), ("interrupted", "it is interrupted"), ("unfinished", "it is")],
)
def test_an_evaluation_that_is_not_finished(status: Any, message: str) -> None:
    write_evaluation("run", [], status=status)
    found, hint = error_of("run")
    assert found.startswith(f"run holds no finished evaluation: {message}")
    assert hint == "`mlscale runs resume run` finishes it"


def test_a_run_of_another_study() -> None:
    open_run("atari.score", ScoreConfig(file=Path("s.csv")), out=Path("run")).finish(
        Result(study="atari.score")
    )
    assert error_of("run") == (
        "run holds a run of atari.score, not an evaluation",
        "name the agents and score tables themselves",
    )


def test_a_folder_that_is_no_run(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert error_of("empty")[0] == "empty is not a run directory: it has no result.json"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("agnet57", "unknown agent 'agnet57'", "did you mean 'agent57'? `mlscale atari agents`"),
        ("xyzzy", "unknown agent 'xyzzy'", "`mlscale atari agents` lists them; a score table or"),
        ("nosuch.csv", "unknown agent 'nosuch.csv'", "`mlscale atari agents` lists them"),
        (
            "random",
            "agent 'random' has no published scores; it is played, not looked up",
            "`mlscale atari eval --agent random --out DIR`, then compare DIR",
        ),
        (
            "dqn",
            "agent 'dqn' has no published scores; it is played, not looked up",
            "`mlscale atari eval --agent dqn --out DIR`, then compare DIR",
        ),
    ],
)
def test_names_that_stand_for_no_scores(name: str, message: str, hint: str) -> None:
    found = error_of(name)
    assert found[0] == message
    assert str(found[1]).startswith(hint)


def test_agents_of_one_name(folder: Path) -> None:
    (folder / "t.csv").write_text("agent,game,score\na,pong,1\n")
    assert error_of("s.csv", "t.csv") == (
        "two of the agents are called 'a'",
        "give one another name: LABEL=NAME, as in first=RUN_DIRECTORY",
    )
    assert error_of("agent57", "Agent-57")[0] == "two of the agents are called 'agent57'"
    with pytest.raises(UserError, match="the same agent is named twice"):
        CompareConfig(agents=("agent57", "agent57"))


def test_every_published_agent_can_be_compared() -> None:
    names = [agent.id for agent in published_agents()]
    result, _ = compared(*names)
    assert [agent["agent"] for agent in result.tables["agents"]] == names
    pairs = {(row["x"], row["y"]): row["probability"] for row in result.tables["improvement"]}
    assert len(pairs) == 16 * 15
    assert all(p + pairs[y, x] == pytest.approx(1) for (x, y), p in pairs.items())
    assert json.loads(json.dumps(result.tables["agents"]))  # plain data
    assert np.isfinite(list(pairs.values())).all()
