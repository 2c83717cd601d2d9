"""The margins that a confidence asks for: out of fold, and for the sample that the table is.

The optimum leans on the table's own noise, so that its rates are optimistic: folds show by how much. And the rates of
any sample stray: by z standard errors, z such that all bounds hold at once. Both depend on the mapping, and the mapping
on them: they are found in turns, until they settle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Numbers, round_up
from evenhand.data.counts import Counts
from evenhand.errors import DataError, InfeasibleError, SolverError, TimeLimitError
from evenhand.findings.assurance import (
    Assurance,
    Sides,
    answered,
    exceeding,
    parts_of,
    quantile,
    refuse_small,
    refuse_tiny,
)
from evenhand.findings.feasibility import parity_edge
from evenhand.folds import Fold
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source, rates_compared
from evenhand.mapping import Mapping
from evenhand.optimize.compile import Compiled, compile_again, compile_problem
from evenhand.optimize.solve import Clock, solve
from evenhand.optimize.solve.edges import is_feasible
from evenhand.optimize.tabulate import tabulated
from evenhand.optimum import optimal
from evenhand.resources import Progress, part_of, silent
from evenhand.spec import Problem, comparisons
from evenhand.spec.margins import Margin, Margins, with_margins
from evenhand.tolerances import SAME_PROBABILITY

ROUNDS = 3
"""How often margins are found from mappings that keep the last ones."""

SETTLED = 0.05
"""Margins that change by less than this share of a standard error are settled."""

PLAIN_SHARE, FOLDS_SHARE, LAST_SHARE = 0.1, 0.8, 0.9
"""Of a fit: until the optimum without confidence is found, until the margins are, and until they are met."""

MOST_DOUBLINGS, HALVINGS = 24.0, 8
"""Of the number of people: more are none that anybody could find; and how often it is narrowed down."""


@dataclass(frozen=True, eq=False)
class Strayed:
    """By how much rates may be off on either side of each constraint's comparisons: optimism and standard errors.

    ``room`` is what mappings leave to the limits, before either.
    """

    sides: tuple[Sides, ...]
    optimism: tuple[Numbers, ...]
    errors: tuple[Numbers, ...]
    room: tuple[Numbers, ...]

    @property
    def reach(self) -> Numbers:
        """The room of every line that is needed, in standard errors."""
        each = zip(self.sides, self.room, self.optimism, self.errors, strict=True)
        found = [((room - off) / np.maximum(error, SAME_PROBABILITY))[s.needed] for s, room, off, error in each]
        return np.concatenate(found)

    def margins(self, z: float) -> Margins:
        """Return the margins at z standard errors."""
        each = zip(self.sides, self.optimism, self.errors, strict=True)
        return tuple(Margin.of(*np.where(s.needed, off + z * error, 0.0)) for s, off, error in each)

    @property
    def leaning(self) -> Margins:
        """The part of margins that is optimism."""
        each = zip(self.sides, self.optimism, strict=True)
        return tuple(Margin.of(*np.where(s.needed, off, 0.0)) for s, off in each)

    def of_mapping(self, counts: Counts, kernel: Kernel, scale: float = 1.0) -> Strayed:
        """Return the same for the mapping of the whole table: its own room and (scaled) standard errors."""
        outcomes = outcome_by_source(counts, kernel)
        room = tuple(sides.room(*rates_compared(sides.part, outcomes)) for sides in self.sides)
        errors = tuple(scale * sides.standard_errors(counts, outcomes) for sides in self.sides)
        return replace(self, room=room, errors=errors)

    def widened(self, other: Strayed) -> Strayed:
        """Return the same with the larger standard errors of two mappings."""
        return replace(self, errors=tuple(map(np.maximum, self.errors, other.errors)))

    def scaled(self, scale: float) -> Strayed:
        """Return the same for more people: optimism and standard errors are multiplied."""
        optimism, errors = (tuple(scale * of for of in each) for each in (self.optimism, self.errors))
        return replace(self, optimism=optimism, errors=errors)


class Trials:
    """The folds of a table, each fitted again and again with other margins."""

    def __init__(self, problem: Problem, counts: Counts, folds: Sequence[Fold], clock: Clock, report: Progress) -> None:
        self.problem, self.counts, self.folds, self.clock, self.report = problem, counts, folds, clock, report
        self.compiled: list[Compiled | None] = [None] * len(folds)
        self.sides = tuple(map(Sides.of, parts_of(problem, counts)))

    def settled(self) -> tuple[Strayed, float]:
        """Return how far rates stray from those of mappings that have margins for it, and z."""
        assert self.problem.confidence is not None
        error = 1 - self.problem.confidence
        margins: Margins | None = None
        for number in range(ROUNDS):
            found = self.strayed(margins, number)
            z = quantile(error, found.reach)
            before, margins = margins, found.margins(z)
            if before is not None and _close(before, margins, found):
                break
        return found, z

    def strayed(self, margins: Margins | None, number: int) -> Strayed:
        """Fit every fold with these margins, and see how far the rates of those held out are off."""
        size, stated = len(self.counts), with_margins(self.problem, margins)
        total = np.zeros((size, self.counts.domain.y.size))
        inside: list[list[tuple[Numbers, Numbers]]] = []
        for place, fold in enumerate(self.folds):
            self.clock.check()
            done = (number * len(self.folds) + place) / (ROUNDS * len(self.folds))
            self.report(f"fitting fold {place + 1} of {len(self.folds)}, round {number + 1}", done)
            kernel = self._kernel(place, stated)
            total += fold.held_out(self.problem, kernel, size)
            inside.append(self._inside(fold, kernel))
        outcomes = total / self.counts.weight[:, None]
        optimism, errors, room = [], [], []
        for i, sides in enumerate(self.sides):
            refuse_small(sides.part, self.counts, outcomes)
            outside = sides.room(*rates_compared(sides.part, outcomes))
            fitted = np.mean([sides.room(*each[i]) for each in inside], axis=0)
            # Rates that are better out of fold are no reason to ask for less: folds have more new cells than the table.
            optimism.append(np.maximum(fitted - outside, 0.0))
            errors.append(sides.standard_errors(self.counts, outcomes))
            room.append(fitted)
        return Strayed(self.sides, tuple(optimism), tuple(errors), tuple(room))

    def _inside(self, fold: Fold, kernel: Kernel) -> list[tuple[Numbers, Numbers]]:
        """Return the rates compared of those who were fitted."""
        outcomes, found = outcome_by_source(fold.train, kernel), []
        for parity, sides in zip(self.problem.parity, self.sides, strict=True):
            part = comparisons(parity, fold.train)
            if len(part) != len(sides.part):
                raise DataError(
                    f"confidence: a group that {type(parity).__name__} compares has so few people that it is in one "
                    f"fold of the table alone; merge it with another, or leave out confidence"
                )
            found.append(rates_compared(part, outcomes))
        return found

    def _kernel(self, place: int, problem: Problem) -> Kernel:
        """Fit one fold; where the bounds cannot be met there, as nearly as can be."""
        train = self.folds[place].train
        try:
            compiled = compile_again(self.compiled[place], tabulated(problem, train), train)
            self.compiled[place] = compiled
            result = solve(compiled.program, problem.tie_break, self.clock, silent)
            if result is not None:
                return compiled.kernel(result.x)
        except TimeLimitError:
            raise
        except (SolverError, InfeasibleError):
            pass
        edge = parity_edge(problem, train, self.clock, floors=True)
        if edge is None:
            raise InfeasibleError(
                "confidence: in a fold of the table no parity bound, however large, can be met with margins; raise the "
                "budgets, or leave out confidence"
            )
        return edge.kernel


def _close(before: Margins, after: Margins, found: Strayed) -> bool:
    """Whether margins hardly changed, beside the standard errors."""
    for one, other, error, sides in zip(before, after, found.errors, found.sides, strict=True):
        change = np.abs(np.array([one.above, one.below]) - np.array([other.above, other.below]))
        if np.any(change > SETTLED * np.where(sides.needed, error, 1.0)):
            return False
    return True


def enough(found: Strayed, error: float) -> bool:
    """Whether a mapping leaves so much room that some bound is exceeded in the population at most so often."""
    return exceeding(found.reach) <= error * (1 + SETTLED)


NEAR = 2.0
"""Budgets that allow 2z and so many standard errors more are no reason to keep more than z."""

SEARCHED = 7
"""How often the number that they allow is narrowed down, to a hundredth or two."""


def allowed(problem: Problem, counts: Counts, stray: Strayed, z: float, clock: Clock) -> float:
    """Return how many standard errors of margin the budgets allow; infinity where these are far from what they can do.

    At z they are met.
    """

    def met(times: float) -> bool:
        stated = tabulated(with_margins(problem, stray.margins(times)), counts)
        try:
            return is_feasible(compile_problem(stated, counts).program, clock)
        except TimeLimitError:
            raise
        except (SolverError, InfeasibleError):
            return False

    low, high = z, 2 * z + NEAR
    if met(high):
        return math.inf
    for _ in range(SEARCHED):
        middle = (low + high) / 2
        low, high = (middle, high) if met(middle) else (low, middle)
    return low


SPARE = 0.12
"""So many more people are told that margins are smaller by this share than those that could be met only just."""


class NotSure(InfeasibleError):
    """The bounds can be met, but not with the margins that a confidence takes.

    ``problem`` is the one with margins, and ``reason`` what was said of it.
    """

    def __init__(
        self, *message: object, problem: Problem, reason: InfeasibleError, people_needed: float | None
    ) -> None:
        super().__init__(
            *message,
            smallest_parity_bound=reason.smallest_parity_bound,
            smallest_budget_factor=reason.smallest_budget_factor,
            people_needed=people_needed,
        )
        self.problem, self.reason = problem, reason


def not_enough_people(
    problem: Problem, counts: Counts, stray: Strayed, z: float, clock: Clock, error: InfeasibleError
) -> NotSure:
    """Return the error that says that the bounds can be met, but not with the confidence, and what would help."""
    margins, needed = stray.margins(z), None
    low, high = 0.0, MOST_DOUBLINGS
    if _answered(problem, counts, stray, z, 2**high, clock):
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if _answered(problem, counts, stray, z, 2**middle, clock) else (middle, high)
        needed = round_up(counts.people * 2**high / (1 - SPARE) ** 2, 1, digits=2)
    more = (
        f"About {needed:,.0f} people like these {counts.people:,} would be needed, all else as it is. "
        if needed is not None
        else "No number of people would do: without margins the bounds can be met only just. "
    )
    pieces = [
        f"The bounds can be met in this table, but not with margins for a confidence of {problem.confidence:.12g}. "
        f"{more}"
    ]
    if error.smallest_parity_bound is not None:
        pieces.append(
            f"With these margins the smallest parity bound that can be met is {error.smallest_parity_bound:.7f}. "
        )
    if error.smallest_budget_factor is not None:
        pieces.append(f"Or multiply the budgets by {error.smallest_budget_factor:.4g}. ")
    return NotSure(
        *pieces,
        "Or ask for less confidence.",
        problem=with_margins(problem, margins),
        reason=error,
        people_needed=needed,
    )


def _answered(problem: Problem, counts: Counts, stray: Strayed, z: float, times: float, clock: Clock) -> bool:
    """Whether so many times the people, like these, would be given an answer: all errors shrink with their root."""
    assert problem.confidence is not None
    scale, error = times**-0.5, 1 - problem.confidence
    expected = stray.scaled(scale)
    for _ in range(ROUNDS):
        stated = tabulated(with_margins(problem, expected.margins(z)), counts)
        try:
            compiled = compile_problem(stated, counts)
            result = solve(compiled.program, problem.tie_break, clock, silent)
        except TimeLimitError:
            raise
        except (SolverError, InfeasibleError):
            return False
        if result is None:
            return False
        own = expected.of_mapping(counts, compiled.kernel(result.x), scale)
        if enough(own, error):
            return True
        expected, z = expected.widened(own), max(z, quantile(error, own.reach))
    return False


def fit_confident(problem: Problem, counts: Counts, folds: Sequence[Fold], clock: Clock, report: Progress) -> Mapping:
    """Fit with margins for the confidence that a problem asks for, found from folds of its table."""
    confidence = problem.confidence
    assert confidence is not None
    error = 1 - confidence
    parts = parts_of(problem, counts)
    for part in parts:
        refuse_tiny(part, counts)
    # Bounds that cannot be met at all are refused first; and the optimum without confidence tells what it costs.
    plain = optimal(problem, counts, clock, part_of(report, 0.0, PLAIN_SHARE))
    for part in parts:
        refuse_small(part, counts, outcome_by_source(counts, plain.kernel))
    if problem.conditional is not None:
        # A model is asked once, about everybody; folds have no cells that the table lacks.
        problem = replace(problem, conditional=plain.problem.conditional)
    stray, z = Trials(problem, counts, folds, clock, part_of(report, PLAIN_SHARE, FOLDS_SHARE)).settled()
    last_part = part_of(report, FOLDS_SHARE, LAST_SHARE)
    for last in (False, False, True):
        try:
            mapping = optimal(with_margins(problem, stray.margins(z)), counts, clock, last_part)
        except InfeasibleError as refused:
            raise not_enough_people(problem, counts, stray, z, clock, refused) from None
        own = stray.of_mapping(counts, mapping.kernel)
        if last or enough(own, error):
            break
        # Where the mapping of the whole table strays further than those of the folds, its own errors count; at last
        # a union over all lines, whatever room they have.
        stray = stray.widened(own)
        z = max(z, quantile(error, own.reach))
    most = allowed(problem, counts, stray, z, clock)
    if most < math.inf:
        z = answered(z, most)
        mapping = optimal(with_margins(problem, stray.margins(z)), counts, clock, part_of(report, LAST_SHARE, 1.0))
    margins = stray.margins(z)
    stated, without = plain.problem, plain.objective
    promised = Assurance(stated, counts, mapping.kernel, confidence, margins, stray.leaning, without)
    certificate = replace(mapping.certificate, without_confidence=without)
    return replace(mapping, problem=stated, certificate=certificate, assurance=promised)
