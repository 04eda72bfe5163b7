"""Jobs of an evaluation: plain data, seeds of their own, going on where they stopped."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from mlscale.core.engine.jobs import Progress
from mlscale.rl.atari import jobs
from mlscale.rl.atari.config import EvalConfig
from mlscale.rl.atari.jobs import make_jobs, play_job
from mlscale.rl.atari.lanes import Episode
from mlscale.rl.atari.play import Pulse


def config(**changes: Any) -> EvalConfig:
    return EvalConfig(**{"agent": "noop", "episodes": 2, **changes})


def test_jobs_are_games_times_seeds_as_plain_data() -> None:
    made = make_jobs(
        config(seed=3, seeds=2, max_frames=400, lanes=4, trust=True), ["pong", "alien"], "cuda:1"
    )
    assert [job.key for job in made] == ["pong/3", "pong/4", "alien/3", "alien/4"]
    payload = made[1].payload
    assert json.loads(json.dumps(payload)) == payload
    assert {key: payload[key] for key in payload if key != "protocol"} == {
        "agent": "noop", "checkpoints": [], "trust": True, "device": "cuda:1", "game": "pong",
        "seed": 4, "episodes": 2, "lanes": 4,
    }  # fmt: skip
    assert payload["protocol"]["max_frames"] == 400
    assert payload["protocol"]["stuck_frames"] == 18_000


def job(**changes: Any) -> dict[str, Any]:
    settings = config(games="pong", max_frames=80, **changes)
    return dict(make_jobs(settings, ["pong"])[0].payload)


def played(payload: Mapping[str, Any], finished: Sequence[Any] = ()) -> list[dict[str, Any]]:
    return [
        event
        for event in play_job(payload, finished)
        if event is not None and not isinstance(event, Progress)
    ]


def test_a_job_goes_on_to_the_records_of_an_unbroken_one() -> None:
    payload = job(agent="random", episodes=4)
    whole = sorted(played(payload), key=lambda r: r["episode"])
    assert [r["episode"] for r in whole] == [0, 1, 2, 3]
    assert set(whole[0]) == {"game", "seed", "episode", "score", "frames", "end"}
    rest = played(payload, [whole[0], whole[2]])
    assert sorted(rest, key=lambda r: r["episode"]) == [whole[1], whole[3]]


def test_a_job_of_stretches_goes_on_to_the_records_of_an_unbroken_one() -> None:
    payload = job(agent="random", episodes=32, lanes=3)
    whole = played(payload)
    kept = whole[:11]  # within a stretch of two, as no interruption leaves it; and out of order
    kept = [r for r in kept if r["episode"] ^ 1 in {other["episode"] for other in kept}]
    rest = played(payload, kept)
    assert len(rest) == 32 - len(kept)
    assert sorted(kept + rest, key=lambda r: r["episode"]) == sorted(
        whole, key=lambda r: r["episode"]
    )


def test_a_finished_job_makes_neither_emulator_nor_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "make_agent", lambda *_: pytest.fail("made an agent"))
    monkeypatch.setattr("mlscale.rl.atari.play.Lane", lambda *_: pytest.fail("made an emulator"))
    assert played(job(), [{"episode": 0}, {"episode": 1}]) == []


@pytest.fixture
def starts_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that says how a job would start its episodes, playing none."""

    def starts(payload: Mapping[str, Any]) -> Any:
        seen = {}

        def play(game: str, protocol: Any, starts: Any, make_agent: Any, **named: Any) -> Any:
            seen.update(
                starts=[start for part in starts for start in part], make_agent=make_agent, **named
            )
            yield Pulse(frames=12)
            yield Episode(episode=0, score=1, frames=4, end="stuck")

        with monkeypatch.context() as patch:
            patch.setattr(jobs, "play_episodes", play)
            seen["events"] = list(play_job(payload, []))
        return seen

    return starts


def test_events_become_progress_and_records(starts_of: Callable[..., Any]) -> None:
    assert starts_of(job(seed=6))["events"] == [
        Progress({"frames": 12}),
        {"game": "pong", "seed": 6, "episode": 0, "score": 1, "frames": 4, "end": "stuck"},
    ]


def test_every_episode_has_seeds_of_its_own(starts_of: Callable[..., Any]) -> None:
    seeds = [
        seed
        for payload in (job(episodes=50), job(episodes=50, seed=1))
        for start in starts_of(payload)["starts"]
        for seed in (start.emulator_seed, start.agent_seed)
    ]
    assert len(set(seeds)) == 200
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_an_episodes_seeds_do_not_depend_on_how_many_are_asked_for(
    starts_of: Callable[..., Any],
) -> None:
    assert starts_of(job(episodes=2))["starts"] == starts_of(job(episodes=5, lanes=1))["starts"][:2]


def test_lanes_and_actions_are_the_jobs(starts_of: Callable[..., Any]) -> None:
    few = starts_of(job(lanes=3, episodes=5, protocol="v5"))
    assert (few["max_lanes"], few["num_actions"]) == (3, 6)
    assert starts_of(job(lanes=3, episodes=2))["max_lanes"] == 2
    assert starts_of(job(protocol="saber"))["num_actions"] == 18


def test_each_group_of_lanes_has_an_agent_with_a_seed_of_its_own(
    starts_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = []
    monkeypatch.setattr(jobs, "make_agent", lambda factory, task: tasks.append(task))
    make_agent = starts_of(job(seed=6, protocol="v5"))["make_agent"]
    for group in (0, 1, 0):
        make_agent(group)
    assert [(task.game, task.num_actions, task.device) for task in tasks] == [
        ("pong", 6, "cpu")
    ] * 3
    assert tasks[0].seed == tasks[2].seed != tasks[1].seed
