"""Time limits and Ctrl-C: how a solve is stopped cleanly.

A solver is written in another language and does not see Python's signals. While one runs, Ctrl-C only raises a
flag, which the solver's own callback reads; when it has returned, KeyboardInterrupt is raised as usual. Some stages of
a solver heed nothing: it runs in a thread of its own, and is left behind there.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

from evenhand import check
from evenhand.errors import SpecError, TimeLimitError

T = TypeVar("T")

LISTEN_SECONDS = 0.05
"""How often it is looked whether a running solve should stop."""

GRACE_SECONDS = 1.0
"""How long a solve that was asked to stop is waited for."""


class Clock:
    """The time a fit has left, and whether somebody asked it to stop."""

    def __init__(self, time_limit: float | None = None) -> None:
        if time_limit is not None:
            time_limit = check.number("time_limit", time_limit)
            if not time_limit > 0:
                raise SpecError(f"time_limit must be a positive number of seconds, not {time_limit:g}")
        self.time_limit = time_limit
        self._began = time.monotonic()
        self._asked = threading.Event()

    @property
    def remaining(self) -> float:
        """The seconds left; infinite without a limit."""
        if self.time_limit is None:
            return float("inf")
        return self.time_limit - (time.monotonic() - self._began)

    @property
    def stop(self) -> bool:
        """Whether a running solver should return now."""
        return self._asked.is_set() or self.remaining <= 0

    def check(self) -> None:
        """Raise if the limit is reached."""
        if self.remaining <= 0:
            raise self.late()

    def late(self) -> TimeLimitError:
        """Return the error that says so."""
        limit = "" if self.time_limit is None else f" of {self.time_limit:g} s"
        return TimeLimitError(f"no answer within the time limit{limit}; give it more time, or merge levels")

    def run(self, solve: Callable[[], T], ask_to_stop: Callable[[], None] = lambda: None) -> T:
        """Run a solver, beside a thread that hears Ctrl-C and sees the limit; leave it behind if it heeds neither."""
        found: Future[T] = Future()

        def work() -> None:
            try:
                found.set_result(solve())
            except BaseException as error:
                found.set_exception(error)

        running = threading.Thread(target=work, daemon=True)
        with self.listening():
            running.start()
            while running.is_alive():
                running.join(LISTEN_SECONDS)
                if self.stop and running.is_alive():
                    ask_to_stop()
                    running.join(GRACE_SECONDS)
                    if running.is_alive():
                        # It ends by itself at the next stage that heeds anything.
                        raise self.late()
        return found.result()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let Ctrl-C ask the running solver to return, and raise it afterwards; where it is ignored, it stays so."""
        ignored = signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None)
        if ignored or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, lambda *_: self._asked.set())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            if self._asked.is_set():
                raise KeyboardInterrupt
