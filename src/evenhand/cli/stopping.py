"""SIGTERM ends a command as Ctrl-C does: what was begun is taken back, and nothing is left half-written."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Stop:
    """Whether somebody told the command to stop."""

    asked: bool = False


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Let SIGTERM do what Ctrl-C does at that moment, and remember that it came; where it is ignored, it stays so."""
    stop = Stop()
    unheard = signal.getsignal(signal.SIGTERM) in (signal.SIG_IGN, None)
    if unheard or threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def end(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        # While a solver runs, Ctrl-C only asks it to return; an exception would be lost in its callback.
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(number, frame)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)
