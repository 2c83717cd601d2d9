"""One line for any estimator: a mapping over levels of its own scores, and scores that meet the released rates.

Scores of people whom clones of the estimator were not trained on make the cells; outcomes alone change; the estimator
is trained on every possible outcome of each person, with its probability; and each group's scores are then shifted on
the logit until their mean, again of people who were not trained on, is the released rate: eq. (8) with "=".

Knows estimators, tables and the fit of a mapping; nothing of scikit-learn's conventions, which ``estimator`` keeps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, round_up
from evenhand.confidence import NotSure
from evenhand.data.counts import Counts
from evenhand.data.domain import Value, in_words, same_level
from evenhand.data.levels import UNSEEN
from evenhand.data.weighting import Weighting
from evenhand.errors import DataError, EvenhandError, InfeasibleError, Made, Option, warn
from evenhand.findings.changes import changes
from evenhand.findings.feasibility import budget_edge
from evenhand.findings.ledger import both_directions, ledger
from evenhand.findings.scores import by_group
from evenhand.fitting import begin, fit_counted
from evenhand.kernel.achieved import ParityAchieved, parity_of_rates
from evenhand.mapping import Mapping
from evenhand.optimize.solve import Clock
from evenhand.render.sentences import sentence
from evenhand.resources import silent
from evenhand.spec import Distortion, ExpectedDistortion, Nominal, Parity, Problem, comparisons
from evenhand.spec.cells import ScoreLevels
from evenhand.spec.parity import PairwiseParity
from evenhand.tables import Frame, arrays, dealt_folds, level_rows, read, unused
from evenhand.tolerances import AT_BOUND, SAME_PROBABILITY
from evenhand.use.group_scores import fitted_groups, parity_frame, row_values, warn_of_new_groups, worst_by_group
from evenhand.use.scoring import TrainingRows, each_clone, held_out, probabilities, trained

FOLDS = 5
LEVELS = 20

PEOPLE, FEWEST_LEVELS = 20, 5
"""So many people of every group has a level, and fewer where a group could then not have so many levels."""

BUDGET = 3.0
"""Times the smallest expected distortion that will do: see docs/decisions/0017-one-line.md."""

LEAST_BUDGET = 0.01
"""Where next to nothing must change, a budget is not what stops it."""

CERTAIN = 1e-6
"""No score is nearer than this to 0 or 1 when it is shifted, so that it has a logit."""

MOST_STEPS, LONGEST_STEP = 200, 4.0
"""Of Newton's method on the logit."""

LARGER = (1.02, 1.08, 1.2, 1.5, 2.5)
"""Times the bound that seems to be enough for a confidence: in turn, until one is."""

ROW, WEIGHT = "evenhand row", "evenhand weight"


@dataclass(frozen=True, eq=False)
class People:
    """Who is fitted on: X as an estimator sees it, their protected columns, their outcomes, and weights if any."""

    X: Any
    frame: Frame
    protected: tuple[str, ...]
    outcome: Any
    outcome_name: str
    weight: Numbers | None

    def of(self, rows: Cells) -> People:
        """Return some of the people."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self,
            X=arrays.rows(self.X, rows),
            frame=arrays.rows(self.frame, rows),
            outcome=self.outcome[rows],
            weight=weight,
        )

    @property
    def groups(self) -> Frame:
        return arrays.select(self.frame, self.protected)

    @property
    def weights(self) -> Sequence[float] | None:
        """The weights, as a mapping is given them."""
        return None if self.weight is None else self.weight.tolist()

    @property
    def weighting(self) -> Weighting | None:
        """By what their rows count in a mapping."""
        return None if self.weight is None else Weighting(self.weight, sampled=True)

    @cached_property
    def classes(self) -> Any:
        """The values of the outcome, in order."""
        return np.unique(self.outcome)

    @cached_property
    def fold(self) -> Cells:
        """The part of each row: in turn, each is scored by a clone that was trained on the others."""
        weight = np.ones(len(self.outcome)) if self.weight is None else self.weight
        code = np.searchsorted(self.classes, self.outcome)
        return dealt_folds(read(self.frame), arrays.names(self.frame), FOLDS, weight, code)


@dataclass(frozen=True)
class Wanted:
    """What is asked of the one line."""

    parity: Parity
    calibrate: bool
    expected: bool
    """Whether to train on the expected release; else on one draw."""
    confidence: float | None = None
    """With which released rates keep the bound in the population, too; None asks for these people alone."""
    favourable: Value | None = None
    """The outcome that is good for a person."""


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A trained estimator, and what each fitted group's scores are shifted by on the logit: nothing, or a constant.

    ``parity`` is what was found of people whom clones were not trained on.
    """

    estimator: Any
    mapping: Mapping
    classes: Any
    shift: Numbers
    parity: Any

    def scores(self, X: Any, table: Frame) -> Numbers:
        """Return scores of new people; those of a group that was not fitted are not shifted, and told of."""
        groups = arrays.select(table, tuple(self.mapping.problem.protected))
        group = fitted_groups(self.mapping, groups)
        warn_of_new_groups(group, groups)
        found = probabilities(self.estimator, X, self.classes)
        for place in np.unique(group[group != UNSEEN]):
            if np.any(self.shift[place]):
                found[group == place] = shifted(found[group == place], self.shift[place])
        return found

    def chosen(self, scores: Numbers) -> Cells:
        """Return the class of largest score."""
        return np.asarray(np.argmax(scores, axis=1))


@dataclass(frozen=True, eq=False)
class Scored:
    """People with the score that clones of an estimator gave them, none trained on those whom it scored.

    ``by_all`` has what each clone gives everybody, those whom it was trained on among them: one row per fold.
    """

    people: People
    score: Numbers
    by_all: Numbers | None = None


def scored_out_of_fold(estimator: Any, people: People, *, by_all: bool = False) -> Scored:
    """Score everybody by clones that were trained on others; whatever the bound, once is enough."""
    if people.weight is not None and not np.all(people.weight):
        people = people.of(np.flatnonzero(people.weight))
    # Whoever could not be fitted is refused before anything is trained.
    _refuse_no_levels(*_stated(people, Wanted(PairwiseParity(1.0), calibrate=False, expected=True)), people)
    _refuse_thin_parts(people)
    rows = TrainingRows(np.arange(len(people.fold)), people.outcome, people.weight)
    if not by_all:
        return Scored(people, held_out(estimator, people.X, people.fold, rows, people.classes)[:, -1])
    score, found = np.zeros(len(people.fold)), []
    for test, model in each_clone(estimator, people.X, people.fold, rows):
        found.append(probabilities(model, people.X, people.classes)[:, -1])
        score[test] = found[-1][test]
    return Scored(people, score, np.stack(found))


def fit_one_line(estimator: Any, scored: Scored, wanted: Wanted) -> Calibrated:
    """Fit the mapping, train on what it releases, shift the scores, and say what holds out of fold."""
    people = scored.people
    X, fold, classes = people.X, people.fold, people.classes
    problem, table = _stated(people, wanted)
    table = arrays.with_column(table, problem.features[0], scored.score)
    mapping = _mapping(problem, table, people)
    _warn_of_losses(mapping)
    rows = _released(mapping, table, people, wanted.expected)
    scores = held_out(estimator, X, fold, rows, classes)
    group = fitted_groups(mapping, people.groups)
    before, rates = (_rates(mapping, classes, of) for of in ("rates_before", "rates_after"))
    each = np.ones(len(fold)) if people.weight is None else people.weight
    shift = np.zeros(rates.shape)
    if wanted.calibrate:
        for place in range(len(rates)):
            of = group == place
            shift[place] = shift_to(scores[of], each[of], rates[place])
            scores[of] = shifted(scores[of], shift[place])
    chosen = np.eye(len(classes))[np.argmax(scores, axis=1)]
    means, selected = (by_group(group, each, table, len(rates)) for table in (scores, chosen))
    measured = _measured(mapping, classes, means)
    _warn_of_excess(measured, wanted)
    found = {"before": before, "released": rates, "mean_score": means, "selected": selected}
    apart = worst_by_group(measured.compared, measured.value, np.maximum, 0.0)
    bound = worst_by_group(measured.compared, measured.compared.bound, np.minimum, np.inf)
    parity = parity_frame(mapping, classes, found, apart, bound)
    return Calibrated(trained(estimator, X, rows), mapping, classes, shift, parity)


def shift_to(scores: Numbers, weight: Numbers, rates: Numbers) -> Numbers:
    """Return what to add to the logits of each class so that mean scores are given rates.

    They are the minimum of a convex function, the mean of log Σ exp(log score + shift) less rates · shift, found by
    Newton's method; a class that is never released is taken out, by a shift of minus infinity.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.1], [0.5, 0.5]])
    >>> shift = shift_to(scores, np.ones(2), np.array([0.4, 0.6]))
    >>> shifted(scores, shift).mean(axis=0).round(9).tolist()
    [0.4, 0.6]
    """
    there = np.flatnonzero(rates > 0)
    logs, share, wanted = _logs(scores)[:, there], weight / weight.sum(), rates[there] / rates[there].sum()
    shift = np.zeros(len(there))
    for _ in range(MOST_STEPS):
        found = _softmax(logs + shift)
        slope = share @ found - wanted
        if np.abs(slope).max() < SAME_PROBABILITY:
            break
        curvature = np.diag(share @ found) - (found * share[:, None]).T @ found
        step = -np.linalg.pinv(curvature, hermitian=True) @ slope
        step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(), np.finfo(float).tiny))
        while _above(logs, share, wanted, shift + step) > _above(logs, share, wanted, shift) + SAME_PROBABILITY:
            step /= 2
        shift = shift + step
    shift -= shift[0]
    everywhere = np.full(len(rates), -np.inf)
    everywhere[there] = shift
    return everywhere


def shifted(scores: Numbers, shift: Numbers) -> Numbers:
    """Return scores with something added to the logits of each class."""
    return _softmax(_logs(scores) + shift)


def _logs(scores: Numbers) -> Numbers:
    return np.asarray(np.log(np.clip(scores, CERTAIN, 1 - CERTAIN)))


def _softmax(logs: Numbers) -> Numbers:
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _above(logs: Numbers, share: Numbers, wanted: Numbers, shift: Numbers) -> float:
    """Return the convex function that is smallest where mean scores are the wanted rates."""
    return float(share @ np.logaddexp.reduce(logs + shift, axis=1) - wanted @ shift)


def _refuse_thin_parts(people: People) -> None:
    """Refuse a group or a class that is in one part of the table alone: a clone would have seen nothing of it."""
    first, group = arrays.distinct(people.groups)
    if len(first) < 2:
        words = in_words(row_values(people.groups, 0))
        raise DataError(f"there is a single group in this table, {words}; bounds between groups need at least two")
    for part in np.unique(people.fold):
        seen = people.fold != part
        left = np.bincount(group[seen], minlength=len(first))
        if not left.all():
            lost = int(np.argmin(left))
            words = in_words(row_values(people.groups, int(first[lost])))
            raise DataError(
                f"scores are made by models that are each trained on {FOLDS - 1} of {FOLDS} parts of the table, and "
                f"one would see nobody of {words}, of whom there are {int(np.sum(group == lost))}; put that group "
                f"together with another, or leave its people out"
            )
        if len(np.unique(people.outcome[seen])) < 2:
            fewest = min(np.unique(people.outcome, return_counts=True)[1])
            raise DataError(
                f"scores are made by models that are each trained on {FOLDS - 1} of {FOLDS} parts of the table, and "
                f"one would see only one class of y: the smaller one has {fewest} of {len(people.outcome)} rows"
            )


def _stated(people: People, wanted: Wanted) -> tuple[Problem, Frame]:
    """Return the problem, in which outcomes alone change, and the table of (d, y) to which the score will be added.

    By a distance that is about a favourable outcome, which can always be met by raising rates, nobody loses it.
    """
    outcome = unused(people.outcome_name, people.protected)
    table = arrays.with_column(people.groups, outcome, arrays.one_column(people.outcome, whole=True))
    smallest = int(np.bincount(arrays.distinct(people.groups)[1]).min())
    problem = Problem(
        protected=people.protected,
        features=[unused("score", (*people.protected, outcome))],
        outcome=outcome,
        cells=ScoreLevels(LEVELS, at_least=int(np.clip(smallest // FEWEST_LEVELS, 1, PEOPLE))),
        favourable=wanted.favourable,
        parity=[wanted.parity],
        distortion=Distortion({outcome: _rule(people, wanted.parity.distance.good_outcome)}),
        budget=ExpectedDistortion(1.0),
        tie_break="even",
        confidence=wanted.confidence,
    )
    return problem, table


def _rule(people: People, good: Value | None) -> Nominal:
    """Return what changes of the outcome cost: one, and where an outcome is to be reached, none leaves it."""
    if good is None:
        return Nominal(1)
    levels = [level for level in people.classes.tolist() if not same_level(level, good)]
    towards = {(a, b): 1.0 for a in levels for b in (*levels, good) if a != b}
    return Nominal(towards | {(good, level): math.inf for level in levels})


def _refuse_no_levels(problem: Problem, table: Frame, people: People) -> None:
    """Refuse protected columns whose values are no levels before anything is trained."""
    try:
        level_rows(problem, read(table), people.weight)
    except DataError as error:
        raise DataError(
            *error.pieces,
            "; protected=[...] takes columns whose values are levels already: bins, and what a missing value is, are "
            "stated by a problem, with preprocessor=eh.OptimizedPreprocessor(problem)",
        ) from None


def _mapping(problem: Problem, table: Frame, people: People) -> Mapping:
    """Fit; where a confidence cannot be had at the bound, say at which it can."""
    counts, _, _ = begin(problem, table, people.weighting)
    try:
        return _within(problem, counts, table, people)
    except NotSure as refused:
        raise _refused(refused, problem, counts, table, people) from None


def _within(problem: Problem, counts: Counts, table: Frame, people: People) -> Mapping:
    """Fit within three times the smallest budget that will do, and where a confidence needs more, within any."""
    least = budget_edge(replace(problem, confidence=None), counts, Clock())
    if least is not None:
        limit = ExpectedDistortion(float(np.clip(BUDGET * least, LEAST_BUDGET, 1.0)))
        with suppress(NotSure):
            return fit_counted(replace(problem, budget=limit), counts, table, people.weighting, Clock(), silent)
    return fit_counted(problem, counts, table, people.weighting, Clock(), silent)


def _refused(refused: NotSure, problem: Problem, counts: Counts, table: Frame, people: People) -> NotSure:
    """Return the error with a bound that is enough: one that was fitted, since margins are others at another bound."""
    bound, enough = problem.smallest_bound, None
    nearest = refused.smallest_parity_bound
    for factor in LARGER:
        bound = round_up(max(nearest or 0.0, bound) * factor, digits=3)
        try:
            # Within any budget: where that can be had, the fit at this bound has it.
            stated = replace(problem, parity=[problem.parity[0].with_bounds(lambda _, to=bound: to)])
            fit_counted(stated, counts, table, people.weighting, Clock(), silent)
        except NotSure as again:
            nearest = again.smallest_parity_bound
        except EvenhandError:
            break
        else:
            enough = bound
            break
    needed = refused.people_needed
    return NotSure(
        f"bound={problem.smallest_bound:g} can be met in this table, but not with margins for a confidence of "
        f"{problem.confidence:g}. ",
        "" if needed is None else f"About {needed:,.0f} people like these {counts.people:,} would be needed. ",
        "" if enough is None else f"With as many as there are write bound={enough:g}, which can be met. ",
        "Or ask for less confidence.",
        problem=refused.problem,
        reason=InfeasibleError(smallest_parity_bound=enough),
        people_needed=needed,
    )


def _released(mapping: Mapping, table: Frame, people: People, expected: bool) -> TrainingRows:
    """Return what the estimator is trained on: everybody's possible outcomes with weights, or one draw of them."""
    name, kind = mapping.problem.outcome, people.classes.dtype
    if not expected:
        drawn = arrays.split(mapping.release(table, seed=0), name)[1]
        return TrainingRows(np.arange(len(people.outcome)), arrays.numbers(drawn).astype(kind), people.weight)
    numbered = arrays.with_column(table, ROW, np.arange(len(people.outcome)))
    wide = mapping.expand(numbered, weights=people.weights, weight_column=WEIGHT)
    _, outcome, row, weight = arrays.split(wide, name, ROW, WEIGHT)
    # Outcomes of whole numbers were read as integers; the estimator gets the classes that were given.
    return TrainingRows(arrays.numbers(row), arrays.numbers(outcome).astype(kind), arrays.numbers(weight))


def _order(mapping: Mapping, classes: Any) -> Cells:
    """Return the outcome of each class, by its code."""
    levels = np.array(mapping.counts.domain.outcome.levels).astype(classes.dtype)
    return np.argsort(levels, kind="stable")


def _rates(mapping: Mapping, classes: Any, of: str) -> Numbers:
    """Return each group's rates before or after, in the order of classes."""
    return np.asarray(getattr(mapping.achieved, of)[:, _order(mapping, classes)])


def _measured(mapping: Mapping, classes: Any, means: Numbers) -> ParityAchieved:
    """Return what the statement measures of mean scores, as if they were rates."""
    counts, by_outcome = mapping.counts, np.empty(means.shape)
    by_outcome[:, _order(mapping, classes)] = means
    compared = comparisons(mapping.problem.parity[0], counts)
    return parity_of_rates(compared, by_outcome[counts.groups.of_source])


def _warn_of_excess(measured: ParityAchieved, wanted: Wanted) -> None:
    if not len(measured.value) or measured.violation <= AT_BOUND:
        return
    worst = int(np.argmax(measured.excess))
    advice = "" if wanted.calibrate else "; calibrate=True shifts them to the released rates"
    warn(
        f"mean scores of people whom the estimator was not trained on are {measured.value[worst]:.3f} apart by group, "
        f"more than the bound of {measured.compared.bound[worst]:g}: see parity_{advice}",
    )


def _warn_of_losses(mapping: Mapping) -> None:
    """Warn of people who lose the favourable outcome; where nobody said which it is, of who goes which way."""
    problem, counts = mapping.problem, mapping.counts
    who = ledger(problem, counts, mapping.kernel, mapping.achieved)
    if who is None:
        ways = list(map(sentence, both_directions(counts, changes(counts, mapping.kernel, mapping.achieved))))
        if ways:
            warn("; ".join(ways), ". Say which outcome is good for a person: ", Option("favourable"))
        return
    lost, good = who.loss(suppressed=False), counts.domain.outcome.levels[who.favourable]
    if lost is not None:
        given = {"bound": problem.smallest_bound, "distance": Made("FourFifths", {"favourable": good})}
        warn(f"{sentence(lost)}. Nobody loses it with ", Option("bound", Made("PairwiseParity", given)))
