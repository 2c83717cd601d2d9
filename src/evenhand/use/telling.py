"""Progress that also moves while a solver works and says nothing: by the seconds that its stage has taken so far.

A clock is looked at every moment while a solver runs in its thread, and between the steps of everything else. So that
it is looked at tells that the work goes on, and it is then that somebody is told.
"""

from __future__ import annotations

import threading
import time

from evenhand.optimise.solve import Clock
from evenhand.resources import Progress

QUIET = 0.5
"""Seconds without a word after which a stage is told again; two of them are within the second that people wait."""


class Teller:
    """Tells of progress: what it is given, with shares that never fall, and that the same stage still goes on.

    Examples
    --------
    >>> told = []
    >>> tell = Teller(lambda stage, share: told.append((stage, share)))
    >>> tell("counting", 0.5)
    >>> tell("solving", 0.25)
    >>> told
    [('counting', 0.5), ('solving', 0.5)]
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stage, self._share = "", 0.0
        self._began = self._told = time.monotonic()
        self._thread = threading.get_ident()

    def __call__(self, stage: str, share: float) -> None:
        """Tell of a stage, and of the share that is done."""
        self._told = time.monotonic()
        if stage != self._stage:
            self._stage, self._began = stage, self._told
        self._share = max(share, self._share)
        self._progress(stage, self._share)

    def going_on(self) -> None:
        """Tell how long the stage has taken, if nothing was told for a while.

        A solver looks at the clock from a thread of its own, in which nobody expects to be told anything.
        """
        now = time.monotonic()
        if self._stage and now - self._told >= QUIET and threading.get_ident() == self._thread:
            self._told = now
            self._progress(f"{self._stage}, {now - self._began:.1f} s", self._share)


class TellingClock(Clock):
    """A clock that lets its teller know whenever it is looked at."""

    def __init__(self, time_limit: float | None, teller: Teller) -> None:
        super().__init__(time_limit)
        self._teller = teller

    @property
    def stop(self) -> bool:
        """Whether a running solver should return now."""
        self._teller.going_on()
        return super().stop

    def check(self) -> None:
        """Raise if the limit is reached."""
        self._teller.going_on()
        super().check()
