"""Work that an interruption ends: whenever it comes, and however often it must be told."""

import signal
import threading
import time

import pytest

from evenhand.engines.waiting import beside


def interrupt_after(seconds):
    threading.Timer(seconds, lambda: signal.raise_signal(signal.SIGINT)).start()


def test_what_it_returns_and_raises():
    assert beside(lambda: [1, 2], lambda: None) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        beside(lambda: 1 / 0, lambda: None)


def test_a_call_that_is_lost_is_made_again():
    """DuckDB forgets an interruption that comes between two queries."""
    calls = []

    def work():
        while len(calls) < 3:
            time.sleep(0.001)

    interrupt_after(0.05)
    with pytest.raises(KeyboardInterrupt):
        beside(work, lambda: calls.append(1))
    assert len(calls) == 3


def test_work_has_ended_when_it_is_left():
    ended, stopped = threading.Event(), threading.Event()

    def work():
        stopped.wait()
        time.sleep(0.2)
        ended.set()

    interrupt_after(0.05)
    with pytest.raises(KeyboardInterrupt):
        beside(work, stopped.set)
    assert ended.is_set()


def test_interrupted_before_it_began(monkeypatch):
    """The thread is there, but the one that started it was interrupted before it heard so."""
    begun = []

    class Late(threading.Thread):
        def start(self):
            threading.Timer(0.2, super().start).start()
            raise KeyboardInterrupt

    monkeypatch.setattr("evenhand.engines.waiting.Thread", Late)
    with pytest.raises(KeyboardInterrupt):
        beside(lambda: begun.append(1), lambda: None)
    time.sleep(0.4)
    assert not begun


def test_a_second_interruption_does_not_leave_it_running():
    ended, calls = threading.Event(), []

    def stop():
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt

    def work():
        while len(calls) < 2:
            time.sleep(0.001)
        ended.set()

    interrupt_after(0.05)
    with pytest.raises(KeyboardInterrupt):
        beside(work, stop)
    assert ended.is_set()
