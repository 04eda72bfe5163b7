"""The Ray engine on real local clusters: the same contract as the local engine's."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mlscale
from mlscale.core.engine.jobs import Failed, Finished, Job, Lost, Progressed, Recorded
from mlscale.core.engine.make import make_engine
from mlscale.core.errors import UserError, WorkFailed

pytestmark = pytest.mark.slow
ray = pytest.importorskip("ray")

WORKS = """
import os, signal, time
from pathlib import Path

from mlscale.core.engine.jobs import Progress
from mlscale.core.errors import UserError


def count(payload, finished):
    for i in range(len(finished), payload["num"]):
        yield {"i": i}
        if i < payload.get("lives", 0):
            time.sleep(0.5)  # or the record dies with its worker, and is made again
            os.kill(os.getpid(), signal.SIGKILL)


def mixed(payload, finished):
    yield None
    yield Progress({"frac": 0.5})
    yield {"omp": os.environ["OMP_NUM_THREADS"]}
    print("to stdout")
    raise {"user": UserError("bad input", "give good input"), "bug": ValueError("a bug")}[
        payload["what"]
    ]


def hang(payload, finished):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(payload["pids"], str(os.getpid())).touch()
    yield {"i": 0}
    if payload["where"] == "sleep":
        time.sleep(1000)
    if payload["where"] == "c":
        sum(range(10**15))


def beat(payload, finished):
    for _ in range(6):
        time.sleep(0.4)
        yield None
    yield {"i": 0}


def wait_for_file(payload, finished):
    if not finished:
        yield {"end": False}
        while not Path(payload["file"]).exists():
            time.sleep(0.05)
            yield None
    yield {"end": True}
"""


@pytest.fixture(scope="module")
def works_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("works")
    (folder / "mlscale_test_ray_works.py").write_text(WORKS)
    root = Path(mlscale.__file__).parents[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{root}{os.pathsep}{folder}")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield folder


@pytest.fixture(scope="class")
def cluster(works_dir):
    """Start one cluster for the tests that do not need their own."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def run(function, *payloads, finished=None, **options):
    jobs = [Job(f"job{i}", payload) for i, payload in enumerate(payloads)]
    engine = make_engine("ray", **options)
    return engine.run(f"mlscale_test_ray_works:{function}", jobs, finished or {})


def numbers(events, key="job0"):
    return [e.record["i"] for e in events if isinstance(e, Recorded) and e.job.key == key]


def kinds(events, key="job0"):
    return [type(e) for e in events if e.job.key == key]


def is_running(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def wait_until(condition, limit_s=30.0):
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.usefixtures("cluster")
class TestOneCluster:
    def test_records_arrive_once_in_order(self):
        events = list(run("count", *({"num": n} for n in (200, 0, 3)), finished={"job2": [{}]}))
        assert numbers(events) == list(range(200))
        assert kinds(events) == [Recorded] * 200 + [Finished]
        assert kinds(events, "job1") == [Finished]
        assert numbers(events, "job2") == [1, 2]

    def test_errors_of_jobs(self):
        events = list(run("mixed", {"what": "user"}, {"what": "bug"}, threads_per_worker=2))
        assert kinds(events) == kinds(events, "job1") == [Progressed, Recorded, Failed]
        assert {e.record["omp"] for e in events if isinstance(e, Recorded)} == {"2"}
        user, bug = sorted((e for e in events if isinstance(e, Failed)), key=lambda e: e.job.key)
        assert type(user.error) is UserError
        assert (user.error.message, user.error.hint) == ("bad input", "give good input")
        assert user.traceback == ""
        assert bug.error.message == "ValueError: a bug"
        assert "in mixed" in bug.traceback

    def test_a_dead_workers_job_goes_on_after_its_last_record(self):
        events = list(run("count", {"num": 4, "lives": 2}, {"num": 2}))
        assert kinds(events) == [Recorded, Lost, Recorded, Lost, Recorded, Recorded, Finished]
        assert numbers(events) == [0, 1, 2, 3]
        lost = [e for e in events if isinstance(e, Lost)]
        assert [(e.attempt, e.reason) for e in lost] == [
            (1, "was lost: WorkerCrashedError"),
            (2, "was lost: WorkerCrashedError"),
        ]
        assert numbers(events, "job1") == [0, 1]

    def test_a_job_whose_workers_always_die_is_given_up(self):
        events = list(run("count", {"num": 9, "lives": 9}, {"num": 1}, max_attempts=2))
        assert kinds(events) == [Recorded, Lost, Recorded, Failed]
        assert type(events[-1].error) is WorkFailed
        assert "its worker died 2 times" in events[-1].error.message
        assert kinds(events, "job1") == [Recorded, Finished]

    @pytest.mark.parametrize("where", ["sleep", "c"])
    def test_a_silent_job_is_killed_and_its_core_is_free_again(self, where, tmp_path):
        payload = {"where": where, "pids": str(tmp_path)}
        events = list(run("hang", payload, payload, payload, silence_limit_s=1.0, num_workers=2))
        for key in ("job0", "job1", "job2"):
            assert kinds(events, key) == [Recorded, Failed]
        assert {e.error.message for e in events if isinstance(e, Failed)} == {
            "no sign of life for 1 s"
        }
        wait_until(lambda: not any(is_running(int(file.name)) for file in tmp_path.glob("*")))

    @pytest.mark.parametrize("where", ["sleep", "c"])
    def test_closing_early_kills_every_job(self, where, tmp_path):
        payload = {"where": where, "pids": str(tmp_path)}
        events = run("hang", payload, payload, payload)
        next(events)
        next(events)
        pids = [int(file.name) for file in tmp_path.glob("*")]
        assert len(pids) == 2
        events.close()
        wait_until(lambda: not any(map(is_running, pids)))
        assert len(list(tmp_path.glob("*"))) == 2  # the third never started

    def test_waiting_for_a_core_is_not_silence(self):
        events = list(run("beat", {}, {}, threads_per_worker=2, silence_limit_s=1.0))
        assert kinds(events) == kinds(events, "job1") == [Recorded, Finished]

    def test_work_that_cannot_be_imported_fails(self):
        (event,) = run("nothing", {})
        assert event.error.message.startswith("AttributeError: module 'mlscale_test_ray_works'")


def test_the_death_of_a_machine_costs_an_attempt(works_dir, tmp_path):
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=0, include_dashboard=False)
        doomed = cluster.add_node(num_cpus=1)
        payload = {"file": str(tmp_path / "go")}
        events = run("wait_for_file", payload, address=cluster.address)
        seen = [next(events)]
        cluster.remove_node(doomed, allow_graceful=False)
        cluster.add_node(num_cpus=1)
        for event in events:
            seen.append(event)
            (tmp_path / "go").touch()
        assert kinds(seen) == [Recorded, Lost, Recorded, Finished]
        assert seen[2].record == {"end": True}
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://localhost:1", "auto"])
def test_no_cluster_at_the_address(works_dir, monkeypatch, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=f"there is no Ray cluster at {address}"):
        next(run("count", {"num": 1}))


SCRIPT = """
import sys
from mlscale.core.engine.jobs import Job
from mlscale.core.engine.make import make_engine
engine = make_engine("ray", num_workers=2)
for event in engine.run("mlscale_test_ray_works:{function}", [Job("a", {payload})], {{}}):
    print(type(event).__name__, flush=True)
"""


@contextlib.contextmanager
def caller(function, payload):
    """Run a command in its own process, which starts its own cluster."""
    text = SCRIPT.format(function=function, payload=payload)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", text], start_new_session=True, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_stdout_is_the_commands_own(works_dir):
    with caller("count", {"num": 3, "lives": 1}) as process:
        output, errors = process.communicate(timeout=60)
    assert output.split() == ["Recorded", "Lost", "Recorded", "Recorded", "Finished"]
    assert "Traceback" not in errors


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_job_outlives_a_killed_caller(works_dir, tmp_path, how):
    with caller("hang", {"where": "c", "pids": str(tmp_path)}) as process:
        wait_until(lambda: list(tmp_path.glob("*")))
        (pid,) = (int(file.name) for file in tmp_path.glob("*"))
        assert is_running(pid)
        os.kill(process.pid, how)
        wait_until(lambda: not is_running(pid))
