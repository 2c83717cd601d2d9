"""The distortion δ((x, y), (x̂, ŷ)): one rule per column, and how the columns combine.

An infinite cost forbids a move. It is never written as a large number: a move of cost 1e4 still happens with
probability c/1e4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from evenhand import check, records
from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import MISSING, Domain, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.errors import Setting, SpecError, did_you_mean
from evenhand.records import Keys
from evenhand.spec.part import Part

Combine = Literal["sum", "sum_of_squares", "max"]


Cost = Annotated[float, check.cost]
Step = Annotated[float, partial(check.cost, forbids=False)]


class Rule(Part):
    """What it costs to change one column."""

    key = "rule"

    @abstractmethod
    def costs(self, variable: Variable) -> Numbers:
        """Return the cost of every change: one row per level, one column per level it may become."""

    def names(self, level: Value) -> bool:
        """Whether the rule itself speaks of a level; one that stands for missing values is fixed otherwise."""
        return False


LARGEST_POWER = 8
"""Of a number of steps, so that a long way has a cost that a solver can weigh."""


@dataclass(frozen=True)
class Ordinal(Rule):
    """An ordered column: a change costs ``step`` for each level it passes, or for their number to some power.

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
    power : float
        n steps cost n to this power times one step. Squares (2) make two short moves cheaper than a long one, so that
        people who may trade places keep their order.

    Examples
    --------
    >>> from evenhand.data.domain import Role
    >>> age = Variable("age", Role.FEATURE, ("young", "middle", "old"), ordered=True)
    >>> Ordinal(step=1, max_steps=1, down=False).costs(age).tolist()
    [[0.0, 1.0, inf], [inf, 0.0, 1.0], [inf, inf, 0.0]]
    >>> Ordinal(step=0.5, power=2).costs(age).tolist()
    [[0.0, 0.5, 2.0], [0.5, 0.0, 0.5], [2.0, 0.5, 0.0]]
    """

    step: Step
    max_steps: int | None = None
    up: bool = True
    down: bool = True
    up_step: Step | None = None
    levels: Sequence[Value] | None = None
    power: Step = 1
    word = "ordinal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.power <= LARGEST_POWER:
            raise SpecError(f"power of Ordinal must be from 1 to {LARGEST_POWER}, not {self.power:g}")
        if self.levels == ():
            raise check.refused("levels of Ordinal", "a list of values", self.levels)

    def names(self, level: Value) -> bool:
        """Whether the level is listed."""
        return self.levels is not None and level in self.levels

    def costs(self, variable: Variable) -> Numbers:
        """Return step × number of steps to the power, infinite where the change is not allowed."""
        if not variable.ordered:
            raise SpecError(
                f"Ordinal needs an order for column {variable.name!r}, whose levels {list(variable.levels)} "
                f"have none: write ",
                Setting("levels", [...]),
                " into its rule, from lowest to highest, or use an ordered categorical column",
            )
        rank = np.arange(len(variable))
        rise = rank[None, :] - rank[:, None]
        upward = self.step if self.up_step is None else self.up_step
        costs = np.where(rise > 0, upward, self.step) * np.abs(rise).astype(float) ** self.power
        forbidden = ((rise > 0) & (not self.up)) | ((rise < 0) & (not self.down))
        if self.max_steps is not None:
            forbidden |= np.abs(rise) > self.max_steps
        return np.where(forbidden, np.inf, costs)


@dataclass(frozen=True)
class Nominal(Rule):
    """An unordered column: any change costs the same, or each its own.

    Parameters
    ----------
    cost : float or mapping
        One cost for every change, or a table ``{(from, to): cost}`` with every pair of different levels. An infinite
        cost forbids the change.

    Examples
    --------
    >>> from evenhand.data.domain import Role
    >>> charge = Variable("charge", Role.FEATURE, ("F", "M"), ordered=False)
    >>> Nominal(4).costs(charge).tolist()
    [[0.0, 4.0], [4.0, 0.0]]
    >>> Nominal({("F", "M"): 1, ("M", "F"): 3}).costs(charge).tolist()
    [[0.0, 1.0], [3.0, 0.0]]
    """

    cost: Cost | Annotated[Mapping[tuple[Value, Value], Cost], Keys("from", "to", "cost")]
    word = "nominal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.cost, Mapping):
            for (origin, target), cost in self.cost.items():
                if origin == target and cost != 0:
                    raise SpecError(f"staying at {origin!r} must cost 0, not {cost:g}")

    def names(self, level: Value) -> bool:
        """Whether the table has the level."""
        return isinstance(self.cost, Mapping) and any(level in pair for pair in self.cost)

    def costs(self, variable: Variable) -> Numbers:
        """Return the cost off the diagonal."""
        size = len(variable)
        if not isinstance(self.cost, Mapping):
            return np.where(np.eye(size, dtype=bool), 0.0, float(self.cost))
        for level in sorted({level for pair in self.cost for level in pair}, key=str):
            if level not in variable.levels:
                raise SpecError(
                    f"the cost table of column {variable.name!r} names {level!r}, which is not among its levels "
                    f"{list(variable.levels)}.{did_you_mean(level, variable.levels)}"
                )
        return np.array([[self._between(variable, a, b) for b in variable.levels] for a in variable.levels])

    def _between(self, variable: Variable, a: Value, b: Value) -> float:
        assert isinstance(self.cost, Mapping)
        if a == b:
            return 0.0
        if (a, b) not in self.cost:
            raise SpecError(
                f"the cost table of column {variable.name!r} lacks the change from {a!r} to {b!r}; give it a cost, or "
                f"inf to forbid it"
            )
        return self.cost[a, b]


@dataclass(frozen=True)
class Fixed(Rule):
    """A column that never changes; the rule of every feature that has no other.

    Examples
    --------
    >>> from evenhand.data.domain import Role
    >>> Fixed().costs(Variable("charge", Role.FEATURE, ("F", "M"), ordered=False)).tolist()
    [[0.0, inf], [inf, 0.0]]
    """

    word = "fixed"

    def costs(self, variable: Variable) -> Numbers:
        """Return infinity off the diagonal."""
        return Nominal(np.inf).costs(variable)


@dataclass(frozen=True)
class Free(Rule):
    """A column whose changes cost nothing.

    Examples
    --------
    >>> from evenhand.data.domain import Role
    >>> Free().costs(Variable("charge", Role.FEATURE, ("F", "M"), ordered=False)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """

    word = "free"

    def costs(self, variable: Variable) -> Numbers:
        """Return zeros."""
        return np.zeros((len(variable), len(variable)))


Columns = Mapping[str, Any]
"""The values of several columns, one array per column."""


@dataclass(frozen=True)
class NumberedColumn:
    """A column by whose levels cells are numbered."""

    name: str
    levels: tuple[Value, ...]


def _frozen(kind: Any, what: object, given: Any) -> Any:
    """Return numbers as an array that cannot be changed."""
    listed = given if isinstance(given, np.ndarray) else check.listed(what, given, "a list of numbers")
    try:
        found = np.array(listed)
        if (
            not found.size
            or found.dtype.kind not in "if"
            or found.ndim != 1
            or (kind is np.int64 and np.any(found != found.astype(kind)))
        ):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise check.refused(what, f"a list of {'whole ' * (kind is np.int64)}numbers, at least one", given) from None
    found = found.astype(kind)
    found.flags.writeable = False
    return found


@dataclass(frozen=True, eq=False)
class CostTable:
    """A user's δ as it was tabulated at fit: the moves of finite cost, in the numbering of X × Y.

    Parameters
    ----------
    origin, target : array of int
        Cells of X × Y, ascending. Moves that are not listed are forbidden; staying costs nothing.
    cost : array
        What each move costs.
    name : str
        What the function was called.
    columns : sequence of NumberedColumn
        The columns of X × Y and their levels, by which its cells are numbered.
    """

    origin: Annotated[Cells | Sequence[int], partial(_frozen, np.int64)]
    target: Annotated[Cells | Sequence[int], partial(_frozen, np.int64)]
    cost: Annotated[Numbers | Sequence[float], partial(_frozen, np.float64)]
    name: str = "a user's function"
    columns: Sequence[NumberedColumn] = ()

    def __post_init__(self) -> None:
        records.check(self)
        origin, target, cost = self.arrays
        if not len(origin) == len(target) == len(cost):
            raise SpecError("a cost table needs 'origin', 'target' and 'cost', three arrays of one length")
        later, same = origin[1:] > origin[:-1], origin[1:] == origin[:-1]
        if not np.all(later | (same & (target[1:] > target[:-1]))):
            raise SpecError("the moves of a cost table must be distinct and ascending")
        if not np.all(cost >= 0):
            raise SpecError("a cost table has a negative cost")
        if np.any((origin == target) & (cost != 0)):
            raise SpecError("a cost table charges for staying, which must cost 0")

    @property
    def arrays(self) -> tuple[Cells, Cells, Numbers]:
        """The moves as three arrays: from, to and cost."""
        origin, target, cost = map(np.asarray, (self.origin, self.target, self.cost))
        return origin, target, cost

    def __len__(self) -> int:
        return len(self.cost)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CostTable):
            return NotImplemented
        same = all(map(np.array_equal, self.arrays, other.arrays))
        return same and (self.name, self.columns) == (other.name, other.columns)

    def __hash__(self) -> int:
        return hash((*(array.tobytes() for array in self.arrays), self.name, self.columns))

    @property
    def last(self) -> int:
        """The largest cell that a move begins or ends in."""
        origin, target, _ = self.arrays
        return int(max(origin.max(), target.max()))

    def targets_of(self, cells: Cells) -> tuple[Cells, Cells]:
        """Return for given cells of X × Y every move: the position among ``cells``, and the target."""
        origin, target, _ = self.arrays
        first, last = np.searchsorted(origin, cells), np.searchsorted(origin, cells, side="right")
        position = np.repeat(np.arange(len(cells)), last - first)
        within = np.arange(len(position)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        return position, target[first[position] + within]

    def between(self, origin: Cells, target: Cells, size: int) -> Numbers:
        """Return the cost of moves, infinite where they are not listed."""
        known_from, known_to, cost = self.arrays
        key, wanted = known_from * size + known_to, origin * size + target
        place = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        return np.where(key[place] == wanted, cost[place], np.inf)


@dataclass(frozen=True)
class Distortion:
    """The distortion δ: a rule per column, combined; or a function of your own.

    Parameters
    ----------
    rules : mapping of column name to Rule
        A feature without a rule is fixed. The outcome needs one.
    combine : {"sum", "sum_of_squares", "max"}
        How the columns' costs combine. ``sum_of_squares`` squares the attributes of X, as the paper does for
        COMPAS, and adds the outcome's cost as it is. With costs of 0 and 1, ``max`` is a binary δ: 1 if any change
        that matters is made, so that an expected distortion is the probability of one.
    function : callable, optional
        δ as ``function(before, after)``: two mappings of columns (features and outcome) to arrays of the same length,
        one entry per move; returns one cost per move, at least 0, infinite to forbid it, 0 where nothing changes. It is
        called at fit, for blocks of the moves that the rules leave; columns without a rule are free then, and the
        rules' own costs do not count.

    Examples
    --------
    >>> Distortion({"age": Ordinal(1), "hired": Free()}, combine="max").combine
    'max'
    >>> def harm(before, after):
    ...     return 1.0 * (after["hired"] < before["hired"])
    >>> Distortion(function=harm).rules
    {}
    """

    rules: Mapping[check.Column, Rule] = field(default_factory=dict)
    combine: Combine = "sum"
    function: Callable[[Columns, Columns], Any] | CostTable | None = None
    stated: ClassVar = ("combine",)

    def __post_init__(self) -> None:
        records.check(self)
        if self.function is not None and not isinstance(self.function, CostTable):
            check.function("function of Distortion", self.function)

    @property
    def table(self) -> CostTable | None:
        """The tabulated function, where there is one."""
        return self.function if isinstance(self.function, CostTable) else None

    def costs(self, variable: Variable) -> Numbers:
        """Return the table of costs of one column."""
        unstated = Fixed() if self.function is None else Free()
        rule = self.rules.get(variable.name, unstated)
        if variable.missing in (None, UNSEEN) or rule.names(MISSING):
            return rule.costs(variable)
        # The rule is about the other levels: nobody comes to the level of missing values, or leaves it.
        rest = [i for i in range(len(variable)) if i != variable.missing]
        costs = np.full((len(variable), len(variable)), np.inf)
        costs[variable.missing, variable.missing] = 0.0
        if rest:
            known = replace(variable, levels=tuple(variable.levels[i] for i in rest), missing=None, coding=None)
            costs[np.ix_(rest, rest)] = rule.costs(known)
        return costs

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
        if self.table is not None:
            return self.table.between(domain.xy(x, y), domain.xy(to_x, to_y), domain.x.size * domain.y.size)
        if self.function is not None:
            raise SpecError("a distortion function must be tabulated on the table's domain first; fit does so")
        features = [self.costs(variable)[code, to_code] for variable, code, to_code in self._columns(domain, x, to_x)]
        return self.join(features, self.costs(domain.outcome)[y, to_y])

    @staticmethod
    def _columns(domain: Domain, x: Cells, to_x: Cells) -> Iterator[tuple[Variable, Cells, Cells]]:
        return zip(domain.x.variables, domain.x.unravel(x), domain.x.unravel(to_x), strict=True)
