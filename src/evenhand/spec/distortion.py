"""The distortion δ((x, y), (x̂, ŷ)): one rule a column, and how the columns combine.

An infinite cost forbids a move. It is never written as a large number: a move of cost 1e4 still happens with
probability c/1e4.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.counts import Numbers
from evenhand.domain import Cells, Domain, Value, Variable
from evenhand.errors import SpecError
from evenhand.spec import check
from evenhand.spec.frozen import FrozenMap

Combine = Literal["sum", "sum_of_squares", "max"]
COMBINE = ("sum", "sum_of_squares", "max")


class Rule(ABC):
    """What it costs to change one column."""

    @abstractmethod
    def costs(self, variable: Variable) -> Numbers:
        """Return the cost of every change: a row a level, a column a level it may become."""


@dataclass(frozen=True)
class Ordinal(Rule):
    """An ordered column: a change costs ``step`` for each level it passes.

    Parameters
    ----------
    step : float
        The cost of one step.
    max_steps : int, optional
        More steps than this are forbidden.
    up, down : bool
        Whether the column may rise, may fall.
    up_step : float, optional
        The cost of one upward step where it differs.
    levels : sequence, optional
        The order of the levels, for a column that carries none.

    Examples
    --------
    >>> from evenhand.domain import Role
    >>> age = Variable("age", Role.FEATURE, ("young", "middle", "old"), ordered=True)
    >>> Ordinal(step=1, max_steps=1, down=False).costs(age).tolist()
    [[0.0, 1.0, inf], [inf, 0.0, 1.0], [inf, inf, 0.0]]
    """

    step: float
    max_steps: int | None = None
    up: bool = True
    down: bool = True
    up_step: float | None = None
    levels: Sequence[Value] | None = None

    def __post_init__(self) -> None:
        check.finite("the step of Ordinal", self.step, low=0)
        if self.up_step is not None:
            check.finite("the up_step of Ordinal", self.up_step, low=0)
        if self.max_steps is not None:
            check.number("the max_steps of Ordinal", self.max_steps, low=0)
            if self.max_steps != int(self.max_steps):
                raise SpecError(f"the max_steps of Ordinal must be a whole number, not {self.max_steps}")
        if self.levels is not None:
            if isinstance(self.levels, str) or not self.levels:
                raise SpecError(f"the levels of Ordinal must be a list of values, not {self.levels!r}")
            object.__setattr__(self, "levels", tuple(self.levels))

    def costs(self, variable: Variable) -> Numbers:
        """Return step × number of steps, infinite where the change is not allowed."""
        if not variable.ordered:
            raise SpecError(
                f"Ordinal needs an order for column {variable.name!r}, whose levels {list(variable.levels)} "
                f"have none: write Ordinal(..., levels=[...]) from lowest to highest, or use an ordered "
                f"categorical column"
            )
        rank = np.arange(len(variable))
        rise = rank[None, :] - rank[:, None]
        upward = self.step if self.up_step is None else self.up_step
        costs = np.where(rise > 0, upward, self.step) * np.abs(rise).astype(float)
        forbidden = ((rise > 0) & (not self.up)) | ((rise < 0) & (not self.down))
        if self.max_steps is not None:
            forbidden |= np.abs(rise) > self.max_steps
        return np.where(forbidden, np.inf, costs)


@dataclass(frozen=True)
class Nominal(Rule):
    """An unordered column: any change costs the same.

    Examples
    --------
    >>> from evenhand.domain import Role
    >>> Nominal(4).costs(Variable("charge", Role.FEATURE, ("F", "M"), ordered=False)).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    """

    cost: float

    def __post_init__(self) -> None:
        check.number("the cost of Nominal", self.cost, low=0)

    def costs(self, variable: Variable) -> Numbers:
        """Return the cost off the diagonal."""
        size = len(variable)
        return np.where(np.eye(size, dtype=bool), 0.0, float(self.cost))


@dataclass(frozen=True)
class Fixed(Rule):
    """A column that never changes; the rule of every feature that has no other."""

    def costs(self, variable: Variable) -> Numbers:
        """Return infinity off the diagonal."""
        return Nominal(np.inf).costs(variable)


@dataclass(frozen=True)
class Free(Rule):
    """A column whose changes cost nothing."""

    def costs(self, variable: Variable) -> Numbers:
        """Return zeros."""
        return np.zeros((len(variable), len(variable)))


@dataclass(frozen=True)
class Distortion:
    """The distortion δ: a rule a column, combined.

    Parameters
    ----------
    rules : mapping of column name to Rule
        A feature without a rule is fixed. The outcome needs one.
    combine : {"sum", "sum_of_squares", "max"}
        How the columns' costs combine. ``sum_of_squares`` squares the attributes of X, as the paper does for
        COMPAS, and adds the outcome's cost as it is.

    Examples
    --------
    >>> Distortion({"age": Ordinal(1), "hired": Free()}, combine="max").combine
    'max'
    """

    rules: Mapping[str, Rule]
    combine: Combine = "sum"

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Mapping):
            raise SpecError(f"the rules of Distortion must be a mapping of columns, not {self.rules!r}")
        for column, rule in self.rules.items():
            if not isinstance(rule, Rule):
                raise SpecError(f"the rule of column {column!r} must be Ordinal, Nominal, Fixed or Free, not {rule!r}")
        check.one_of("combine of Distortion", self.combine, COMBINE)
        object.__setattr__(self, "rules", FrozenMap(self.rules))

    def costs(self, variable: Variable) -> Numbers:
        """Return the table of costs of one column."""
        return self.rules.get(variable.name, Fixed()).costs(variable)

    def join(self, features: Sequence[Numbers], outcome: Numbers) -> Numbers:
        """Combine the costs of the feature columns and of the outcome."""
        if self.combine == "max":
            joined = np.asarray(outcome, dtype=float)
            for cost in features:
                joined = np.maximum(joined, cost)
            return joined
        power = 2 if self.combine == "sum_of_squares" else 1
        return np.asarray(sum((cost**power for cost in features), start=outcome), dtype=float)

    def between(self, domain: Domain, x: Cells, y: Cells, to_x: Cells, to_y: Cells) -> Numbers:
        """Return δ((x, y), (x̂, ŷ)), elementwise."""
        features = [self.costs(variable)[code, to_code] for variable, code, to_code in self._columns(domain, x, to_x)]
        return self.join(features, self.costs(domain.outcome)[y, to_y])

    @staticmethod
    def _columns(domain: Domain, x: Cells, to_x: Cells) -> Iterator[tuple[Variable, Cells, Cells]]:
        return zip(domain.x.variables, domain.x.unravel(x), domain.x.unravel(to_x), strict=True)
