"""A user's own distance J, as Proposition 1 allows it.

Held against a target, J must be quasiconvex in its first argument: its sublevel set is an interval. Held between
groups, it must be quasiconvex in both together: its sublevel set in the unit square is convex, and is described by
supporting lines. Both conditions are checked on a grid, and a J that fails is refused. The lines are what is kept: a
mapping file holds them, never the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.errors import SpecError
from evenhand.spec.distance import Distance, Line

GRID = 401
"""Points per axis on which J is looked at."""

PAIRS = 200_000
"""Random pairs of points between which quasiconvexity in both arguments is checked."""

ANGLES = 720
"""Points around the edge of a sublevel set."""

LINES = 90
"""Supporting lines to begin with; more are added where a solution asks for them."""

ROUGH = 1e-9
"""How much J may rise between two points, relative to its size, before it is refused."""

ZOOMS = 9
LOOKS = 17
"""How often, and at how many angles, the furthest point in a direction is looked for more closely."""

EVERYTHING = (1.0, 0.0, 1.0)
"""The line p ≤ 1, which every probability meets."""

BESIDE = 1e-9
"""Rates this near to each other are equal."""

HALVINGS = 60
STEP = 1e-6
"""The step of the numerical derivative."""

SAME_DIRECTION = 1e-7
"""Directions this near to each other are one, up to the accuracy of that derivative."""


@dataclass(frozen=True)
class UserDistance(Distance):
    """A distance J(p, q) of your own.

    Parameters
    ----------
    function : callable
        ``function(p, q)`` on arrays of probabilities, elementwise.
    name : str
        What to call it.

    Examples
    --------
    >>> odds = UserDistance(lambda p, q: np.abs(p - q) / (p + q + 0.1), name="relative difference")
    >>> odds.value(np.array([0.3]), np.array([0.2])).round(4).tolist()
    [0.1667]
    """

    function: Callable[[Numbers, Numbers], Any]
    name: str = "a user's distance"
    holds_functions = True
    at_any_bound = False

    def __post_init__(self) -> None:
        check.function("the function of UserDistance", self.function)
        object.__setattr__(self, "name", check.text("the name of UserDistance", self.name))

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return J(p, q)."""
        p, q = np.broadcast_arrays(*(np.clip(np.asarray(rate, dtype=float), 0.0, 1.0) for rate in (p, q)))
        try:
            # A division by zero is told by the NaN that it gives, or gives an infinite J, which is one.
            with np.errstate(divide="ignore", invalid="ignore"):
                found = np.asarray(self.function(p, q), dtype=float)
        except Exception as error:
            raise SpecError(
                f"{self.name} failed on arrays of probabilities: {type(error).__name__}: {error}; it must take two "
                f"arrays and return one number for each entry"
            ) from error
        if found.shape != p.shape:
            raise SpecError(f"{self.name} returned the shape {found.shape} for arrays of shape {p.shape}")
        if np.any(np.isnan(found)):
            at = int(np.flatnonzero(np.isnan(found.ravel()))[0])
            raise SpecError(f"{self.name} returned NaN at p={p.ravel()[at]:g}, q={q.ravel()[at]:g}")
        return found

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Refuse: a function has no lines before it is tabulated."""
        raise SpecError(f"{self.name} must be tabulated first; fit does so")

    def tabulated(self, bounds: Sequence[float], targets: Sequence[float] | None) -> TabulatedDistance:
        """Return J as lines, for these bounds: against these targets, or between groups where there are none."""
        pieces = []
        if targets is None:
            self._check_joint()
        for bound in sorted(set(bounds)):
            if targets is None:
                pieces.append(Piece(bound, None, tuple(self._supporting(bound))))
            else:
                pieces += [Piece(bound, q, self._interval(bound, q)) for q in sorted(set(targets))]
        return TabulatedDistance(self.name, tuple(pieces))

    def _interval(self, bound: float, q: float) -> tuple[tuple[float, float, float], ...]:
        """Return the p with J(p, q) ≤ bound as two lines."""
        grid = np.union1d(np.linspace(0, 1, GRID * 5), [q])
        value = self.value(grid, np.full(len(grid), q))
        self._check_valley(value, grid, q)
        lowest = float(grid[np.argmin(value)])

        def edge(inside: float, outside: float) -> float:
            if self._at(outside, q) <= bound:
                return outside
            for _ in range(HALVINGS):
                middle = (inside + outside) / 2
                inside, outside = (middle, outside) if self._at(middle, q) <= bound else (inside, middle)
            return inside

        if value.min() > bound:
            raise SpecError(
                f"{self.name} is at least {value.min():g} against the target {q:g}: nothing meets {bound:g}"
            )
        return (1.0, 0.0, edge(lowest, 1.0)), (-1.0, 0.0, -edge(lowest, 0.0))

    def _at(self, p: float, q: float) -> float:
        return float(self.value(np.array([p]), np.array([q]))[0])

    def _check_valley(self, value: Numbers, grid: Numbers, q: float) -> None:
        """Refuse a J that rises and falls again: it is not quasiconvex in its first argument."""
        finite = np.where(np.isinf(value), np.finfo(float).max, value)
        least = int(np.argmin(finite))
        slack = ROUGH * (1 + np.abs(finite[:-1]))
        step = np.diff(finite)
        wrong = np.concatenate([step[:least] > slack[:least], step[least:] < -slack[least:]])
        if wrong.any():
            at = float(grid[int(np.flatnonzero(wrong)[0])])
            raise SpecError(
                f"{self.name} is not quasiconvex in its first argument: against {q:g} it rises and falls again near "
                f"p={at:.3g}. Proposition 1 needs a J whose sublevel sets are intervals"
            )

    def _check_joint(self) -> None:
        """Refuse a J that is larger between two points than at both."""
        rng = np.random.default_rng(0)
        a, b = rng.random((2, PAIRS, 2))
        near = rng.random(PAIRS) < 0.5
        b[near] = np.clip(a[near] + (b[near] - a[near]) * 0.05, 0, 1)
        share = rng.random(PAIRS)[:, None]
        middle = a + share * (b - a)
        ends = np.maximum(self.value(*a.T), self.value(*b.T))
        between = self.value(*middle.T)
        wrong = between > ends + ROUGH * (1 + np.abs(ends))
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise SpecError(
                f"{self.name} is not quasiconvex in both arguments together: it is {between[at]:.4g} at "
                f"{_point(middle[at])}, but at most {ends[at]:.4g} at {_point(a[at])} and {_point(b[at])} on either "
                f"side. Proposition 1 needs that of a J between groups; if it is quasiconvex in its first "
                f"argument, hold it against a target"
            )

    def _supporting(self, bound: float) -> list[tuple[float, float, float]]:
        """Return supporting lines of the set J ≤ bound in the unit square."""
        if self._only_equal(bound):
            return [(1.0, -1.0, 0.0), (-1.0, 1.0, 0.0)]
        edge, inside = self._edge(bound)
        chosen = edge[:: ANGLES // LINES]
        # On a side of the unit square it is not J that ends the set.
        chosen = chosen[np.all((chosen > 0) & (chosen < 1), axis=1)]
        if not len(chosen):
            return [EVERYTHING]
        normal = _distinct(self._normals(chosen, inside))
        reach = self._reach(bound, edge, inside, normal)
        return [(float(n[0]), float(n[1]), float(limit)) for n, limit in zip(normal, reach, strict=True)]

    def _only_equal(self, bound: float) -> bool:
        """Whether equal rates meet the bound, and no others on the grid do."""
        axis = np.linspace(0, 1, GRID)
        p, q = (a.ravel() for a in np.meshgrid(axis, axis))
        meets, equal = self.value(p, q) <= bound, p == q
        # A set that is merely thin has an inside all the same.
        beside = self.value(axis[:-1], axis[:-1] + BESIDE)
        return bool(np.array_equal(meets, equal) and np.all(beside > bound))

    def supporting_at(self, bound: float, p: float, q: float) -> tuple[float, float, float] | None:
        """Return a supporting line that cuts off a point outside the set; None where the point is inside."""
        if self._at(p, q) <= bound or self._only_equal(bound):
            # Where only equal rates will do, the two lines that say so are there already.
            return None
        edge, inside = self._edge(bound)
        at = self._on_the_edge(bound, inside, (np.array([p, q]) - inside)[None, :])
        normal = self._normals(at, inside)
        limit = max(float(self._reach(bound, edge, inside, normal)[0]), float(at[0] @ normal[0]))
        return (float(normal[0, 0]), float(normal[0, 1]), limit)

    def cut(self, table: Distance, bound: float, p: float, q: float) -> Distance:
        """Return the table with a supporting line more that cuts (p, q) off, if it lies outside."""
        line = self.supporting_at(bound, p, q)
        return table.with_line(bound, line) if line is not None and isinstance(table, TabulatedDistance) else table

    def _reach(self, bound: float, edge: Numbers, inside: Numbers, normal: Numbers) -> Numbers:
        """Return how far the set reaches in given directions.

        The points of its edge are too few for that: they miss its corners. Around the edge of a convex set the reach
        rises to one peak, so it is looked for ever closer to the furthest point.
        """
        width = 2 * np.pi / len(edge)
        furthest = np.argmax(edge @ normal.T, axis=0)
        middle, reach = furthest * width, (edge @ normal.T).max(axis=0)
        for _ in range(ZOOMS):
            angle = middle[:, None] + np.linspace(-width, width, LOOKS)
            point = self._on_the_edge(bound, inside, _ray(angle.ravel())).reshape(*angle.shape, 2)
            reached = np.einsum("nai,ni->na", point, normal)
            best = reached.argmax(axis=1)
            middle = np.take_along_axis(angle, best[:, None], axis=1)[:, 0]
            reach, width = np.maximum(reach, reached.max(axis=1)), 2 * width / (LOOKS - 1)
        return np.asarray(reach)

    def _edge(self, bound: float) -> tuple[Numbers, Numbers]:
        """Return points around the edge of the set J ≤ bound, and a point well inside it."""
        axis = np.linspace(0, 1, GRID)
        p, q = (a.ravel() for a in np.meshgrid(axis, axis))
        room = np.minimum(bound - self.value(p, q), 1.0)
        inner = (p > 0) & (p < 1) & (q > 0) & (q < 1) & (room > 0)
        if not inner.any():
            raise SpecError(f"no two different rates meet {self.name} ≤ {bound:g}: raise the bound")
        # The middle of the inner points: well inside a convex set.
        inside = np.array([p[inner].mean(), q[inner].mean()])
        angle = np.linspace(0, 2 * np.pi, ANGLES, endpoint=False)
        return self._on_the_edge(bound, inside, _ray(angle)), inside

    def _on_the_edge(self, bound: float, inside: Numbers, direction: Numbers) -> Numbers:
        low, high = np.zeros(len(direction)), np.ones(len(direction))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            point = inside + middle[:, None] * direction
            square = np.all((point >= 0) & (point <= 1), axis=1)
            fits = square & (self.value(*np.clip(point, 0, 1).T) <= bound)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.clip(inside + low[:, None] * direction, 0, 1)

    def _normals(self, edge: Numbers, inside: Numbers) -> Numbers:
        """Return the outward direction of steepest rise of J at points of the edge, of length one."""
        size = len(edge)
        gradient = np.empty((size, 2))
        for axis in range(2):
            step = np.zeros(2)
            step[axis] = STEP
            up, down = np.clip(edge + step, 0, 1), np.clip(edge - step, 0, 1)
            with np.errstate(invalid="ignore"):
                gradient[:, axis] = (self.value(*up.T) - self.value(*down.T)) / (up - down)[:, axis]
        outward = edge - inside
        usable = np.all(np.isfinite(gradient), axis=1) & (np.einsum("ij,ij->i", gradient, outward) > 0)
        normal = np.where(usable[:, None], gradient, outward)
        return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


@dataclass(frozen=True)
class Piece:
    """Lines ``(on_p, on_q, limit)`` for one bound, and one target where there is one."""

    bound: float
    target: float | None
    lines: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class TabulatedDistance(Distance):
    """A user's distance as it was tabulated at fit.

    Its excess over a bound is measured in points of probability: how far (p, q) lies beyond the nearest line.
    """

    name: str
    pieces: tuple[Piece, ...]
    at_any_bound = False

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Refuse: only the sublevel sets were kept."""
        raise SpecError(f"{self.name} was tabulated for its bounds alone; its value elsewhere is not known")

    def said(self, p: float, q: float) -> str:
        """Say both rates: how far apart they are was kept for the bounds alone."""
        return f"{p:.1%} against {q:.1%}"

    def excess(self, p: Numbers, q: Numbers, bound: Numbers) -> Numbers:
        """Return how far (p, q) lies beyond the lines of its bound."""
        found = np.empty(len(p))
        for at in range(len(p)):
            lines = np.array(self.piece(float(bound[at]), float(q[at])).lines)
            found[at] = np.max(lines @ [p[at], q[at], -1.0])
        return found

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Return the lines between groups; entries with fewer lines repeat their last."""
        return self._stacked(bound, [self.piece(float(b), None) for b in bound])

    def within(self, bound: Numbers, target: Numbers) -> tuple[Line, ...]:
        """Return the lines against each entry's target."""
        return self._stacked(bound, [self.piece(float(b), float(t)) for b, t in zip(bound, target, strict=True)])

    def with_line(self, bound: float, line: tuple[float, float, float]) -> TabulatedDistance:
        """Return the same with one more line between groups."""
        pieces = (replace(p, lines=(*p.lines, line)) if p.bound == bound else p for p in self.pieces)
        return replace(self, pieces=tuple(pieces))

    def piece(self, bound: float, target: float | None) -> Piece:
        """Return the lines of a bound (and target)."""
        for piece in self.pieces:
            if piece.bound == bound and (piece.target is None or piece.target == target):
                return piece
        raise SpecError(f"{self.name} was not tabulated for the bound {bound:g}")

    def _stacked(self, bound: Numbers, pieces: list[Piece]) -> tuple[Line, ...]:
        size = max((len(piece.lines) for piece in pieces), default=0)
        full = np.array([[*p.lines, *[p.lines[-1]] * (size - len(p.lines))] for p in pieces]).reshape(
            len(pieces), size, 3
        )
        return tuple(Line.of(len(bound), tuple(full[:, i].T), (0.0, 0.0, 0.0)) for i in range(size))


def _distinct(directions: Numbers) -> Numbers:
    """Drop directions that repeat another."""
    kept: list[Numbers] = []
    for direction in directions:
        if not any(np.allclose(direction, other, atol=SAME_DIRECTION, rtol=0) for other in kept):
            kept.append(direction)
    return np.array(kept)


def _ray(angle: Numbers) -> Numbers:
    """Return directions, long enough to leave the unit square from any point of it."""
    return 2 * np.column_stack([np.cos(angle), np.sin(angle)])


def _point(point: Numbers) -> str:
    return f"({point[0]:.3g}, {point[1]:.3g})"
