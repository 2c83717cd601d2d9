"""What of a released record a rate is about: single outcomes, outcomes from a level on, or any set of its features.

A parity constraint compares the probability of an event in two populations. Releases are told apart by ``values`` (the
outcome, or some features); an event is a set of values. Where it is ``free`` the event is whichever tells two
populations apart best, so that their difference is the total variation between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain
from evenhand.errors import DataError, Made, Setting

Levels = Literal["each", "cumulative"]
SINGLE: Levels = "each"
CUMULATIVE: Levels = "cumulative"
"""How the levels of an outcome are compared: one by one, or each with all above it."""


class Events(ABC):
    """The events that a constraint is about, numbered.

    Attributes
    ----------
    free : bool
        Whether there is one event, which any two populations choose for themselves.
    """

    free: ClassVar[bool] = False

    @abstractmethod
    def value(self, domain: Domain, to_x: Cells, to_y: Cells) -> Cells:
        """Return the value that each release has."""

    def told_apart(self, domain: Domain, to_x: Cells, to_y: Cells) -> tuple[Cells, Cells]:
        """Return the values that there are, and the place of each release's among them."""
        values, place = np.unique(self.value(domain, to_x, to_y), return_inverse=True)
        return values, place.ravel()

    @property
    @abstractmethod
    def members(self) -> Numbers:
        """Which values are in an event: one row per event, one column per value; where that is fixed."""

    @abstractmethod
    def words(self, event: int) -> str:
        """Name an event."""

    @abstractmethod
    def label(self, event: int) -> object:
        """Return an event as a table shows it, beside the name of its column."""


@dataclass(frozen=True, eq=False)
class Outcomes(Events):
    """An outcome's levels, one by one, or ``cumulative``: each with all above it."""

    outcome: Axis
    cumulative: bool = False

    @classmethod
    def of(cls, counts: Counts, what: str, levels: Levels) -> Outcomes:
        """Refuse levels that have no order, where what is above a level counts."""
        variable = counts.domain.outcome
        if levels == CUMULATIVE and len(variable) > 2 and not (variable.ordered or variable.numeric):
            raise DataError(
                f"levels of {what} are cumulative, but those of {variable.name!r} are words without an order; state it "
                f"with ",
                Setting("distortion", Made("Ordinal", {"levels": list(variable.levels)}), column=variable.name),
                ", lowest first",
            )
        return cls(counts.domain.y, levels == CUMULATIVE)

    def value(self, domain: Domain, to_x: Cells, to_y: Cells) -> Cells:
        """Return the level of each release."""
        return to_y

    def told_apart(self, domain: Domain, to_x: Cells, to_y: Cells) -> tuple[Cells, Cells]:
        """Return all levels, whether they are there or not."""
        return np.arange(self.outcome.size), to_y

    @cached_property
    def members(self) -> Numbers:
        """Each level alone, or with those above it."""
        alone = np.eye(self.outcome.size)
        return np.triu(np.ones_like(alone)) if self.cumulative else alone

    @property
    def compared(self) -> range:
        """The events that are compared: at least the lowest level is what everybody has."""
        return range(1 if self.cumulative else 0, self.outcome.size)

    def words(self, event: int) -> str:
        """Name a level, or from which level on."""
        (variable,) = self.outcome.variables
        return f"{variable.name} ≥ {variable.levels[event]}" if self.cumulative else self.outcome.words(event)

    def label(self, event: int) -> object:
        """Return a level, or from which level on."""
        level = self.outcome.variables[0].levels[event]
        return f"≥ {level}" if self.cumulative else level


@dataclass(frozen=True, eq=False)
class Features(Events):
    """Any set of the values of some features, as they are released."""

    axis: Axis
    free = True

    def value(self, domain: Domain, to_x: Cells, to_y: Cells) -> Cells:
        """Return the combination of features that each release has."""
        return domain.x.cells_of(self.axis, to_x)

    @property
    def members(self) -> Numbers:
        """One event, of no fixed values."""
        return np.zeros((1, 0))

    def words(self, event: int) -> str:
        return f"released {' × '.join(self.axis.names)}, whatever tells best"

    def label(self, event: int) -> object:
        return " × ".join(self.axis.names)
