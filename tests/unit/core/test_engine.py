"""The local engine: exactly once, in order, whatever happens to the processes."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import mlscale
from mlscale.core.engine import process
from mlscale.core.engine.jobs import Failed, Finished, Job, Lost, Progressed, Recorded
from mlscale.core.engine.local import LocalEngine
from mlscale.core.engine.make import default_workers, make_engine
from mlscale.core.engine.tries import Tries
from mlscale.core.engine.work import Done, limit_threads, perform
from mlscale.core.errors import UserError, WorkFailed

# Jobs run in other processes, which must be able to import their work by name.
WORKS = r'''
import os, signal, sys, time
from pathlib import Path

from mlscale.core.engine.jobs import Progress
from mlscale.core.errors import UserError, WorkFailed

IMPORTED_BY = os.getpid()


class Odd(UserError):
    def __init__(self, number):
        super().__init__(f"odd {number}", "use an even one")

    def __reduce__(self):
        return Odd, ()


def count(payload, finished):
    for i in range(len(finished), payload["num"]):
        yield {"i": i}


def say(payload, finished):
    yield None
    yield Progress({"frac": 0.5})
    yield {"score": 1.5, "name": "pong", "won": True, "note": None}


def about(payload, finished):
    yield {
        "omp": os.environ["OMP_NUM_THREADS"],
        "extra": os.environ.get("MLSCALE_TEST_EXTRA"),
        "pythonpath": os.environ.get("PYTHONPATH"),
        "imported_here": IMPORTED_BY == os.getpid(),
        "pid": os.getpid(),
        "main": getattr(sys.modules["__main__"], "WHOSE", None),
    }


def shout(payload, finished):
    os.write(1, b"to stdout\n")  # in one piece, whatever PYTHONUNBUFFERED says
    yield {}


def die(payload, finished):
    """Die after each record until `lives` of them exist, then count on to the end."""
    for i in range(len(finished), payload["num"]):
        yield {"i": i}
        if i < payload["lives"]:
            if payload["how"] == "exit":
                os._exit(0)
            os.kill(os.getpid(), getattr(signal, payload["how"]))


def throw(payload, finished):
    yield {"i": 0}
    raise {
        "user": UserError("bad input", "give good input"),
        "work": WorkFailed("diverged"),
        "odd": Odd(3),
        "value": ValueError("a bug"),
        "exit": SystemExit(3),
    }[payload["what"]]


def answer(payload, finished):
    yield payload["item"] if "item" in payload else object()


def hang(payload, finished):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "pids" in payload:
        Path(payload["pids"], str(os.getpid())).write_text(str(os.getppid()))
    yield {"pid": os.getpid()}
    if payload["where"] == "sleep":
        time.sleep(1000)
    if payload["where"] == "c":  # never lets another thread have the interpreter
        sum(range(10**15))
    if payload["where"] == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if payload["where"] == "pipe":
        while True:
            yield Progress({"pid": os.getpid()})


def linger(payload, finished):
    import threading

    threading.Thread(target=time.sleep, args=(1000,)).start()
    yield {"i": 0}


def beat(payload, finished):
    for _ in range(payload["num"]):
        time.sleep(payload["every_s"])
        yield None
    yield {"i": 0}


def clock(payload, finished):
    yield {"began": time.monotonic()}
    time.sleep(0.05)
    yield {"ended": time.monotonic()}
'''

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")


@pytest.fixture(scope="session")
def works_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("works")
    (folder / "mlscale_test_works.py").write_text(WORKS)
    (folder / "mlscale_test_broken.py").write_text("raise RuntimeError('broken module')\n")
    return folder


@pytest.fixture
def run(works_dir, monkeypatch):
    monkeypatch.syspath_prepend(works_dir)

    def run_jobs(function, *payloads, finished=None, module="mlscale_test_works", **options):
        engine = LocalEngine(**{"num_workers": 2, **options})
        jobs = [Job(f"job{i}", payload) for i, payload in enumerate(payloads)]
        return engine.run(f"{module}:{function}", jobs, finished or {})

    return run_jobs


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


def wait_until(condition, limit_s=10.0):
    deadline_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.01)


# What a job says.


def test_records_arrive_once_in_order_for_more_jobs_than_workers(run):
    events = list(run("count", *({"num": n} for n in (200, 0, 3, 1, 50))))
    for i, num in enumerate((200, 0, 3, 1, 50)):
        assert numbers(events, f"job{i}") == list(range(num))
        assert kinds(events, f"job{i}") == [Recorded] * num + [Finished]


def test_finished_records_are_not_delivered_again(run):
    events = list(run("count", {"num": 4}, finished={"job0": [{"i": 0}, {"i": 1}], "x": [{}]}))
    assert numbers(events) == [2, 3]


def test_heartbeats_make_no_event_and_progress_makes_no_record(run):
    events = list(run("say", {}))
    job = Job("job0", {})
    assert events == [
        Progressed(job, {"frac": 0.5}),
        Recorded(job, {"score": 1.5, "name": "pong", "won": True, "note": None}),
        Finished(job),
    ]


@pytest.mark.parametrize("item", [[1], {"a": [1]}, {1: 2}, {"a": {}}, "object"])
def test_what_is_not_a_record_fails_its_job_only(run, item):
    odd = {} if item == "object" else {"item": item}
    events = list(run("answer", odd, {"item": {"i": 1}}))
    assert kinds(events) == [Failed]
    assert kinds(events, "job1") == [Recorded, Finished]
    assert next(e for e in events if isinstance(e, Failed)).error.message.startswith("TypeError: ")


@pytest.mark.skipif(sys.platform == "win32", reason="its clock starts anew in each process")
def test_no_more_jobs_at_a_time_than_workers(run):
    changes = []
    for event in run("clock", {}, {}, {}, {}, {}, num_workers=2):
        if isinstance(event, Recorded):
            changes += [(at_s, 1 if what == "began" else -1) for what, at_s in event.record.items()]
    assert len(changes) == 10
    num_running = 0
    for _, change in sorted(changes):
        num_running += change
        assert num_running <= 2


def test_no_jobs_no_events(run):
    assert list(run("count")) == []


def test_equal_keys_are_a_mistake():
    jobs = [Job("a", {}), Job("a", {})]
    with pytest.raises(ValueError, match="same key"):
        list(LocalEngine(num_workers=1).run("m:f", jobs, {}))


# Errors in a job.


@pytest.mark.parametrize(
    ("what", "kind", "message", "hint"),
    [
        ("user", UserError, "bad input", "give good input"),
        ("work", WorkFailed, "diverged", None),
    ],
)
def test_an_error_meant_for_the_user_arrives_whole(run, what, kind, message, hint):
    events = list(run("throw", {"what": what}))
    assert kinds(events) == [Recorded, Failed]
    assert type(events[-1].error) is kind
    assert (events[-1].error.message, events[-1].error.hint) == (message, hint)
    assert events[-1].traceback == ""


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("value", "ValueError: a bug"),
        ("exit", "SystemExit: 3"),
        ("odd", "Odd: odd 3"),  # cannot be pickled
    ],
)
def test_any_other_error_arrives_with_its_traceback(run, what, message):
    events = list(run("throw", {"what": what}))
    assert kinds(events) == [Recorded, Failed]
    assert type(events[-1].error) is WorkFailed
    assert events[-1].error.message == message
    assert "in throw" in events[-1].traceback


@pytest.mark.parametrize(
    ("module", "function", "message"),
    [
        ("mlscale_test_broken", "f", "RuntimeError: broken module"),
        ("mlscale_test_nowhere", "f", "ModuleNotFoundError: No module named"),
        ("mlscale_test_works", "f", "AttributeError: module 'mlscale_test_works' has no"),
    ],
)
def test_work_that_cannot_be_imported_fails(run, module, function, message):
    (event,) = run(function, {}, module=module)
    assert event.error.message.startswith(message)


# Deaths of workers.


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("SIGKILL", "was killed by SIGKILL (out of memory?)"),
        ("SIGSEGV", "was killed by SIGSEGV"),
        ("exit", "exited with code 0"),
    ],
)
def test_a_dead_workers_job_goes_on_after_its_last_record(run, how, reason):
    events = list(
        run("die", {"num": 4, "lives": 2, "how": how}, {"num": 2, "lives": 0, "how": how})
    )
    assert numbers(events) == [0, 1, 2, 3]
    lost = [e for e in events if isinstance(e, Lost)]
    assert [(e.attempt, e.reason) for e in lost] == [(1, reason), (2, reason)]
    assert kinds(events)[-1] is Finished
    assert kinds(events, "job1") == [Recorded, Recorded, Finished]


def test_a_job_whose_workers_always_die_is_given_up(run):
    events = list(run("die", {"num": 9, "lives": 9, "how": "SIGKILL"}, {"num": 1, "lives": 0}))
    assert kinds(events) == [Recorded, Lost, Recorded, Lost, Recorded, Failed]
    error = next(e for e in events if isinstance(e, Failed)).error
    assert type(error) is WorkFailed
    assert error.message == (
        "its worker died 3 times, at last because it was killed by SIGKILL (out of memory?)"
    )
    assert kinds(events, "job1") == [Recorded, Finished]


def test_one_attempt_means_no_retry(run):
    events = list(run("die", {"num": 9, "lives": 9, "how": "SIGKILL"}, max_attempts=1))
    assert kinds(events) == [Recorded, Failed]
    assert "its worker died once" in events[-1].error.message


@linux
def test_the_death_of_the_fork_server_only_costs_attempts(run):
    with contextlib.closing(run("hang", {"where": "sleep"})) as events:
        first = next(events).record["pid"]
        os.kill(int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1]), 9)
        assert next(events).attempt == 1
        # A second one goes where the system is slow to tell that the server is dead.
        second = next(event for event in events if not isinstance(event, Lost))
        assert second.record["pid"] != first
        wait_until(lambda: not is_running(first))


def test_a_process_that_cannot_start_costs_an_attempt(run, monkeypatch):
    def refuse(self):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(process.CONTEXT.Process, "start", refuse)
    events = list(run("count", {"num": 1}, {"num": 1}, silence_limit_s=0.1))
    assert kinds(events) == kinds(events, "job1") == [Lost, Lost, Failed]
    assert events[0].reason.startswith("did not start: BlockingIOError(11")


# Silence.


@pytest.mark.parametrize("where", ["sleep", "c", "stop"])
def test_a_silent_job_is_killed_and_the_others_go_on(run, where):
    events = list(run("hang", {"where": where}, {"where": "nowhere"}, silence_limit_s=0.4))
    assert kinds(events) == [Recorded, Failed]
    error = next(e for e in events if isinstance(e, Failed)).error
    assert type(error) is WorkFailed
    assert error.message == "no sign of life for 0.4 s"
    assert kinds(events, "job1") == [Recorded, Finished]


def test_signs_of_life_keep_a_slow_job_alive(run):
    events = list(run("beat", {"num": 5, "every_s": 0.3}, silence_limit_s=0.8))
    assert kinds(events) == [Recorded, Finished]


def test_a_job_that_is_done_but_does_not_exit_is_finished(run):
    events = list(run("linger", {}, {}, num_workers=1, silence_limit_s=0.3))
    assert kinds(events) == [Recorded, Finished]
    assert kinds(events, "job1") == [Recorded, Finished]


# Ends.


@linux
@pytest.mark.parametrize("where", ["sleep", "c"])
def test_closing_early_kills_every_job(run, where):
    events = run("hang", {"where": where}, {"where": where})
    pids = [next(events).record["pid"], next(events).record["pid"]]
    assert all(map(is_running, pids))
    events.close()
    assert not any(map(is_running, pids))


@linux
def test_closing_early_does_not_wait_for_a_full_pipe(run):
    events = run("hang", {"where": "pipe"})
    pid = next(events).record["pid"]
    time.sleep(0.1)
    events.close()
    assert not is_running(pid)


SCRIPT = """
import sys
sys.path[:0] = {paths}
from mlscale.core.engine.jobs import Job, Recorded
from mlscale.core.engine.local import LocalEngine
WHOSE = "the caller's"
engine = LocalEngine(num_workers=2, silence_limit_s=0.6 if {brief} else 600.0)
jobs = [Job("a", {payload}), Job("b", {payload})]
events = engine.run("{work}", jobs, {{}})
{body}
"""


@pytest.fixture
def script(works_dir, tmp_path):
    """Start a script without a main guard, as a console script is one, in its own session."""

    @contextlib.contextmanager
    def start(function, payload, body, *, module="mlscale_test_works", brief=False):
        path = tmp_path / "script.py"
        paths = [str(Path(mlscale.__file__).parents[1]), str(works_dir)]
        text = SCRIPT.format(
            paths=paths, work=f"{module}:{function}", payload=payload, body=body, brief=brief
        )
        path.write_text(text)
        with tempfile.TemporaryDirectory(prefix="mlscale") as sockets:  # short, and always removed
            caller = subprocess.Popen(
                [sys.executable, "-W", "error", str(path)],
                env={**os.environ, "TMPDIR": sockets},
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            try:
                yield caller
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(caller.pid, signal.SIGKILL)
                caller.communicate()

    return start


@linux
@pytest.mark.parametrize("where", ["sleep", "c"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_killed_caller(script, tmp_path, where, how):
    pids = tmp_path / "pids"
    pids.mkdir()
    with script("hang", {"where": where, "pids": str(pids)}, "list(events)") as caller:
        wait_until(lambda: len(list(pids.glob("*"))) == 2)
        wait_until(lambda: all(file.read_text() for file in pids.glob("*")))
        jobs = [int(file.name) for file in pids.glob("*")]
        server = int(next(pids.glob("*")).read_text())
        assert all(map(is_running, [*jobs, server]))
        os.kill(caller.pid, how)
        wait_until(lambda: not any(map(is_running, [*jobs, server])))


@linux
@pytest.mark.parametrize("where", ["engine", "loop"])
def test_ctrl_c_ends_an_unclosed_iterator_wherever_it_strikes(script, where):
    body = "print(next(events).record['pid'], next(events).record['pid'], flush=True)\n"
    body += "list(events)" if where == "engine" else "import time; time.sleep(1000)"
    with script("hang", {"where": "sleep"}, body) as caller:
        pids = [int(word) for word in caller.stdout.readline().split()]
        os.killpg(caller.pid, signal.SIGINT)
        _, errors = caller.communicate(timeout=5)
        assert errors.count("Traceback") == 1
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert not any(map(is_running, pids))


def test_ctrl_c_is_not_the_jobs_business(run):
    with contextlib.closing(run("hang", {"where": "pipe"})) as events:
        os.kill(next(events).record["pid"], signal.SIGINT)
        for _ in range(3000):  # more than a pipe holds
            assert isinstance(next(events), Progressed)


def test_jobs_find_modules_preloaded_and_do_not_run_the_script_again(script):
    body = "print([e.record[k] for e in events if isinstance(e, Recorded)"
    body += " for k in ('imported_here', 'main')])"
    with script("about", {}, body) as caller:
        output, errors = caller.communicate(timeout=10)
    assert errors == ""
    imported_here = sys.platform != "linux"
    assert output == f"{[imported_here, None] * 2}\n"


def test_a_broken_module_is_the_jobs_failure_not_the_fork_servers(script):
    body = "print(*[event.error.message for event in events], sep='\\n')"
    with script("f", {}, body, module="mlscale_test_broken") as caller:
        output, errors = caller.communicate(timeout=10)
    assert errors == ""
    assert output == "RuntimeError: broken module\n" * 2


@linux
def test_a_suspended_caller_does_not_take_its_own_absence_for_the_jobs(script):
    body = "print('started', *[type(e).__name__ for e in events])"
    with script(
        "beat", {"num": 5, "every_s": 0.1}, f"print(flush=True)\n{body}", brief=True
    ) as caller:
        caller.stdout.readline()
        time.sleep(0.3)
        os.killpg(caller.pid, signal.SIGSTOP)
        time.sleep(0.8)
        os.killpg(caller.pid, signal.SIGCONT)
        output, errors = caller.communicate(timeout=10)
    assert errors == ""
    assert sorted(output.split()) == ["Finished"] * 2 + ["Recorded"] * 2 + ["started"]


def test_what_a_job_prints_is_kept_off_stdout(script):
    with script("shout", {}, "print(len(list(events)))") as caller:
        output, errors = caller.communicate(timeout=10)
    assert output == "4\n"
    assert errors == "to stdout\n" * 2


# The environment of a job.


def test_a_job_has_the_callers_environment_and_its_own_threads(run, monkeypatch):
    monkeypatch.setenv("MLSCALE_TEST_EXTRA", "seen")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    record = next(run("about", {}, threads_per_worker=3)).record
    assert record["omp"] == "3"
    assert record["extra"] == "seen"
    assert record["pythonpath"] is None
    assert record["pid"] != os.getpid()


def test_torch_obeys_the_thread_limit_when_it_is_loaded_already(monkeypatch):
    calls = []

    class FakeTorch:
        set_num_threads = staticmethod(calls.append)

    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(sys.modules, "torch", FakeTorch)
    limit_threads(2)
    assert calls == [2]
    assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "2"


def test_spawn_where_there_is_no_fork_server(run, monkeypatch):
    import multiprocessing

    monkeypatch.setattr(process, "CONTEXT", multiprocessing.get_context("spawn"))
    events = list(run("die", {"num": 2, "lives": 1, "how": "SIGKILL"}))
    assert numbers(events) == [0, 1]
    assert kinds(events) == [Recorded, Lost, Recorded, Finished]


# Names and defaults.


def test_engines_by_name():
    engine = make_engine("local", threads_per_worker=2, preload=("json",))
    assert engine == LocalEngine(
        num_workers=default_workers(2), threads_per_worker=2, preload=("json",)
    )
    assert make_engine("local", num_workers=5).num_workers == 5
    assert default_workers(10**6) == 1


def test_an_unknown_engine():
    with pytest.raises(UserError, match="unknown engine 'rya'") as caught:
        make_engine("rya")
    assert caught.value.hint == "did you mean 'ray'? the engines are local, ray"


def test_ray_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="engine 'ray' needs the extra 'ray'") as caught:
        list(make_engine("ray").run("m:f", [Job("a", {})], {}))
    assert caught.value.hint == "pip install 'mlscale[ray]'"


def test_a_worker_says_its_last_word_and_nothing_after_it(works_dir, monkeypatch):
    monkeypatch.syspath_prepend(works_dir)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr("mlscale.core.engine.work.limit_threads", lambda num_threads: None)
    assert importlib.util.find_spec("mlscale_test_works") is not None
    messages = list(perform("mlscale_test_works:count", {"num": 2}, [{"i": 0}], 1))
    assert messages == [None, {"i": 1}, Done()]
    tries = Tries(Job("a", {}), [], 3)
    assert [type(tries.take(message)) for message in [*messages, {"late": 1}, Done()]] == [
        type(None), Recorded, Finished, type(None), type(None)
    ]  # fmt: skip
    assert tries.records == [{"i": 1}]
