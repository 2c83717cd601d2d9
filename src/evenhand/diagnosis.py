"""Diagnosis: why a problem cannot be solved and what would help; or, where it can, what each bound costs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.confidence import NotSure
from evenhand.data.counts import Counts
from evenhand.engines import AnyTable
from evenhand.errors import InfeasibleError, SpecError
from evenhand.findings import proof
from evenhand.findings.cells import who_is_where
from evenhand.findings.described import learned
from evenhand.findings.feasibility import budget_edge, parity_edge, raised
from evenhand.findings.infeasibility import Conflict, conflict
from evenhand.findings.prices import Prices
from evenhand.findings.simpson import paradox_notes
from evenhand.fitting import begin, fit_counted, warn_of_bounds
from evenhand.mapping import Mapping
from evenhand.optimize.certificate import bounding
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve import Clock
from evenhand.optimize.tabulate import tabulated
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Note, Section
from evenhand.resources import Progress, heeding, part_of
from evenhand.spec import Parity, Problem, weighted_by, weighting_of
from evenhand.spec.margins import widest
from evenhand.tolerances import SHOWN_FROM

if TYPE_CHECKING:
    import pandas as pd

GOLDEN = (math.sqrt(5) - 1) / 2
TRIALS = 16
"""Bounds that are tried on the way to the cheapest change of both."""

TELLING = 0.5
"""A released outcome that could tell more than this of the original one is not worth a sentence."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Finding):
    """Whether a problem can be solved, why not or at what price, and the smallest changes that would help.

    Attributes
    ----------
    feasible : bool
        Whether some mapping meets every bound, at a loss that is not infinite.
    smallest_parity_bound : float or None
        The smallest bound that could take the place of every smaller parity bound, all else as it is; None where no
        bound would do.
    smallest_budget : float, dict or None
        The smallest limit at which the parity bounds can be met: a number for one budget with one limit, else for each
        charge what its smallest limit above zero becomes; None where no budget would do.
    smallest_budget_factor : float or None
        The factor on all limits that this amounts to.
    cheapest : dict or None
        Where it is infeasible: the parity bound and the factor on budgets whose relative increases are smallest
        together.
    notes : tuple of Note
        Why, as ``sentences("diagnosis")`` writes it.
    prices : pandas.DataFrame or None
        Where it is feasible: what relaxing each bound by one unit would gain; see
        :class:`evenhand.findings.prices.Prices`. None where it is not, and for problems that are not convex.
    price_list : Prices or None
        The same with totals.
    conflict : Conflict or None
        Where it is infeasible: the bounds that conflict, how far rates can go, which forbidden moves would help; None
        where there are no bounds to weigh.
    reason : InfeasibleError or None
        Where it is infeasible, and no bounds could be weighed: the error, which is the first of the notes.
    stranded : bool
        Whether it is infeasible because somebody has no move at all: by what is forbidden, by limits of zero or by
        ratios to zero.
    with_margins : Problem or None
        Where the bounds can be met, but not with the problem's confidence: the same with the margins that this takes,
        which is what all else is about.
    """

    problem: Problem
    counts: Counts
    feasible: bool
    smallest_parity_bound: float | None
    smallest_budget: float | dict[str, float] | None
    smallest_budget_factor: float | None
    cheapest: dict[str, float] | None
    notes: tuple[Note, ...]
    conflict: Conflict | None = None
    mapping: Mapping | None = None
    price_list: Prices | None = None
    reason: InfeasibleError | None = None
    stranded: bool = False
    with_margins: Problem | None = None

    @property
    def sections(self) -> tuple[Section, ...]:
        """All of it as data."""
        return tuple(_sections(self))

    @property
    def prices(self) -> pd.DataFrame | None:
        """The table of prices, None where there are none."""
        return None if self.price_list is None else self.price_list.frame

    @property
    def cells(self) -> pd.DataFrame:
        """Who is in each cell of the features, by the numbers by which prices and conflicts name learned cells."""
        return who_is_where(self.counts) if self.mapping is None else self.mapping.cells

    def proof(self, path: str | os.PathLike[str]) -> None:
        """Write the proof that the problem is infeasible, or that its mapping is as good as it says.

        ``evenhand verify PATH``, or the standalone script ``evenhand/verifier.py`` alone, checks it in exact
        arithmetic.
        """
        if self.mapping is not None:
            self.mapping.proof(path)
            return
        if self.reason is not None and not self.stranded:
            raise SpecError("there is no proof to write, for no bounds can be weighed: ", *self.reason.pieces)
        multipliers = None if self.conflict is None else self.conflict.multipliers
        proof.write_infeasible(path, bounding(self.with_margins or self.problem), self.counts, multipliers)

    def __repr__(self) -> str:
        return f"<Diagnosis: {'feasible' if self.feasible else 'infeasible'}. {self.sentences('diagnosis')[0]}>"


def _sections(found: Diagnosis) -> Iterator[Section]:
    """Yield the sections in the order in which they are read."""
    numbers = {
        "feasible": found.feasible,
        "objective": None if found.mapping is None else found.mapping.objective,
        "smallest_parity_bound": found.smallest_parity_bound,
        "smallest_budget": found.smallest_budget,
        "smallest_budget_factor": found.smallest_budget_factor,
        "cheapest": found.cheapest,
    }
    facts = tuple(Fact(name, value, detail=True) for name, value in numbers.items())
    verdict = {"verdict": Note("diagnosis.yes" if found.feasible else "diagnosis.no")}
    yield Section("diagnosis", facts=facts, notes=found.notes, fields=verdict)
    if found.conflict is not None:
        yield found.conflict.section
    if found.price_list is not None:
        yield from found.price_list.sections
    if found.problem.cells is not None:
        yield learned(found.cells)


def diagnose(
    problem: Problem,
    frame: AnyTable | Counts,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Diagnosis:
    """Say why a problem is infeasible and what would help, or what each of its bounds costs.

    Parameters
    ----------
    problem, frame, weights, frequencies, time_limit, progress
        As in :func:`evenhand.fit`.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> costly = dict(data.problem.distortion.rules) | {"is_recid": eh.Ordinal(step=2, up=False)}
    >>> found = eh.diagnose(replace(data.problem, distortion=eh.Distortion(costly)), data.frame)
    >>> found.feasible, round(found.smallest_parity_bound, 7), round(found.smallest_budget, 7)
    (False, 0.2109576, 0.6374419)
    >>> feasible = eh.diagnose(data.problem, data.frame)
    >>> round(feasible.price_list.parity[0], 4)
    0.1257
    """
    weighting = weighting_of(problem, weights, frequencies)
    problem = weighted_by(problem, weighting)
    counts, clock, report = begin(problem, frame, weighting, time_limit, progress)
    warn_of_bounds(problem.parity)
    with heeding(clock.check):
        try:
            mapping = fit_counted(problem, counts, frame, weighting, clock, part_of(report, 0.0, 0.5))
        except NotSure as error:
            found = _infeasible(error.problem, counts, clock, error.reason, report)
            margins = Note("diagnosis.margins", {"widest": widest(error.problem)})
            notes = (Note("diagnosis.error", {"error": error}), margins, *found.notes)
            return replace(found, problem=problem, with_margins=error.problem, notes=notes)
        except InfeasibleError as error:
            return _infeasible(problem, counts, clock, error, report)
        return _feasible(problem, counts, mapping, clock, report)


def _feasible(problem: Problem, counts: Counts, mapping: Mapping, clock: Clock, report: Progress) -> Diagnosis:
    edge, factor = None, None
    if problem.suppression.convex:
        edge, factor = _edges(mapping.certified, counts, clock, report, floors=False)
    report("finding what each bound costs", 0.95)
    prices, budgets = mapping.prices() if mapping.has_prices else None, _limits(problem, factor)
    notes = [Note("diagnosis.feasible", {"loss": mapping.objective})]
    if (promised := mapping.assurance) is not None:
        fields = {"confidence": promised.confidence, "without": promised.without}
        notes.append(Note("diagnosis.confidence", fields))
    notes += [Note("diagnosis.not_convex")] if prices is None else _costs(problem, prices)
    if edge is not None:
        notes.append(Note("diagnosis.smallest_bound", {"bound": edge}))
    if factor is not None:
        limit = Note("diagnosis.smallest_limit", {"limit": budgets}) if isinstance(budgets, float) else None
        notes.append(Note("diagnosis.smallest_budgets", {"factor": factor, "limit": limit}))
    return Diagnosis(
        problem=problem,
        counts=counts,
        feasible=True,
        smallest_parity_bound=edge,
        smallest_budget=budgets,
        smallest_budget_factor=factor,
        cheapest=None,
        notes=(*notes, *_implied(problem, counts), *paradox_notes(problem, counts)),
        mapping=mapping,
        price_list=prices,
    )


def _costs(problem: Problem, prices: Prices) -> Iterator[Note]:
    """Yield which constraints cost utility, the most expensive first."""
    named = [(price, type(p).__name__) for p, price in zip(problem.parity, prices.parity, strict=True)]
    named += [(price, charge.words) for charge, price in zip(problem.charges, prices.budgets, strict=True)]
    priced = sorted((pair for pair in named if pair[0] > SHOWN_FROM), key=lambda pair: -pair[0])
    for price, name in priced:
        yield Note("diagnosis.price", {"constraint": name, "price": price})
    unknown = [name for price, name in named if math.isnan(price)]
    if unknown:
        yield Note("diagnosis.price_unknown", {"constraints": unknown})
    elif not priced:
        yield Note("diagnosis.no_price")


def _edges(
    problem: Problem, counts: Counts, clock: Clock, report: Progress, floors: bool
) -> tuple[float | None, float | None]:
    """Return the smallest parity bound and the smallest factor on budgets; None for what is not known or not there."""
    edge = None
    # The lines of a user's distance are known for its own bounds alone; and at very small ones it may have none.
    own = not all(parity.distance.at_any_bound for parity in problem.parity)
    if problem.parity:
        report("finding the smallest parity bound that can be met", 0.8)
        try:
            edge = parity_edge(problem, counts, clock, floors=floors)
        except SpecError:
            if not own:
                raise
    factor = None
    if problem.charges:
        report("finding the smallest budgets that will do", 0.85)
        factor = budget_edge(problem, counts, clock)
    return None if edge is None else edge.bound, factor


def _infeasible(asked: Problem, counts: Counts, clock: Clock, error: InfeasibleError, report: Progress) -> Diagnosis:
    # An alternating minimisation is refused where even the mappings that do not suppress D cannot meet the bounds.
    problem = bounding(asked)
    stated, compiled = tabulated(problem, counts), None
    # Where no programme can even be compiled, there are no bounds to weigh, and the error says why.
    with suppress(InfeasibleError):
        compiled = compile_problem(stated, counts)
    report("proving it", 0.7)
    why = None if compiled is None else conflict(stated, counts, compiled, clock)
    bound, factor, cheapest = None, None, None
    if why is not None or problem is asked:
        report("finding the smallest changes", 0.8)
        bound, factor = error.smallest_parity_bound, error.smallest_budget_factor
        if bound is None and factor is None:
            bound, factor = _edges(problem, counts, clock, report, floors=True)
        cheapest = _cheapest(problem, counts, bound, factor, clock, report)
    reasons = [Note("diagnosis.error", {"error": error})] if why is None else _why(asked, why, bound, factor, cheapest)
    return Diagnosis(
        problem=asked,
        counts=counts,
        feasible=False,
        smallest_parity_bound=bound,
        smallest_budget=_limits(problem, factor),
        smallest_budget_factor=factor,
        cheapest=cheapest,
        notes=(*reasons, *_implied(problem, counts), *paradox_notes(problem, counts)),
        conflict=why,
        reason=error if why is None else None,
        stranded=compiled is None,
    )


def _limits(problem: Problem, factor: float | None) -> float | dict[str, float] | None:
    """Return the limits times a factor: one number where there is one limit, else the smallest of each charge."""
    if factor is None or not problem.charges:
        return None
    smallest = {charge.words: min(raised(charge, factor).values(), default=0.0) for charge in problem.charges}
    return smallest if problem.one_limit is None else smallest[problem.charges[0].words]


def _cheapest(
    problem: Problem, counts: Counts, bound: float | None, factor: float | None, clock: Clock, report: Progress
) -> dict[str, float] | None:
    """Return the bound and the factor on budgets whose relative increases are smallest together."""
    if bound is None or factor is None or not problem.parity:
        return None
    own = problem.smallest_bound
    unit = own if own > 0 else 1.0

    def cost(trial: float) -> tuple[float, float, float]:
        report("finding the cheapest change of both", 0.9)
        needed = budget_edge(problem.with_bounds(lambda b: max(b, trial)), counts, clock)
        needed = math.inf if needed is None else max(1.0, needed)
        return (trial - own) / unit + needed - 1, trial, needed

    # The cost falls and then rises between the two ends. So an end is the best of all where it is no worse than the
    # nearest bound that golden section would try: in most cases that is one trial instead of twenty.
    nearest = GOLDEN ** (TRIALS + 1) * (bound - own)
    tighter, looser = (max(1.0, factor) - 1, own, max(1.0, factor)), None
    if tighter > cost(own + nearest):
        looser = cost(bound)
        if looser > cost(bound - nearest):
            looser = min(looser, *_golden(cost, own, bound))
    best = tighter if looser is None else min(tighter, looser)
    return {"parity_bound": best[1], "budget_factor": best[2]}


def _golden(
    cost: Callable[[float], tuple[float, float, float]], low: float, high: float
) -> list[tuple[float, float, float]]:
    """Return what golden section finds on its way to where the cost turns, between two ends."""
    tried = []
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_a, at_b = cost(a), cost(b)
    for _ in range(TRIALS):
        tried += [at_a, at_b]
        if at_a[0] <= at_b[0]:
            high, b, at_b = b, a, at_a
            a = high - GOLDEN * (high - low)
            at_a = cost(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + GOLDEN * (high - low)
            at_b = cost(b)
    return tried


def _why(
    asked: Problem, why: Conflict, bound: float | None, factor: float | None, cheapest: dict[str, float] | None
) -> Iterator[Note]:
    if not asked.suppression.convex:
        yield Note("diagnosis.not_even_seeing")
    yield Note("diagnosis.infeasible")
    yield from why.notes
    if bound is not None:
        yield Note("diagnosis.raise_bound_alone" if asked.charges else "diagnosis.raise_bound", {"bound": bound})
    elif asked.parity:
        yield Note("diagnosis.no_bound")
    if factor is not None:
        limits = [
            Note("diagnosis.limit", {"charge": charge.words, "limit": limit, "larger": larger})
            for charge in asked.charges
            for limit, larger in raised(charge, factor).items()
        ]
        key = "diagnosis.raise_budgets_alone" if asked.parity else "diagnosis.raise_budgets"
        yield Note(key, {"factor": factor, "limits": limits})
    elif asked.charges:
        yield Note("diagnosis.no_budgets")
    if cheapest is not None:
        fields = {"bound": cheapest["parity_bound"], "factor": cheapest["budget_factor"]}
        key = "diagnosis.larger_both"
        if fields["factor"] <= 1:
            key = "diagnosis.larger_bound"
        elif fields["bound"] <= asked.smallest_bound:
            key = "diagnosis.larger_budgets"
        yield Note("diagnosis.cheapest", {"change": Note(key, fields)})


def _implied(problem: Problem, counts: Counts) -> Iterator[Note]:
    """Yield what parity of rates and parity given the outcome leave of what an outcome tells, where that is little.

    Groups that had different rates, get equal ones, and are relabelled alike at each original outcome get an outcome
    that tells nothing of the original one. With two outcomes, rates within a, and relabelling within b, of each other,
    |Pr(ŷ|d,y) − Pr(ŷ|d,y')| ≤ (a + b) / |p(y|d) − p(y|d')|.
    """
    if counts.domain.y.size != 2:
        return
    plain = [(parity, reach) for parity in problem.parity if (reach := _points(parity)) is not None]
    for rates, a in plain:
        for relabelled, b in plain:
            if rates.given_outcome or not relabelled.given_outcome or rates.on != relabelled.on:
                continue
            people = rates.people(counts)
            groups = np.unique(people.group)
            by_group = [
                np.average(counts.y[people.group == g], weights=counts.weight[people.group == g]) for g in groups
            ]
            low, high = int(np.argmin(by_group)), int(np.argmax(by_group))
            gap = by_group[high] - by_group[low]
            if gap <= 0 or (a + b) / gap > TELLING:
                continue
            left = Note("diagnosis.nothing_left")
            if a + b > 0:
                left = Note("diagnosis.little_left", {"difference": (a + b) / gap})
            yield Note("diagnosis.relabelled_alike", {
                "outcome": counts.domain.outcome.name, "low": by_group[low], "high": by_group[high],
                "who": [people.groups.words(int(groups[g])) for g in (low, high)], "left": left,
            })  # fmt: skip


def _points(parity: Parity) -> float | None:
    """Return by how many points of probability groups may differ; None where the statement gives no one number."""
    plain = parity.holds_everybody and parity.of_outcomes and not parity.against_target
    # A segment that is left out is bounded by nothing.
    if not plain or parity.given is not None or parity.min_segment > 0:
        return None
    bound = parity.bound
    # A ratio or a share of a rate, which is one at most, is no more points than that.
    return float(bound) if isinstance(bound, int | float) and parity.distance.reach(1.0, 1.0) is not None else None
