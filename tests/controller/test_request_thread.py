"""Requests are done in order, off the caller's thread, and an error ends none of the others."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from workbench.controller.request_thread import RequestThread
from workbench.controller.state import sentence_of

PATIENCE_S = 20


class Bench:
    """A request thread whose ticks run while `ticks_left` is above zero."""

    def __init__(self) -> None:
        self.errors: queue.Queue[Exception] = queue.Queue()
        self.done: queue.Queue[object] = queue.Queue()
        self.ticks_left = 0
        self.thread = RequestThread("test", self.errors.put, self.tick, period_s=0.005)

    def tick(self) -> bool:
        self.ticks_left -= 1
        self.done.put("tick")
        return self.ticks_left > 0


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.thread.close()


def test_requests_are_done_in_order_on_one_other_thread(bench: Bench) -> None:
    for number in range(5):
        bench.thread.ask(lambda number=number: bench.done.put((number, threading.get_ident())))
    got = []
    while len(got) < 5:
        one = bench.done.get(timeout=PATIENCE_S)
        if one != "tick":
            got.append(one)
    assert [number for number, _ in got] == [0, 1, 2, 3, 4]
    assert len({thread for _, thread in got}) == 1
    assert got[0][1] != threading.get_ident()


def test_it_ticks_after_a_request_for_as_long_as_the_tick_says(bench: Bench) -> None:
    bench.ticks_left = 3
    bench.thread.ask(lambda: None)
    for _ in range(3):
        assert bench.done.get(timeout=PATIENCE_S) == "tick"
    with pytest.raises(queue.Empty):
        bench.done.get(timeout=0.1)


def test_an_error_is_passed_on_and_the_thread_continues(bench: Bench) -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    bench.thread.ask(fail)
    assert str(bench.errors.get(timeout=PATIENCE_S)) == "on purpose"
    bench.thread.ask(lambda: bench.done.put("after"))
    while bench.done.get(timeout=PATIENCE_S) != "after":
        pass


@pytest.mark.fault
def test_a_tick_that_fails_once_is_not_the_last(bench: Bench) -> None:
    bench.ticks_left = 3
    ticks = bench.tick

    def fail_first() -> bool:
        return ticks() if bench.ticks_left < 3 else fail()

    def fail() -> bool:
        bench.ticks_left -= 1
        raise OSError("for a moment")

    bench.thread._tick = fail_first
    bench.thread.ask(lambda: None)
    assert str(bench.errors.get(timeout=PATIENCE_S)) == "for a moment"
    assert bench.done.get(timeout=PATIENCE_S) == "tick"


@pytest.mark.fault
def test_an_error_that_cannot_be_shown_ends_nothing(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("on purpose")

    bench.thread._on_error = fail
    bench.thread.ask(fail)
    assert bench.thread.wait(PATIENCE_S)
    assert "The error 'ValueError: on purpose' cannot be shown" in caplog.text


def test_a_thread_that_has_ended_is_not_waited_for(bench: Bench) -> None:
    bench.thread.close()
    assert bench.thread.wait(PATIENCE_S)
    assert bench.thread.wait(PATIENCE_S)


class SilentError(Exception):
    """An exception of user code whose message cannot be made."""

    def __str__(self) -> str:
        raise SystemExit


@pytest.mark.fault
@pytest.mark.parametrize("error", [SystemExit(2), KeyboardInterrupt(), SilentError()])
def test_user_code_that_ends_the_program_does_not_end_the_thread(
    bench: Bench, error: BaseException
) -> None:
    def fail() -> None:
        raise error

    bench.thread.ask(fail)
    assert type(error).__name__ in sentence_of(bench.errors.get(timeout=PATIENCE_S))
    bench.thread.ask(lambda: bench.done.put("after"))
    while bench.done.get(timeout=PATIENCE_S) != "after":
        pass


def test_close_ends_the_thread_after_pending_requests(bench: Bench) -> None:
    bench.ticks_left = 1_000_000
    bench.thread.ask(lambda: bench.done.put("last"))
    bench.thread.close()
    while bench.done.get(timeout=PATIENCE_S) != "last":
        pass
    for thread in threading.enumerate():
        if thread.name == "test":
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
