"""Warnings that come once: for a model and its clones, at the line of whoever fits them.

Knows processes and lines of code; nothing of what is told.
"""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass, field
from typing import Any

from evenhand.errors import Line, calling_line, hearing, warn

SEARCHING = ("sklearn", "joblib", "imblearn", "lightgbm", "xgboost")
"""Packages that lie between a fit and the line that asked for it."""


@dataclass(eq=False)
class Telling:
    """What a model and its clones told, so that a search, which fits a clone for each fold, tells it once.

    In one process they share what was ``told``. Workers that are sent clones share nothing: there only the first clone
    ``speaks``, at the ``line`` at which it was made, for a worker does not know who searches.
    """

    told: dict[tuple[str, ...], object] = field(default_factory=dict)
    process: int = field(default_factory=os.getpid)
    line: Line | None = None
    speaks: bool = True
    cloned: bool = False

    @property
    def at_work(self) -> bool:
        """Whether this is in a worker of the process in which it was made."""
        parent = multiprocessing.parent_process()
        return parent is not None and parent.pid == self.process

    def of_clone(self) -> Telling:
        """Return that of a clone."""
        if self.at_work:
            return self
        speaks, self.cloned = self.speaks and not self.cloned, True
        return Telling(self.told, line=calling_line(SEARCHING), speaks=speaks)

    def tell_once(self, what: tuple[str, ...], message: str) -> None:
        """Warn, unless that was told."""
        # Threads of a worker share this: setdefault lets one of them through, a look followed by a note would not.
        mine = object()
        first = self.told.setdefault(what, mine) is mine
        if first and (self.speaks or not self.at_work):
            # Whoever hears what is warned of has heard it: this is what is made of it.
            with hearing(None):
                warn(message, SEARCHING, at=self.line if self.at_work else None)

    def tell_here(self, what: tuple[str, ...], message: str) -> None:
        """Warn, unless a search from the same line was told: whoever asks again may ask about other people."""
        if self.at_work:
            self.tell_once(what, message)
        elif calling_line() == (line := calling_line(SEARCHING)):
            with hearing(None):
                warn(message)
        else:
            self.tell_once((*what, *map(str, line)), message)


class Tells:
    """What an estimator that warns shares with its clones."""

    _telling: Telling

    def _tell_once(self, what: tuple[str, ...], message: str) -> None:
        telling: Telling = self.__dict__.setdefault("_telling", Telling())
        telling.tell_once(what, message)

    def _tell_here(self, what: tuple[str, ...], message: str) -> None:
        # What is asked of a fitted model leaves it as it is: one that was not given anything to share tells anew.
        telling: Telling = self.__dict__.get("_telling", Telling())
        telling.tell_here(what, message)

    def __sklearn_clone__(self) -> Any:
        found = super().__sklearn_clone__()  # type: ignore[misc]
        found._telling = self.__dict__.setdefault("_telling", Telling()).of_clone()
        return found
