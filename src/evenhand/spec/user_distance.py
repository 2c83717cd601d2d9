"""A user's own distance J, as Proposition 1 allows it.

Held against a target, J must be quasiconvex in its first argument: its sublevel set is an interval. Held between
groups, it must be quasiconvex in both together: its sublevel set in the unit square is convex, and is approximated by a
polygon whose corners lie on the set's boundary. The polygon lies inside a convex set, so whatever meets its lines meets
the bound. Quasiconvexity is checked on a grid, and a J that fails is refused. The lines are what is kept: a mapping
file holds them, never the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import check, records
from evenhand.arrays import Numbers
from evenhand.errors import SpecError
from evenhand.spec.distance import Distance, Line

GRID = 401
"""Points per axis on which J is evaluated."""

PAIRS = 200_000
"""Random pairs of points between which quasiconvexity in both arguments is checked."""

ROUGH = 1e-9
"""How much J may rise between two points, relative to its size, before it is refused."""

HALVINGS = 60

TIGHT = 1e-4
"""The share of the way from the middle of the set to its boundary by which a side of the polygon may fall short."""

ROUNDS = 30
"""How often sides of the polygon are replaced by two; corners of the set need about fifteen."""

SAME = 1e-9
"""Points, lines and rates this near to each other are one."""

DIAGONALS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])

EQUAL = ((1.0, -1.0, 0.0), (-1.0, 1.0, 0.0))
"""Lines that only equal rates meet."""

EVERYTHING = (1.0, 0.0, 1.0)
"""The line p ≤ 1, which every probability meets."""


@dataclass(frozen=True)
class UserDistance(Distance):
    """A distance J(p, q) of your own.

    Between groups, the rates with J ≤ ε are approximated by a polygon inside that set. So every mapping meets J ≤ ε as
    you wrote it. Where the boundary is curved, the polygon falls short of it by at most about 0.01 % of the distance
    from the middle of the set: the certificate proves the optimum for the polygon.

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
        super().__post_init__()
        check.function("function of UserDistance", self.function)

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
                pieces.append(Piece(bound, self._polygon(bound)))
            else:
                pieces += [Piece(bound, self._interval(bound, q), q) for q in sorted(set(targets))]
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

    def _polygon(self, bound: float) -> tuple[tuple[float, float, float], ...]:
        """Return the sides of a polygon whose corners lie on the boundary of the set J ≤ bound in the unit square."""
        axis = np.linspace(0, 1, GRID)
        p, q = (a.ravel() for a in np.meshgrid(axis, axis))
        meets = self.value(p, q) <= bound
        if not meets.any():
            raise SpecError(f"no rates meet {self.name} ≤ {bound:g}: raise the bound")
        inside = np.array([p[meets].mean(), q[meets].mean()])
        # Of a set thinner than the grid, that may be a point on its boundary.
        inside = self._boundary(bound, inside, DIAGONALS).mean(axis=0)
        ends = self._boundary(bound, inside, DIAGONALS)
        if np.linalg.norm(ends[1] - ends[3]) < SAME:
            if not meets[p == q].all():
                raise SpecError(f"no two different rates meet {self.name} ≤ {bound:g}: raise the bound")
            return EQUAL
        corners = CORNERS[self.value(*CORNERS.T) <= bound]
        around = self._around(bound, inside, np.vstack([ends, corners]))
        side = np.roll(around, -1, axis=0) - around
        normal = np.column_stack([side[:, 1], -side[:, 0]]) / np.linalg.norm(side, axis=1, keepdims=True)
        lines = np.column_stack([normal, np.sum(normal * around, axis=1)])
        # The sides of the unit square bound nothing.
        lines = lines[np.maximum(normal, 0).sum(axis=1) > lines[:, 2] + SAME]
        lines = lines[np.sort(np.unique(np.round(lines / SAME), axis=0, return_index=True)[1])]
        return tuple((on_p, on_q, limit) for on_p, on_q, limit in lines.tolist()) or (EVERYTHING,)

    def _around(self, bound: float, inside: Numbers, points: Numbers) -> Numbers:
        """Return points of the boundary in their order, with more wherever the set bulges beyond their polygon."""
        points = points[np.unique(np.round(points / SAME), axis=0, return_index=True)[1]]
        points = points[np.argsort(np.arctan2(*(points - inside).T[::-1]))]
        for _ in range(ROUNDS):
            way = (points + np.roll(points, -1, axis=0)) / 2 - inside
            found = self._boundary(bound, inside, way)
            reach = np.linalg.norm(found - inside, axis=1) / np.linalg.norm(way, axis=1)
            beyond = np.flatnonzero(reach > 1 + TIGHT)
            if not len(beyond):
                break
            points = np.insert(points, beyond + 1, found[beyond], axis=0)
        return points

    def _boundary(self, bound: float, inside: Numbers, way: Numbers) -> Numbers:
        """Return the last points of the set in some directions from a point inside."""
        # Long enough to leave the unit square from any point of it.
        way = 2 * way / np.linalg.norm(way, axis=1, keepdims=True)
        low, high = np.zeros(len(way)), np.ones(len(way))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            point = inside + middle[:, None] * way
            square = np.all((point >= 0) & (point <= 1), axis=1)
            fits = square & (self.value(*point.T) <= bound)
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return inside + low[:, None] * way

    def refuse_unmet(self, p: Numbers, q: Numbers, bound: Numbers) -> None:
        """Refuse rates that exceed a bound: they meet its lines, so J is not quasiconvex, though no check found it."""
        # A solver's rounding may be large by a steep J, so that rates beside these may meet the bound instead.
        near = (self.excess(p + dp, q + dq, bound) for dp in (-SAME, 0, SAME) for dq in (-SAME, 0, SAME))
        excess = np.min(list(near), axis=0)
        worst = int(np.argmax(excess))
        if excess[worst] > SAME:
            raise SpecError(
                f"{self.name} is {excess[worst] + bound[worst]:.4g} at p={p[worst]:.6g}, q={q[worst]:.6g}, beyond its "
                f"bound {bound[worst]:g}: it is not quasiconvex there, as Proposition 1 asks, in a place too small for "
                f"the check. Use a J whose sublevel sets are convex"
            )


@dataclass(frozen=True)
class Piece:
    """Lines ``(on_p, on_q, limit)`` for one bound, and one target where there is one."""

    bound: float
    lines: Sequence[tuple[float, float, float]]
    target: float | None = None

    def __post_init__(self) -> None:
        records.check(self)


@dataclass(frozen=True)
class TabulatedDistance(Distance):
    """A user's distance as it was tabulated at fit.

    Its excess over a bound is measured in points of probability: how far (p, q) lies beyond the nearest line.
    """

    name: str
    pieces: Sequence[Piece]
    word = "tabulated"
    made_by_fit = True
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


def _point(point: Numbers) -> str:
    return f"({point[0]:.3g}, {point[1]:.3g})"
