"""Measures that users bring: callables, checked before they are believed.

:class:`Separable` and :class:`Bregman` are sums over cells of a convex function; what the built-in measures know in
closed form is found numerically for them, and their lower bound holds because a convex function lies above its
tangents. :class:`Quasiconvex` knows only its sublevel sets, so nothing bounds it from below. :class:`Recorded` is what
a mapping file keeps of any of them, since a file holds no code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.errors import SpecError
from evenhand.spec.utility.base import Smooth, Utility

OnCells: TypeAlias = Callable[[Numbers, Numbers], Any]
"""f(p, r) on arrays, one number per cell."""

OfNumbers: TypeAlias = Callable[[Numbers], Any]
"""f(t) on an array, elementwise."""

FLOOR = 1e-100
"""The r that stands for zero where a formula has no value at zero itself; its cube is still a number."""

BISECTIONS = 63
"""Halvings that leave two neighbouring floating-point numbers of all between the floor and one."""

GRID = np.unique(np.concatenate([np.geomspace(1e-6, 1.0, 25), np.linspace(0.05, 1.0, 20)]))
"""The r at which a user's measure is looked at."""

STEADY = GRID[(GRID >= 1e-4) & (GRID < 1)]
"""The r at which derivatives are compared with differences: not so small that rounding decides."""

HALF_WIDTH = 0.005
"""Half the interval of a difference, relative to r."""

DERIVATIVE_AGREEMENT = 1e-3
"""The relative difference between a derivative and a difference that is no contradiction."""

NEGATIVE = -1e-12
"""A curvature below this is negative, not rounded."""

DRAWS = 24
"""The random distributions on which sublevel sets are compared with values."""

LEVELS = 5
"""The levels at which they are compared."""

INSIDE = 1e-9
"""The violation of a sublevel set's rows that still counts as inside, relative to their size."""

APART = 1e-6
"""The relative distance from a level below which a value is not compared with it."""


def _checked(kind: str, name: Any, **functions: Any) -> str:
    """Refuse what cannot be called, and return the name."""
    for what, function in functions.items():
        check.function(f"the {what} of {kind}", function)
    return check.text(f"the name of {kind}", name)


def _asked(what: str, function: Callable[..., Any], *given: Any) -> Any:
    try:
        return function(*given)
    except Exception as error:
        raise SpecError(f"the {what} failed: {type(error).__name__}: {check.shown(error)}") from error


def _floats(what: str, found: Any) -> Numbers:
    """Return what a user's function gave as numbers."""
    try:
        return np.asarray(found, dtype=float)
    except Exception:
        raise check.refused(f"the {what}", "numbers", found) from None


def _numbers(what: str, function: Callable[..., Any], given: tuple[Numbers, ...], like: Numbers) -> Numbers:
    """Return what a user's function gives as one number per cell."""
    numbers = _floats(what, _asked(what, function, *given))
    if numbers.shape != like.shape:
        raise SpecError(f"the {what} must be one number per cell: of shape {like.shape}, not {numbers.shape}")
    return numbers


def _excess(matrix: Any, limit: Numbers, r: Numbers) -> float:
    """Return by how much r violates ``matrix · r ≤ limit``, relative to the size of the row it violates most."""
    size = np.maximum(1.0, abs(matrix) @ r + np.where(np.isfinite(limit), np.abs(limit), 0.0))
    return float(np.max((matrix @ r - limit) / size, initial=-np.inf))


class CellByCell(Smooth):
    """A sum over cells of a user's convex function, known by its values and its two derivatives.

    Functions are always called on all cells at once, so that they may hold numbers of their own for each cell.
    """

    name: str
    holds_functions = True
    _advice_at_zero = ""

    @abstractmethod
    def _values(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the function's value on each cell."""

    @abstractmethod
    def _slopes(self, p: Numbers, r: Numbers) -> Numbers:
        """Return its derivative in r."""

    @abstractmethod
    def _bends(self, p: Numbers, r: Numbers) -> Numbers:
        """Return its second derivative in r."""

    def _open(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells that mass may go to."""
        return (p > 0) | self.new_cells

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return the sum over cells; where the function has no value at r = 0, its value just above."""
        allowed = self._open(p)
        if np.any(r[~allowed] > 0):
            return float("inf")
        with np.errstate(all="ignore"):
            found = self._values(p, r)
            above = self._values(p, np.maximum(r, FLOOR))
        found = np.where(np.isnan(found) & (r <= 0), above, found)
        self._refuse("value", np.isnan(found) & allowed, p, r, "is not a number")
        return float(np.sum(found[allowed]))

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the derivative in each r; 0 on barred cells."""
        with np.errstate(all="ignore"):
            return np.where(self._open(p), self._slopes(p, np.maximum(r, FLOOR)), 0.0)

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the second derivative in each r; 0 on barred cells."""
        with np.errstate(all="ignore"):
            return np.where(self._open(p), self._bends(p, np.maximum(r, FLOOR)), 0.0)

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells whose curvature is positive wherever it is looked at."""
        looked = np.stack([self.curvature(p, np.full_like(p, r)) for r in GRID])
        return np.asarray(np.all(looked > 0, axis=0))

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ as it is: over 0 ≤ r ≤ 1 every infimum is finite."""
        return multipliers

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return a lower bound over 0 ≤ r ≤ 1, tight up to rounding: that of tangents where the slope is about λ."""
        # Between neighbouring r the slope passes λ, as near as the unit interval allows. Positive floating-point
        # numbers are ordered as the integers that their bits spell: halving between those finds any r, however small,
        # to the last digit.
        low, high = np.full(len(p), FLOOR).view(np.int64), np.ones(len(p)).view(np.int64)
        for _ in range(BISECTIONS):
            middle = low + (high - low) // 2
            steep = self.gradient(p, middle.view(np.float64)) > multipliers
            low, high = np.where(steep, low, middle), np.where(steep, middle, high)
        below, above = low.view(np.float64), high.view(np.float64)
        best = np.maximum(self._tangent(p, below, multipliers), self._tangent(p, above, multipliers))
        with np.errstate(over="ignore"):
            return float(np.sum(best[self._open(p)]))

    def _tangent(self, p: Numbers, r: Numbers, multipliers: Numbers) -> Numbers:
        """Return the least of the tangent at r minus λ times it over the unit interval: at one of its ends."""
        with np.errstate(all="ignore"):
            slope = self._slopes(p, r)
            least = self._values(p, r) - slope * r + np.minimum(0.0, slope - multipliers)
        return np.where(np.isnan(least), -np.inf, least)

    def check(self, p: Numbers) -> None:
        """Refuse a function that is not convex, or whose derivatives are not its own.

        Raises
        ------
        SpecError
            If a result has the wrong shape or is not a finite number, if a curvature is negative, or if a gradient
            or curvature disagrees with differences of the value or gradient.
        """
        parts = {"value": self._values, "gradient": self._slopes, "curvature": self._bends}
        for r in self._places(p):
            with np.errstate(all="ignore"):
                found = {what: part(p, r) for what, part in parts.items()}
            for what, numbers in found.items():
                self._refuse(what, ~np.isfinite(numbers) & self._open(p), p, r, "is not a finite number", numbers)
            negative = (found["curvature"] < NEGATIVE) & self._open(p)
            self._refuse(
                "curvature", negative, p, r, "is negative, so the measure is not convex in r", found["curvature"]
            )
        for at in STEADY:
            self._compare(p, at, "gradient", self._slopes, "value", self._values)
            self._compare(p, at, "curvature", self._bends, "gradient", self._slopes)

    def _places(self, p: Numbers) -> Iterator[Numbers]:
        """Yield the grid, and p itself, where formulas may divide by r − p."""
        yield np.where(p > 0, p, 1.0)
        for r in GRID:
            yield np.full_like(p, r)

    def _compare(self, p: Numbers, at: float, what: str, derivative: OnCells, of: str, function: OnCells) -> None:
        """Refuse a derivative around r if the mean slope there is not between its values: no matter if it jumps."""
        ends = [np.full_like(p, at * (1 + side * HALF_WIDTH)) for side in (-1, 0, 1)]
        width = 2 * HALF_WIDTH * at
        with np.errstate(all="ignore"):
            slopes = np.stack([derivative(p, r) for r in ends])
            first, last = function(p, ends[0]), function(p, ends[2])
            mean = (last - first) / width
            # What a value of the size of one is rounded by, generously.
            rounding = 64 * np.finfo(float).eps * (1 + np.abs(first) + np.abs(last)) / width
            slack = DERIVATIVE_AGREEMENT * np.abs(slopes).max(axis=0) + rounding
            strange = (mean < slopes.min(axis=0) - slack) | (mean > slopes.max(axis=0) + slack)
        words = f"disagrees with differences of the {of}"
        self._refuse(what, strange & self._open(p), p, ends[1], words, slopes[1], mean)

    def _refuse(
        self,
        what: str,
        wrong: NDArray[np.bool_],
        p: Numbers,
        r: Numbers,
        words: str,
        found: Numbers | None = None,
        expected: Numbers | None = None,
    ) -> None:
        """Raise an error that names the first wrong cell's p and r, if there is any."""
        if not np.any(wrong):
            return
        i = int(np.argmax(wrong))
        numbers = "" if found is None else f": {found[i]:.6g}"
        numbers += "" if expected is None else f", where the differences are {expected[i]:.6g}"
        advice = self._advice_at_zero if p[i] == 0 else ""
        raise SpecError(f"the {what} of {self.name} at p = {p[i]:.6g}, r = {r[i]:.6g} {words}{numbers}{advice}")


@dataclass(frozen=True, init=False)
class Separable(CellByCell):
    """A user's measure Σ φ(p, r), φ convex in r.

    Parameters
    ----------
    value, gradient, curvature : function
        φ and its first and second derivative in r: each takes the arrays p and r and returns one number per cell.
        They are kept as ``cell_value``, ``cell_gradient`` and ``cell_curvature``.
    name : str
        What to call it in errors and reports.
    new_cells : bool
        Whether mass may go to cells with p = 0. If so, the functions must be finite there for r > 0; if not, what they
        give there is not read.

    Examples
    --------
    >>> cubes = Separable(
    ...     lambda p, r: np.abs(r - p) ** 3,
    ...     lambda p, r: 3 * (r - p) * np.abs(r - p),
    ...     lambda p, r: 6 * np.abs(r - p),
    ...     name="sum of cubes",
    ... )
    >>> p = np.array([0.5, 0.5, 0.0])
    >>> cubes.check(p)
    >>> cubes.value(p, np.array([0.0, 0.5, 0.5]))
    0.25
    """

    cell_value: OnCells
    cell_gradient: OnCells
    cell_curvature: OnCells
    name: str
    new_cells: bool
    # Nothing keeps a user's sum from going below zero.
    nonnegative = False
    _advice_at_zero = "; if no mass may go to cells with p = 0, say new_cells=False"

    def __init__(
        self,
        value: OnCells,
        gradient: OnCells,
        curvature: OnCells,
        name: str = "a user's measure",
        new_cells: bool = True,
    ) -> None:
        # Fields under these names would hide the methods that a measure must have.
        fields: dict[str, Any] = {"cell_value": value, "cell_gradient": gradient, "cell_curvature": curvature}
        fields["name"] = _checked("Separable", name, value=value, gradient=gradient, curvature=curvature)
        fields["new_cells"] = check.flag("new_cells of Separable", new_cells)
        for key, content in fields.items():
            object.__setattr__(self, key, content)

    def _values(self, p: Numbers, r: Numbers) -> Numbers:
        return _numbers(f"value of {self.name}", self.cell_value, (p, r), p)

    def _slopes(self, p: Numbers, r: Numbers) -> Numbers:
        return _numbers(f"gradient of {self.name}", self.cell_gradient, (p, r), p)

    def _bends(self, p: Numbers, r: Numbers) -> Numbers:
        return _numbers(f"curvature of {self.name}", self.cell_curvature, (p, r), p)


@dataclass(frozen=True)
class Bregman(CellByCell):
    """The Bregman divergence Σ φ(r) − φ(p) − φ'(p)(r − p) of a convex generator φ.

    Mass may go to cells with p = 0 (``new_cells``) if φ'(0) is finite. Where φ is not a number at 0 itself, as
    t log t, its value just above stands for it.

    Parameters
    ----------
    generator, derivative, second_derivative : function
        φ, φ' and φ'' on [0, 1], elementwise on an array.
    name : str
        What to call it in errors and reports.

    Examples
    --------
    >>> squares = Bregman(lambda t: t**2, lambda t: 2 * t, lambda t: np.full_like(t, 2.0))
    >>> squares.value(np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])), squares.new_cells
    (0.375, True)
    """

    generator: OfNumbers
    derivative: OfNumbers
    second_derivative: OfNumbers
    name: str = "a user's Bregman divergence"
    new_cells: bool = field(init=False)

    def __post_init__(self) -> None:
        name = _checked(
            "Bregman",
            self.name,
            generator=self.generator,
            derivative=self.derivative,
            second_derivative=self.second_derivative,
        )
        object.__setattr__(self, "name", name)
        with np.errstate(all="ignore"):
            at_zero = self._of("derivative", self.derivative, np.zeros(1))
        object.__setattr__(self, "new_cells", bool(np.isfinite(at_zero[0])))

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ φ(r) − φ(p) − φ'(p)(r − p)."""
        # A convex function lies above its tangent; rounding may say otherwise.
        return max(0.0, super().value(p, r))

    def _of(self, what: str, function: OfNumbers, t: Numbers) -> Numbers:
        """Return a function of the user's at t; at 0, where it has no value there, its value just above."""
        found = _numbers(f"{what} of {self.name}", function, (t,), t)
        if not np.any(np.isnan(found) & (t <= 0)):
            return found
        above = _numbers(f"{what} of {self.name}", function, (np.maximum(t, FLOOR),), t)
        return np.where(np.isnan(found) & (t <= 0), above, found)

    def _values(self, p: Numbers, r: Numbers) -> Numbers:
        phi = partial(self._of, "generator", self.generator)
        return phi(r) - phi(p) - self._of("derivative", self.derivative, p) * (r - p)

    def _slopes(self, p: Numbers, r: Numbers) -> Numbers:
        slope = partial(self._of, "derivative", self.derivative)
        return slope(r) - slope(p)

    def _bends(self, p: Numbers, r: Numbers) -> Numbers:
        return self._of("second_derivative", self.second_derivative, r)


@dataclass(frozen=True, init=False)
class Quasiconvex(Utility):
    """A user's measure whose sublevel sets are polyhedra: the best level is found by bisection.

    It has no conjugate, so :meth:`infimum` is −∞: the bounds that a mapping meets are certified, but not that no
    other mapping does better.

    Parameters
    ----------
    value : function
        Δ(p, r), a number; kept as ``measure``.
    sublevel : function
        For p and a level, (A, b) such that the distributions r with A r ≤ b are those with Δ(p, r) ≤ level. A is an
        array or a SciPy sparse array, one row per inequality and one column per cell. Kept as ``rows``.
    name : str
        What to call it in errors and reports.
    highest : float, optional
        A level that no r exceeds, where bisection may start.
    new_cells : bool
        Whether mass may go to cells with p = 0; what Δ is there, ``value`` and ``sublevel`` say.

    Examples
    --------
    The largest gain of any cell:

    >>> gain = Quasiconvex(
    ...     lambda p, r: np.max(r - p),
    ...     lambda p, level: (np.eye(len(p)), p + level),
    ...     name="largest gain",
    ...     highest=1.0,
    ... )
    >>> p = np.array([0.5, 0.25, 0.25])
    >>> gain.check(p)
    >>> gain.value(p, np.array([0.5, 0.5, 0.0]))
    0.25
    """

    measure: Callable[[Numbers, Numbers], Any]
    rows: Callable[[Numbers, float], Any]
    name: str
    highest: float | None
    new_cells: bool
    certifiable = False
    holds_functions = True

    def __init__(
        self,
        value: Callable[[Numbers, Numbers], Any],
        sublevel: Callable[[Numbers, float], Any],
        name: str = "a user's quasiconvex measure",
        highest: float | None = None,
        new_cells: bool = True,
    ) -> None:
        # Fields under these names would hide the methods that give checked results.
        fields: dict[str, Any] = {"measure": value, "rows": sublevel}
        fields["name"] = _checked("Quasiconvex", name, value=value, sublevel=sublevel)
        fields["highest"] = None if highest is None else check.finite("the highest of Quasiconvex", highest)
        fields["new_cells"] = check.flag("new_cells of Quasiconvex", new_cells)
        for key, content in fields.items():
            object.__setattr__(self, key, content)

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Δ(p, r)."""
        what = f"value of {self.name}"
        found = _floats(what, _asked(what, self.measure, p, r))
        if found.shape != ():
            raise SpecError(f"the value of {self.name} must be one number, not an array of shape {found.shape}")
        if np.isnan(found):
            raise SpecError(f"the value of {self.name} is not a number at a distribution r; Δ must be defined at each")
        return float(found)

    def sublevel(self, p: Numbers, level: float) -> tuple[Any, Numbers]:
        """Return (A, b), A a CSR array, such that A r ≤ b holds for the r with Δ(p, r) ≤ level."""
        what = f"sublevel set of {self.name}"
        given = _asked(what, self.rows, p, level)
        try:
            matrix, limit = given
            matrix, limit = sparse.csr_array(matrix, dtype=float), np.asarray(limit, dtype=float)
        except Exception:
            raise check.refused(f"the {what}", "a pair (A, b) of a matrix and its limits", given) from None
        if limit.ndim != 1 or matrix.shape != (len(limit), len(p)):
            raise SpecError(
                f"the sublevel set of {self.name} must be a matrix of {len(p)} columns, one per cell, and one limit "
                f"per row; these are of shapes {matrix.shape} and {limit.shape}"
            )
        if np.any(np.isnan(matrix.data)) or np.any(np.isnan(limit)):
            raise SpecError(f"the sublevel set of {self.name} at the level {level:.6g} has entries that are no numbers")
        return matrix, limit

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ as it is."""
        return multipliers

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return −∞: there is no conjugate."""
        return float("-inf")

    def check(self, p: Numbers) -> None:
        """Refuse sublevel sets that are not those of the value, as far as random distributions show.

        Raises
        ------
        SpecError
            If a result has the wrong shape or is not a number, if p is outside the sublevel set of its own level, if
            a value exceeds ``highest``, or if a distribution is inside a sublevel set of a level below its value or
            outside one of a level above.
        """
        own = self.value(p, p)
        if not np.isfinite(own):
            raise SpecError(f"the value of {self.name} at r = p must be finite, not {own}")
        if _excess(*self.sublevel(p, own), p) > INSIDE:
            raise SpecError(f"p lies outside the sublevel set of {self.name} at its own level, {own:.6g}")
        drawn = [(r, self.value(p, r)) for r in self._distributions(p)]
        top = max(value for _, value in drawn)
        if self.highest is not None and top > self.highest + APART * (1 + abs(self.highest)):
            raise SpecError(f"{self.name} reaches {top:.6g}, above the level {self.highest:.6g} given as its highest")
        finite = np.unique([value for _, value in drawn if np.isfinite(value)])
        between = (finite[1:] + finite[:-1]) / 2
        for level in map(float, between[:: max(1, len(between) // LEVELS)]):
            margin, (matrix, limit) = APART * (1 + abs(level)), self.sublevel(p, level)
            for r, value in drawn:
                excess = _excess(matrix, limit, r)
                outside = value < level - margin and excess > INSIDE
                if outside or (value > level + margin and excess <= 0):
                    raise SpecError(
                        f"a distribution at which {self.name} is {value:.6g} lies {'outside' if outside else 'inside'} "
                        f"its sublevel set of the level {level:.6g}: A r ≤ b must hold exactly where the value is at "
                        f"most the level"
                    )

    def _distributions(self, p: Numbers) -> Iterator[Numbers]:
        """Yield distributions at many distances from p, the same at every call."""
        generator = np.random.default_rng(0)
        allowed = (p > 0) | self.new_cells
        for share in np.geomspace(0.01, 1.0, DRAWS):
            other = np.zeros_like(p)
            other[allowed] = generator.dirichlet(np.ones(int(allowed.sum())))
            yield (1 - share) * p + share * other


@dataclass(frozen=True)
class Recorded(Utility):
    """What a mapping file keeps of a user's measure: its name and what it said of the mapping, but not its code.

    It answers for the mapping it was recorded with, whatever p, r and λ it is asked for; so too where p = 0.

    Parameters
    ----------
    name : str
        The measure's name.
    recorded_value : float
        Δ of the mapping.
    recorded_infimum : float or None
        The infimum at the mapping's multipliers; None where there is none.
    new_cells, nonnegative : bool
        As the measure had them.

    Examples
    --------
    >>> kept = Recorded("sum of cubes", 0.25, None)
    >>> kept.value(np.array([1.0, 0.0]), np.array([0.5, 0.5])), kept.infimum(np.array([1.0, 0.0]), np.zeros(2))
    (0.25, -inf)
    """

    name: str
    recorded_value: float
    recorded_infimum: float | None = None
    new_cells: bool = True
    nonnegative: bool = True
    word = "recorded"
    made_by_fit = True

    @property
    def certifiable(self) -> bool:  # type: ignore[override]
        """Whether an infimum was recorded."""
        return self.recorded_infimum is not None

    def check(self, p: Numbers) -> None:
        """Refuse: nothing can be fitted by what was said of one mapping."""
        raise SpecError(
            f"the utility {self.name!r} was a user's function and is only recorded here; give the problem a utility "
            f"before fitting it again"
        )

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return the recorded value."""
        return self.recorded_value

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ as it is."""
        return multipliers

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return the recorded infimum, or −∞ where there is none."""
        return float("-inf") if self.recorded_infimum is None else self.recorded_infimum
