"""Interrupts held back: until when, against what, and what is as it was afterwards."""

import contextlib
import functools
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from mlscale.core import interrupts
from mlscale.core.interrupts import ONE_PRESS_S, SIGNALS, deferred_interrupts


class Terminated(Exception):
    """What this file's own handler of SIGTERM raises."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Handlers of this file's own, so that a signal not held back ends no test run."""

    def terminate(number: int, frame: object) -> None:
        raise Terminated

    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, terminate)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, as a list of one number to set."""
    now_s = [100.0]
    monkeypatch.setattr(interrupts.time, "monotonic", lambda: now_s[0])
    return now_s


def hold(*steps: Callable[[], object]) -> None:
    """Do the steps, one after another, with interrupts held back."""
    with deferred_interrupts():
        for step in steps:
            step()


def send(number: int) -> Callable[[], None]:
    return lambda: signal.raise_signal(number)


@pytest.mark.parametrize("number", SIGNALS)
def test_an_interrupt_waits_for_the_end_of_the_block(number: int) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        hold(send(number), lambda: done.append("the rest of the step"))
    assert done == ["the rest of the step"]


def test_the_block_is_told() -> None:
    told = []
    with contextlib.suppress(KeyboardInterrupt), deferred_interrupts() as held:
        told.append(held.pending)
        signal.raise_signal(signal.SIGINT)
        told.append(held.pending)
    assert told == [False, True]


def test_without_one_the_block_ends_as_any() -> None:
    hold(lambda: None)


def test_ctrl_c_again_stops_at_once(clock: list[float]) -> None:
    done: list[str] = []
    wait = functools.partial(clock.__setitem__, 0, clock[0] + ONE_PRESS_S)
    with pytest.raises(KeyboardInterrupt):
        hold(send(signal.SIGINT), wait, send(signal.SIGINT), lambda: done.append("never"))
    assert done == []


@pytest.mark.parametrize(
    ("first", "second", "later_s"),
    [
        (signal.SIGINT, signal.SIGINT, 0.9 * ONE_PRESS_S),  # one press, passed on by a wrapper
        (signal.SIGTERM, signal.SIGTERM, 60),  # schedulers repeat it, and then kill
        (signal.SIGINT, signal.SIGTERM, 60),
    ],
)
def test_other_repetitions_change_nothing(
    first: int, second: int, later_s: float, clock: list[float]
) -> None:
    done: list[str] = []
    wait = functools.partial(clock.__setitem__, 0, clock[0] + later_s)
    with pytest.raises(KeyboardInterrupt):
        hold(send(first), wait, send(second), lambda: done.append("the rest of the step"))
    assert done == ["the rest of the step"]


@pytest.mark.parametrize("error", [None, ValueError])
def test_afterwards_signals_do_what_they_did(error: type[Exception] | None) -> None:
    try:
        with deferred_interrupts():
            if error is not None:
                raise error
    except ValueError:
        assert error is not None
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(Terminated):
        signal.raise_signal(signal.SIGTERM)


def test_an_error_is_not_hidden_by_an_interrupt() -> None:
    with pytest.raises(ZeroDivisionError):
        hold(send(signal.SIGINT), lambda: 1 / 0)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with deferred_interrupts() as held:
        signal.raise_signal(signal.SIGINT)
        assert not held.pending
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_outside_the_main_thread_nothing_is_held_back() -> None:
    seen = []

    def work() -> None:
        with deferred_interrupts() as held:
            seen.append((held.pending, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, signal.default_int_handler)]
