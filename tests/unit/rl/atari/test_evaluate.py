"""`atari eval` in one process: resuming, what is counted, and how failures end."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlscale.core.engine.jobs import Failed, Finished, Job, Lost, Recorded
from mlscale.core.errors import MlscaleError, UserError, WorkFailed
from mlscale.core.results import Result
from mlscale.core.runs import Run, open_run
from mlscale.rl.atari import evaluate
from mlscale.rl.atari.agents.base import AgentEntry
from mlscale.rl.atari.agents.registry import SHIPPED
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.atari.jobs import WORK
from mlscale.rl.atari.published import find_published, published_scores

QUICK = {"agent": "noop", "report": False, "resamples": 100, "games": "pong,alien", "episodes": 2}


def config(**changes: Any) -> EvalConfig:
    return EvalConfig(**{**QUICK, **changes})


def record(game: str, seed: int, episode: int, score: int = 5, **changes: Any) -> dict[str, Any]:
    made = {"game": game, "seed": seed, "episode": episode, "score": score, "frames": 40}
    return {**made, "end": "game over", **changes}


# Whole evaluations, with an engine that answers from a script


class Script:
    """An engine that yields scripted events, by job key; a record for each episode otherwise."""

    def __init__(self, **events: list[Any]) -> None:
        self.events = {key.replace("__", "/"): found for key, found in events.items()}
        self.asked: list[str] = []
        self.finished: dict[str, list[Any]] = {}

    def run(self, work: str, jobs: Sequence[Job], finished: Mapping[str, Any]) -> Iterator[Any]:
        assert work == WORK
        self.finished = {key: list(records) for key, records in finished.items()}
        for job in jobs:
            self.asked.append(job.key)
            done = {r["episode"] for r in finished[job.key]}
            game, seed = job.payload["game"], job.payload["seed"]
            wanted = [n for n in range(job.payload["episodes"]) if n not in done]
            for event in self.events.get(job.key, [record(game, seed, n) for n in wanted]):
                if isinstance(event, MlscaleError):
                    yield Failed(job, event, "traceback of the worker")
                elif isinstance(event, str):
                    yield Lost(job, 1, event)
                else:
                    yield Recorded(job, event)
            yield Finished(job)


def evaluated(
    monkeypatch: pytest.MonkeyPatch, engine: Script, settings: EvalConfig, run: Run
) -> Result:
    monkeypatch.setattr(evaluate, "make_engine", lambda *_, **__: engine)
    return evaluate.run(settings, run)


def rows(result: Result) -> dict[str, Any]:
    (agent,) = result.tables["agents"]
    return {row["game"]: row for row in agent["games"]}


def test_a_game_is_the_mean_of_its_episodes_seed_by_seed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = Script(
        pong__1=[record("pong", 1, 1, 8, end="stuck"), record("pong", 1, 0, 4)],
        pong__0=[record("pong", 0, 0, 1), record("pong", 0, 1, 2, frames=100)],
    )
    settings = config(seeds=2, games="pong")
    run = Run("atari.eval", settings)
    result = evaluated(monkeypatch, engine, settings, run)
    row = rows(result)["pong"]
    assert (row["scores"], row["score"], row["seeds"]) == ([1.5, 6.0], 3.75, 2)
    assert (row["episodes"], row["frames"]) == (4, 220)
    assert row["ends"] == {"game over": 3, "stuck": 1}
    assert result.status == "complete"
    assert result.protocol["name"] == "saber"
    assert result.protocol["records"] == "saber-2019"
    assert len(run.records) == 4
    assert run.notes[0] == (
        "2 episodes per game and seed; the saber protocol itself reports 100 (--episodes 100)"
    )


@pytest.fixture
def reopened(tmp_path: Path) -> Callable[..., Run]:
    """Return a function that opens a run whose metrics.jsonl holds these records."""

    def reopen(settings: EvalConfig, records: Sequence[Any]) -> Run:
        path = tmp_path / "run"
        first = open_run("atari.eval", settings, out=path)
        first.finish(Result(study="atari.eval", status="interrupted"))
        lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
        (path / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
        return open_run("atari.eval", settings, out=path)

    return reopen


def test_what_is_finished_is_not_played_again(
    monkeypatch: pytest.MonkeyPatch, reopened: Callable[..., Run]
) -> None:
    earlier = [record("pong", 0, 0, 1), record("pong", 0, 1, 3), record("alien", 0, 1, 9)]
    run, engine = reopened(config(), earlier), Script()
    result = evaluated(monkeypatch, engine, config(), run)
    assert engine.asked == ["alien/0"]
    assert engine.finished["alien/0"] == [earlier[2]]
    assert rows(result)["pong"]["scores"] == [2.0]
    assert rows(result)["alien"]["scores"] == [7.0]
    assert "3 episodes are finished already and are not played again" in run.notes


def test_a_finished_evaluation_needs_no_engine_at_all(
    monkeypatch: pytest.MonkeyPatch, reopened: Callable[..., Run]
) -> None:
    earlier = [record(game, 0, n) for game in ("pong", "alien") for n in range(2)]
    engine = Script()
    result = evaluated(monkeypatch, engine, config(), reopened(config(), earlier))
    assert engine.asked == []
    assert result.status == "complete"


def test_records_beyond_the_budget_are_ignored(
    monkeypatch: pytest.MonkeyPatch, reopened: Callable[..., Run]
) -> None:
    beyond = [
        record("pong", 0, 7, 1000),  # of a larger --episodes
        record("pong", 5, 0, 1000),  # of another seed
        record("pong", 5, 1, 1000),
        record("breakout", 0, 0, 1000),  # of a game that is not asked for
        record("breakout", 0, 1, 1000),
    ]
    run, engine = reopened(config(), beyond), Script()
    result = evaluated(monkeypatch, engine, config(), run)
    assert engine.asked == ["pong/0", "alien/0"]
    assert {game: row["scores"] for game, row in rows(result).items()} == {
        "alien": [5.0], "pong": [5.0],
    }  # fmt: skip
    assert not any("finished already" in note for note in run.notes)


def test_a_record_given_twice_counts_once(
    monkeypatch: pytest.MonkeyPatch, reopened: Callable[..., Run]
) -> None:
    twice = [record("pong", 0, 0, 1), record("pong", 0, 0, 1)]
    engine = Script()
    result = evaluated(monkeypatch, engine, config(), reopened(config(), twice))
    assert engine.asked == ["pong/0", "alien/0"]
    assert rows(result)["pong"]["scores"] == [3.0]


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"step": 1},
        {**record("pong", 0, 1), "score": None},
        {**record("pong", 0, 1), "score": "5"},
        {**record("pong", 0, 1), "episode": "1"},
        {**record("pong", 0, 1), "episode": -1},
        {**record("pong", 0, 1), "episode": True},
        {**record("pong", 0, 1), "frames": None},
        {**record("pong", 0, 1), "seed": 0.5},
        {**record("pong", 0, 1), "game": 3},
        {key: value for key, value in record("pong", 0, 1).items() if key != "end"},
        json.dumps(record("pong", 0, 1)).replace(": 5", ": NaN"),
    ],
)
def test_a_damaged_record_is_named_with_its_line(
    monkeypatch: pytest.MonkeyPatch, reopened: Callable[..., Run], damaged: Any
) -> None:
    run, engine = reopened(config(), [record("pong", 0, 0), damaged]), Script()
    with pytest.raises(UserError) as caught:
        evaluated(monkeypatch, engine, config(), run)
    assert (
        caught.value.message == f"{run.path}/metrics.jsonl: line 2 is not the record of an episode"
    )
    assert caught.value.hint == (
        "delete that line to go on without it, or start again in another directory"
    )
    assert engine.asked == []


# Failures


def failed(
    monkeypatch: pytest.MonkeyPatch, engine: Script, **changes: Any
) -> tuple[MlscaleError, Run]:
    settings = config(**changes)
    run = Run("atari.eval", settings)
    with pytest.raises(MlscaleError) as caught:
        evaluated(monkeypatch, engine, settings, run)
    return caught.value, run


def test_incomplete_seeds_are_left_out_of_a_failed_result(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Script(
        pong__1=[record("pong", 1, 0, 900), WorkFailed("the agent raised KeyError", "look")],
        alien__0=[WorkFailed("no sign of life for 4 s")],
        alien__1=[record("alien", 1, 0, 900), WorkFailed("no sign of life for 4 s")],
    )
    error, _ = failed(monkeypatch, engine, seeds=2)
    assert (error.exit_code, error.hint) == (1, "look")
    assert (
        error.message
        == "pong/1: the agent raised KeyError (3 of 4 jobs failed: pong/1, alien/0, alien/1)"
    )
    assert error.worker_traceback == "traceback of the worker"
    assert error.partial is not None
    assert error.partial.status == "failed"
    assert {game: row["scores"] for game, row in rows(error.partial).items()} == {"pong": [5.0]}


def test_nothing_played_is_a_result_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    error, _ = failed(monkeypatch, Script(pong__0=[WorkFailed("broken")]), games="pong")
    assert error.message == "pong/0: broken"
    assert error.partial is not None
    assert (error.partial.status, error.partial.tables) == ("failed", {})
    assert error.partial.protocol["name"] == "saber"
    assert error.partial.protocol["ties"] == "count"


def test_three_failures_with_nothing_to_show_end_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {f"{game}__0": [WorkFailed("broken")] for game in ("pong", "alien", "qbert", "hero")}
    engine = Script(**broken)
    error, run = failed(monkeypatch, engine, games="pong,alien,qbert,hero")
    assert engine.asked == ["pong/0", "alien/0", "qbert/0"]
    assert error.message == "pong/0: broken (3 of 4 jobs failed: pong/0, alien/0, qbert/0)"
    assert "stopped: the first 3 jobs all failed" in run.notes


def test_three_failures_after_a_success_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {f"{game}__0": [WorkFailed("broken")] for game in ("alien", "qbert", "hero")}
    engine = Script(**broken)
    failed(monkeypatch, engine, games="pong,alien,qbert,hero,freeway")
    assert engine.asked == ["pong/0", "alien/0", "qbert/0", "hero/0", "freeway/0"]


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        (UserError("bad file"), UserError("bad file"), UserError),
        (UserError("bad file"), WorkFailed("lost"), UserError),
        (WorkFailed("lost"), UserError("bad file"), WorkFailed),
        (WorkFailed("lost"), WorkFailed("lost"), WorkFailed),
    ],
)
def test_the_first_failure_decides_on_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, first: MlscaleError, second: MlscaleError, kind: type
) -> None:
    error, _ = failed(monkeypatch, Script(pong__0=[first], alien__0=[second]))
    assert type(error) is kind
    # Where a user's mistake kept all from being played, the command line takes the run back.
    assert (error.partial is None) == (kind is UserError)


def test_a_users_mistake_in_one_game_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    error, _ = failed(monkeypatch, Script(pong__0=[UserError("the policy has 5 actions")]))
    assert isinstance(error, UserError)
    assert error.partial is not None
    assert list(rows(error.partial)) == ["alien"]


def test_a_lost_worker_is_said_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Script(pong__0=["was killed by signal 9", *(record("pong", 0, n) for n in range(2))])
    settings = config(games="pong")
    run = Run("atari.eval", settings)
    result = evaluated(monkeypatch, engine, settings, run)
    assert result.status == "complete"
    assert "pong/0: the worker was killed by signal 9; the job goes on in another" in run.notes


# Which games


@pytest.fixture
def picky(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = AgentEntry(
        name="picky", factory=SHIPPED["noop"].factory, games=("pong", "alien"), train_frames=400
    )
    monkeypatch.setattr(evaluate, "find_agent", lambda name, **_: entry)


@pytest.mark.usefixtures("picky")
def test_by_default_an_agent_plays_what_it_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, settings = Script(), config(agent="picky", games="")
    result = evaluated(monkeypatch, engine, settings, Run("atari.eval", settings))
    assert engine.asked == ["pong/0", "alien/0"]
    (agent,) = result.tables["agents"]
    assert (agent["agent"], agent["frames"]) == ("picky", 400)


@pytest.mark.usefixtures("picky")
def test_games_that_an_agent_does_not_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    error, _ = failed(monkeypatch, Script(), agent="picky", games="pong,breakout,Ms. Pac-Man")
    assert isinstance(error, UserError)
    assert error.message == "agent 'picky' does not cover breakout, ms_pacman"
    assert error.hint == "it covers pong, alien"


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes the agent one of weights with this digest for Pong."""

    def train(digest: str, games: tuple[str, ...] = ("pong", "alien")) -> None:
        entry = AgentEntry(
            name="learner",
            factory=SHIPPED["noop"].factory,
            games=games,
            note="trained on 400 frames",
            other_games="train others",
            weights={"pong": {"sha256": digest, "step": 100}, "alien": {"sha256": "a"}},
            checkpoints={"pong": Path("runs/p/checkpoints/100")},
        )
        monkeypatch.setattr(evaluate, "find_agent", lambda name, **_: entry)

    return train


def test_the_result_says_which_weights_played(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trained: Callable[[str], None]
) -> None:
    trained("p1")
    settings = config(agent="", ckpt=(Path("runs/p"),), games="pong")
    run = open_run("atari.eval", settings, out=tmp_path / "run")
    result = evaluated(monkeypatch, Script(), settings, run)
    assert result.protocol["weights"] == {"pong": {"sha256": "p1", "step": 100}}
    assert run.notes[0] == "trained on 400 frames"
    assert json.loads((tmp_path / "run" / "weights.json").read_text()) == result.protocol["weights"]
    (agent,) = result.tables["agents"]
    assert agent["agent"] == "learner"


def test_an_evaluation_of_weights_goes_on_with_these_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trained: Callable[[str], None]
) -> None:
    trained("p1")
    first, more = config(agent="learner", games="pong"), config(
        agent="learner", games="pong", episodes=3, ckpt=(Path("moved"),)
    )  # fmt: skip
    run = open_run("atari.eval", first, out=tmp_path / "run")
    run.finish(evaluated(monkeypatch, Script(), first, run))
    trained("p2")
    run = open_run("atari.eval", more, out=tmp_path / "run")
    engine = Script()
    with pytest.raises(UserError, match="was begun with other weights for pong"):
        evaluated(monkeypatch, engine, more, run)
    run.withdraw()
    assert engine.asked == []
    trained("p1")
    run = open_run("atari.eval", more, out=tmp_path / "run")
    result = evaluated(monkeypatch, Script(), more, run)
    assert rows(result)["pong"]["episodes"] == 3


def test_the_weights_of_a_game_added_later_are_kept_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trained: Callable[..., None]
) -> None:
    settings = config(agent="learner", games="")  # all that the agent has learned by then
    for games in (("alien",), ("pong", "alien")):
        trained("p1", games)
        run = open_run("atari.eval", settings, out=tmp_path / "run")
        run.finish(evaluated(monkeypatch, Script(), settings, run))
    trained("p2")
    run = open_run("atari.eval", settings, out=tmp_path / "run")
    with pytest.raises(UserError, match="was begun with other weights for pong"):
        evaluated(monkeypatch, Script(), settings, run)
    run.withdraw()


def test_jobs_are_told_the_checkpoint(
    monkeypatch: pytest.MonkeyPatch, trained: Callable[[str], None]
) -> None:
    trained("p1")
    payloads = {}
    engine, settings = Script(), config(agent="learner")
    play = engine.run

    def run(work: str, jobs: Sequence[Job], finished: Mapping[str, Any]) -> Iterator[Any]:
        payloads.update({job.payload["game"]: job.payload for job in jobs})
        return play(work, jobs, finished)

    engine.run = run  # type: ignore[method-assign]
    evaluated(monkeypatch, engine, settings, Run("atari.eval", settings))
    assert payloads["pong"]["agent"] == ""
    assert payloads["pong"]["checkpoints"] == [str(Path("runs/p/checkpoints/100").resolve())]
    assert (payloads["alien"]["agent"], payloads["alien"]["checkpoints"]) == ("learner", [])


def test_the_way_to_other_games_is_said(
    monkeypatch: pytest.MonkeyPatch, trained: Callable[[str], None]
) -> None:
    trained("p1")
    error, _ = failed(monkeypatch, Script(), agent="learner", games="qbert")
    assert error.hint == "it covers pong, alien; train others"


def test_an_agent_or_a_checkpoint_is_needed() -> None:
    with pytest.raises(UserError) as caught:
        EvalConfig()
    assert caught.value.message == "--agent is required"
    assert EvalConfig(ckpt=(Path("x"),)).agent == ""


def test_all_games_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, settings = Script(), config(games="", episodes=1)
    evaluated(monkeypatch, engine, settings, Run("atari.eval", settings))
    assert len(set(engine.asked)) == 57


# Published agents


def test_a_published_agent_is_looked_up_and_not_played(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, settings = Script(), config(agent="Agent57", games="")
    run = Run("atari.eval", settings)
    result = evaluated(monkeypatch, engine, settings, run)
    assert engine.asked == []
    assert result.protocol["name"] == "published"
    assert "Agent57 is published scores: no episode was played" in run.notes
    scores = published_scores(find_published("agent57"))
    assert {game: row["score"] for game, row in rows(result).items()} == pytest.approx(scores)


def test_games_narrow_a_published_agent_too(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = config(agent="simple", games="pong,breakout")
    result = evaluated(monkeypatch, Script(), settings, Run("atari.eval", settings))
    assert list(rows(result)) == ["pong", "breakout"]
    error, _ = failed(monkeypatch, Script(), agent="simple", games="pong,surround")
    assert error.message == "agent 'simple' does not cover surround"


def test_progress_counts_episodes_and_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float | None, str]] = []

    class Reporter:
        def note(self, text: str) -> None: ...

        def progress(self, done: float, total: float | None, text: str) -> None:
            seen.append((done, total, text))

    settings = config(games="pong")
    run = Run("atari.eval", settings, reporter=Reporter())
    evaluated(monkeypatch, Script(), settings, run)
    assert [(done, total) for done, total, _ in seen[:2]] == [(1, 2), (2, 2)]
    assert seen[0][2].startswith("Pong, 40 frames")
    assert seen[1][2].startswith("Pong, 80 frames")
    assert np.all([done <= (total or done) for done, total, _ in seen])
