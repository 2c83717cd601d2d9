"""Decisions of a model: its score level is the outcome, and what is released is a level again.

Levels of scores that clones of the estimator gave people whom they were not trained on are an ordered outcome; parity
of it from each level on is parity of selection rates at every threshold. No label is read. Squared costs keep ranks,
and the mean move of a group's people of one level is within a budget.

New people's scores are placed among those of the fitted people: those that clones gave out of fold, which are not
too good. A tree of few leaves, or a few words, make crowds of one score, which every clone puts elsewhere; there they
are the trained estimator's own, the very ones that new people get, unless these show that it overfits.

Knows scores, groups and the fit of a mapping; nothing of scikit-learn's conventions, which ``estimator`` keeps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import in_words
from evenhand.data.levels import UNSEEN
from evenhand.errors import Made, Option, some_of, warn
from evenhand.findings.ledger import SOMEBODY
from evenhand.findings.naming import group_names
from evenhand.findings.scores import by_group
from evenhand.fitting import begin
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import ParityAchieved, parity_achieved
from evenhand.mapping import Mapping
from evenhand.optimize.solve import Clock
from evenhand.optimum import optimal
from evenhand.render.numbers import people as expected_people
from evenhand.resources import silent
from evenhand.spec import L1, Distortion, ExpectedDistortion, Ordinal, Parity, Problem, comparisons
from evenhand.spec.by import By
from evenhand.spec.events import CUMULATIVE
from evenhand.tables import Frame, arrays, by_content, frame, unused
from evenhand.tolerances import AT_BOUND
from evenhand.use.group_scores import fitted_groups, warn_of_new_groups, worst_by_group
from evenhand.use.oneline import People, Scored
from evenhand.use.released_scores import GroupRelease, ScoreScale, Ties, all_released
from evenhand.use.scoring import TrainingRows, probabilities, trained

LEVELS = 20
"""Of the score, at most: see docs/decisions/0020-decisions.md."""

ROUNDS = 3
"""How often the bound is tightened, at most, by what selection rates exceed it out of fold."""

LEAST_BUDGET, SPARE = 1e-4, 1e-6
"""Where next to nothing must move, a budget is not what stops it: a hundredth of all levels, squared. And what is left
to spare of one that is just large enough."""

CHANCE = 1.36
"""Times the root of 1/n + 1/n' is what two samples of n and n' differ by at some threshold, in one case of twenty."""

NEAR = 0.005
"""By so much, and one person of each group, the fitted people may exceed the bound without a word."""

CROWD = 5
"""Scores are few where there are so many people for each."""

FOUR_FIFTHS = 0.2
"""The bound that is the four-fifths rule."""

OVERFIT = 1.1
"""Times the root of 1/n + 1/n': by chance the mean of five such distances is 0.87 of it, and this in one case of 40."""


@dataclass(frozen=True)
class Decisions:
    """What is asked of decisions: a statement of parity, at every threshold or at one of them.

    ``favourable`` is the class, of two, that a person is selected for, and ``stated`` whether somebody said that it is
    good. Where people of one score are released as different levels, ``drawn`` says whether that is drawn, or goes by
    what their rows hold.
    """

    parity: Parity
    threshold: float | None
    favourable: int
    stated: bool = False
    drawn: bool = False


@dataclass(frozen=True, eq=False)
class Decided:
    """A trained estimator, and what its scores are released as, by group.

    ``parity`` is what was found out of fold: by clones, and mappings, that were fitted on others.
    """

    estimator: Any
    mapping: Mapping
    classes: Any
    parity: Any
    scale: ScoreScale
    releases: tuple[GroupRelease, ...]
    asked: Decisions

    def scores(self, X: Any, table: Frame) -> Numbers:
        """Return released scores of new people; those of a group that was not fitted are the estimator's own."""
        groups = arrays.select(table, tuple(self.mapping.problem.protected))
        group = fitted_groups(self.mapping, groups)
        warn_of_new_groups(group, groups)
        found, own = probabilities(self.estimator, X, self.classes), self.asked.favourable
        known = np.flatnonzero(group != UNSEEN)
        ties = _ties(table, known, self.asked)
        level = all_released(self.releases, self.scale, found[known, own], group[known], ties)
        found[known, own] = self.scale.value[level]
        found[known, 1 - own] = 1 - self.scale.value[level]
        return found

    def chosen(self, scores: Numbers) -> Cells:
        """Return the class of each person: by the threshold that was asked for, else that of the larger score."""
        if self.asked.threshold is None:
            return np.asarray(np.argmax(scores, axis=1))
        own = self.asked.favourable
        return np.where(scores[:, own] >= self.asked.threshold, own, 1 - own)


def fit_decisions(estimator: Any, scored: Scored, asked: Decisions) -> Decided:
    """Fit a mapping of score levels, train the estimator as it is, and say what holds of people not fitted on."""
    people = scored.people
    weight = np.ones(len(scored.score)) if people.weight is None else people.weight
    model = trained(estimator, people.X, TrainingRows(np.arange(len(weight)), people.outcome, people.weight))
    own, score, out_of_fold, among = _reference(model, scored, asked)
    scale = ScoreScale.of(score, weight, LEVELS, asked.threshold)
    problem = _stated(people, asked, scale)
    table = _table(problem, people.groups, scale.level(score))

    def found_with(stated: Problem) -> _Found:
        mapping = _mapping(stated, table, people)
        group = fitted_groups(mapping, people.groups)
        every = _Everybody(problem.parity[0], mapping, scale, weight, group, people.frame, asked)
        return _Found(every, out_of_fold, _released_out_of_fold(every, people.fold, out_of_fold, among))

    found = _corrected(problem, found_with)
    every, mapping = found.every, found.every.mapping
    releases = every.releases(mapping, score, np.arange(len(score)))
    of_fitted = [_of_fitted(every, score, each) for each in (score, own)]
    if not (any(_warn_of_crowds(each, score) for each in of_fitted) or _warn_of_excess(found)):
        _warn_of_other_scores(of_fitted[-1])
    _warn_of_losses(found, people)
    return Decided(model, mapping, people.classes, found.table, scale, releases, asked)


def _corrected(problem: Problem, found_with: Callable[[Problem], _Found]) -> _Found:
    """Tighten the bound by what selection rates exceed it out of fold, and return what exceeds the stated one least."""
    stated, latest = problem, found_with(problem)
    best = latest
    for _ in range(ROUNDS):
        over = latest.parity.violation
        if not AT_BOUND < over < math.inf:
            break
        tighter = stated.with_bounds(lambda own, over=over: max(own - over, 0.0))  # type: ignore[misc]
        if tighter.parity == stated.parity:
            break
        stated, latest = tighter, found_with(tighter)
        best = min(best, latest, key=lambda found: found.parity.violation)
    return best


def _reference(model: Any, scored: Scored, asked: Decisions) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Return the estimator's own scores, and those among which new people's are placed.

    And the same for clones: scores out of fold, and those among which each fold's are placed, one row per fold.
    """
    people, by_all = scored.people, scored.by_all
    assert by_all is not None
    own, score = probabilities(model, people.X, people.classes)[:, -1], scored.score
    if not asked.favourable:
        own, score, by_all = 1 - own, 1 - score, 1 - by_all
    _, group = arrays.distinct(people.groups)
    if len(np.unique(own)) * CROWD <= len(own) and not _overfits(by_all, people.fold, group):
        return own, own, score, by_all
    return own, score, score, np.broadcast_to(score, by_all.shape)


def _overfits(by_all: Numbers, fold: Cells, group: Cells) -> bool:
    """Whether clones' scores of people whom they were trained on are distributed otherwise than those of others."""
    for each in np.unique(group):
        beyond = []
        for part, score in zip(np.unique(fold), by_all, strict=True):
            mine, others = (score[(group == each) & known] for known in (fold == part, fold != part))
            if len(mine):
                chance = math.sqrt(1 / len(mine) + 1 / len(others))
                beyond.append(float(ks_2samp(mine, others).statistic) / chance)
        if np.mean(beyond) > OVERFIT:
            return True
    return False


def _stated(people: People, asked: Decisions, scale: ScoreScale) -> Problem:
    """Return the statement: the score's level is the outcome, and moves cost their squared share of all levels."""
    outcome, parity = unused("score level", people.protected), asked.parity.changed(levels=CUMULATIVE)
    if asked.threshold is not None:
        level = int(scale.level(np.array([asked.threshold]))[0])
        bound, distance = _at_one(parity.bound, outcome, level), parity.distance.about(level)
        parity = parity.changed(bound=bound, distance=distance)
    return Problem(
        protected=people.protected,
        features=[unused("everybody", (*people.protected, outcome))],
        outcome=outcome,
        utility=L1(),
        parity=[parity],
        distortion=Distortion({outcome: Ordinal(step=1 / len(scale) ** 2, power=2)}),
        budget=ExpectedDistortion(1.0),
    )


def _at_one(bound: float | By, outcome: str, level: int) -> By:
    """Return a bound that holds from one level on, and nowhere else."""
    cases = [({}, bound)] if not isinstance(bound, By) else [({}, bound.default), *bound.cases]
    return By(math.inf, [({**where, outcome: level}, value) for where, value in cases])


def _table(problem: Problem, groups: Frame, level: Cells) -> Frame:
    """Return groups and score levels as a table; everybody's feature is the same."""
    alone = arrays.with_column(groups, problem.features[0], np.zeros(len(level), dtype=np.int64))
    return arrays.with_column(alone, problem.outcome, level)


def _mapping(problem: Problem, table: Frame, people: People) -> Mapping:
    """Fit within the smallest budget that lets everybody move as little as possible in total, which keeps ranks."""
    counts, clock, report = begin(problem, table, people.weighting)
    freely = optimal(replace(problem, budget=None), counts, clock, report)
    limit = max(LEAST_BUDGET, float(freely.achieved.distortion.max()) * (1 + SPARE))
    return optimal(replace(problem, budget=ExpectedDistortion(limit)), counts, clock, report)


def _ties(table: Frame, people: Cells, asked: Decisions) -> Ties:
    """Return who of some people comes before whom where scores are one: drawn, or by what rows hold in any order."""
    if asked.drawn:
        drawn = np.random.default_rng(0).random(len(people))
        return lambda rows: drawn[rows]
    return lambda rows: by_content(arrays.rows(table, people[rows]))


@dataclass(frozen=True, eq=False)
class _Everybody:
    """The fitted people: their weights, groups (by place among those of the mapping) and rows, and levels of scores.

    ``parity`` is what was asked, ``mapping`` may keep a tighter bound. ``place`` is each one's own, where all are
    distinguished, and None where what is drawn or their rows hold does that.
    """

    parity: Parity
    mapping: Mapping
    scale: ScoreScale
    weight: Numbers
    group: Cells
    table: Frame
    asked: Decisions
    place: Numbers | None = None

    @cached_property
    def content(self) -> Numbers:
        """A number for each of them, by what their rows hold."""
        return by_content(self.table)

    @property
    def told_apart(self) -> _Everybody:
        """The same people in the same order, of whom those whose rows are equal are told apart as well."""
        place = np.empty(len(self.weight))
        place[np.argsort(self.content, kind="stable")] = np.arange(len(place)) / len(place)
        return replace(self, place=place)

    def ties(self, people: Cells) -> Ties:
        """Return who of some of them comes before whom where scores are one."""
        place = self.place
        if place is None:
            return _ties(self.table, people, self.asked)
        return lambda rows: place[people[rows]]

    def counts(self, level: Cells, rows: Cells) -> Counts:
        """Count some of them by group and a level of theirs, on the mapping's own domain."""
        own = self.mapping.counts
        d, nothing = own.groups.cells[self.group[rows]], np.zeros(len(rows), dtype=np.int64)
        return replace(Counts.of(own.domain, d, nothing, level[rows], self.weight[rows]), elsewhere=True)

    def releases(self, mapping: Mapping, score: Numbers, rows: Cells) -> tuple[GroupRelease, ...]:
        """Return what a mapping makes of every group's scores, which are those of some people."""
        counts, kernel, size = mapping.counts, mapping.kernel, len(self.scale)
        source, (_, to) = kernel.rows, counts.domain.split_xy(kernel.targets)
        groups = self.mapping.counts.groups.cells
        place = np.searchsorted(groups, counts.d[source])
        table = np.zeros((len(groups), size, size))
        table[place, counts.y[source], to] = kernel.probability
        found = []
        for at in range(len(groups)):
            of = rows[self.group[rows] == at]
            # What is drawn is drawn anew; what rows hold is held against what those of the fitted people do.
            ties = None if self.asked.drawn and self.place is None else self.ties(of)
            found.append(GroupRelease.of(self.scale, score[of], self.weight[of], table[at], ties))
        return tuple(found)

    def released(self, releases: Sequence[GroupRelease], score: Numbers, rows: Cells) -> Cells:
        """Return the level that the scores of some of them are released as."""
        return all_released(releases, self.scale, score[rows], self.group[rows], self.ties(rows))


def _released_out_of_fold(every: _Everybody, fold: Cells, score: Numbers, by_fold: Numbers) -> Cells:
    """Return everybody's released level by a clone, and a mapping, that were fitted on the other parts of the table."""
    found = np.zeros(len(fold), dtype=np.int64)
    # What stops a mapping of all need not stop one of four parts in five: rates are what is compared here.
    problem = replace(every.mapping.problem, budget=None)
    for part, among in zip(np.unique(fold), by_fold, strict=True):
        others, mine = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        partial = optimal(problem, every.counts(every.scale.level(among), others), Clock(), silent)
        found[mine] = every.released(every.releases(partial, among, others), score, mine)
    return found


@dataclass(frozen=True, eq=False)
class _Found:
    """What was found, out of fold or of the fitted people: each person's score, and the level it was released as.

    Out of fold all folds are compared together. What a sample's own accidents do to a mapping is right on average over
    its parts, so that this shows what a model or a crowd does, and not what chance does to new people: that is
    ``chance``.
    """

    every: _Everybody
    score: Numbers
    level: Cells

    @cached_property
    def parity(self) -> ParityAchieved:
        """What the statement measures of them."""
        counts = self.every.counts(self.level, np.arange(len(self.level)))
        return parity_achieved(comparisons(self.every.parity, counts), counts, unchanged(counts))

    @property
    def selected(self) -> tuple[Flags, Flags]:
        """Who is selected by their score, and who by the level that it was released as."""
        # Without a threshold the class of the larger score is chosen, and of two equal ones the first.
        threshold = np.nextafter(0.5, 1) if self.every.asked.threshold is None else self.every.asked.threshold
        return self.score >= threshold, self.every.scale.value[self.level] >= threshold

    @property
    def table(self) -> Any:
        """One row per group: people, share selected before and after, mean score, how far apart at the worst."""
        counts, value = self.every.mapping.counts, self.every.scale.value[self.level]
        before, after = self.selected
        labels = [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]
        who = {name: [label[name] for label in labels] for name in counts.domain.d.names}
        both = np.column_stack([value, after, before])
        means = by_group(self.every.group, self.every.weight, both, len(labels))
        columns = {
            "people": counts.group_weight,
            "before": means[:, 2],
            "mean_score": means[:, 0],
            "selected": means[:, 1],
            "apart": worst_by_group(self.parity.compared, self.parity.value, np.maximum, 0.0),
            "up_to": worst_by_group(self.parity.compared, self.up_to, np.maximum, 0.0),
            "bound": worst_by_group(self.parity.compared, self.parity.compared.bound, np.minimum, np.inf),
        }
        return frame(who | {unused(name, tuple(who)): values for name, values in columns.items()})

    def moved(self, by: Numbers, *, further: bool) -> Numbers:
        """Return every distance with its two rates moved, together by so much, ``further`` apart or to each other."""
        part, half = self.parity, by / 2
        away = np.where(part.rate >= part.other, half, -half) * (1 if further else -1)
        middle = (part.rate + part.other) / 2
        own, other = np.clip(part.rate + away, 0, 1), np.clip(part.other - away, 0, 1)
        if not further:
            # Rates that so much brought apart meet, and do not change places.
            met = np.sign(own - other) != np.sign(part.rate - part.other)
            own, other = np.where(met, middle, own), np.where(met, middle, other)
        compared = part.compared
        return np.asarray(compared.bound + compared.parity.distance.excess(own, other, compared.bound))

    @property
    def up_to(self) -> Numbers:
        """Every distance as large as chance may make it in one case of twenty."""
        return self.moved(self.chance, further=True)

    def exceeds(self, by: Numbers) -> bool:
        """Whether selection rates are further beyond the bound than so much explains."""
        return bool(np.any(self.moved(by, further=False) > self.parity.compared.bound + AT_BOUND))

    @property
    def chance(self) -> Numbers:
        """What the rates of two samples of these sizes differ by at some threshold, in one case of twenty."""
        compared, counts = self.parity.compared, self.parity.compared.counts
        weight, squares = (
            np.array([each[population.member].sum() for population in compared.populations])
            for each in (counts.weight, counts.cell_squares)
        )
        # Of people of unequal weights as many count as say as much with equal ones.
        one = squares / weight**2
        return np.asarray(CHANCE * np.sqrt(one[compared.population] + one[compared.against]))

    def largest_crowd(self, apart: _Found) -> tuple[int, float]:
        """Return the group, and the share of it, of the largest crowd at the threshold that is furthest beyond.

        A crowd are people of one group and score whose rows are equal. ``apart`` is what would be found if these were
        told apart: of a crowd at the threshold some would then be selected and others not.
        """
        every, compared, worst = self.every, self.parity.compared, self.parity.worst
        place = compared.counts.groups.of_source
        sides = [compared.populations[int(side[worst])].member for side in (compared.population, compared.against)]
        selected = apart.level >= compared.event[worst]
        together = np.column_stack([every.group, self.score, every.content])
        kinds, kind = np.unique(together, axis=0, return_inverse=True)
        group, kind = kinds[:, 0].astype(int), kind.ravel()
        weight, above = (sums(kind, each, len(kinds)) for each in (every.weight, every.weight * selected))
        divided = (above > 0) & (above < weight) & np.isin(group, np.unique(np.concatenate([place[m] for m in sides])))
        share = np.where(divided, weight / every.mapping.counts.group_weight[group], 0.0)
        largest = int(np.argmax(share))
        return int(group[largest]), float(share[largest])

    @property
    def persons(self) -> Numbers:
        """Return the largest weight of one person in each group."""
        found = np.zeros(len(self.every.mapping.counts.groups.cells))
        np.maximum.at(found, self.every.group, self.every.weight)
        return found

    def shares(self, weight: Numbers) -> Numbers:
        """Return what two rates move by, together, where so much of each of their groups moves over a threshold."""
        compared = self.parity.compared
        counts, place = compared.counts, compared.counts.groups.of_source
        each = [np.unique(place[population.member]) for population in compared.populations]
        share = np.array([weight[groups].sum() / counts.group_weight[groups].sum() for groups in each])
        return np.asarray(share[compared.population] + share[compared.against])


def _of_fitted(every: _Everybody, among: Numbers, score: Numbers) -> _Found:
    """Return what is released of the fitted people's scores, which are placed ``among`` others of theirs."""
    everybody = np.arange(len(score))
    return _Found(every, score, every.released(every.releases(every.mapping, among, everybody), score, everybody))


def _warn_of_crowds(found: _Found, among: Numbers) -> bool:
    """Warn where the fitted people exceed the bound, and would not if equal ones were told apart; say whether.

    Between two levels there is one person in each group at most who is divided, and whom rounding puts into either.
    """
    every, rounded = found.every, found.shares(found.persons)
    if every.asked.drawn or not found.exceeds(rounded):
        return False
    apart = _of_fitted(every.told_apart, among, found.score)
    if apart.exceeds(rounded):
        return False
    counts, (group, share) = every.mapping.counts, found.largest_crowd(apart)
    who = in_words(counts.domain.d.labels(int(counts.groups.cells[group])))
    warn(
        f"people who share a score are released alike where nothing tells them apart, the largest such crowd is "
        f"{share:.1%} of {who}, and it cannot be split between two levels: selection rates{_at(every.asked)} of the "
        f'fitted people exceed the bound by {found.parity.violation:.3f}; predict_with="draw" splits it by a draw',
    )
    return True


def _warn_of_excess(found: _Found) -> bool:
    """Warn where selection rates out of fold exceed the bound by more than one person in each group; say whether."""
    exceeds = found.exceeds(found.shares(found.persons))
    if exceeds:
        part, asked = found.parity, found.every.asked
        worst = part.worst
        warn(
            f"the bound is not reached: out of fold, selection rates{_at(asked)} of the fitted people differ by "
            f"{part.value[worst]:.3f}, and the bound is {part.compared.bound[worst]:.3f}; of new people they may "
            f"differ by up to {found.up_to.max():.3f} (up_to in parity_). Fit on more people, or state a larger bound",
        )
    return exceeds


def _warn_of_other_scores(found: _Found) -> None:
    """Warn where the estimator's own scores of the fitted people exceed the bound, which those out of fold keep."""
    if found.exceeds(found.shares(found.persons) + NEAR):
        warn(
            f"selection rates{_at(found.every.asked)} of the fitted people exceed the bound by "
            f"{found.parity.violation:.3f}: the estimator's scores of people whom it was trained on are not those out "
            f"of fold, which are bounded; compare people whom it was not trained on, as parity_ does, or let it fit "
            f"less closely",
        )


def _warn_of_losses(found: _Found, people: People) -> None:
    """Warn of people who lose the favourable decision; where nobody said which it is, of who goes which way."""
    every, counts, asked = found.every, found.every.mapping.counts, found.every.asked
    names, size = group_names(counts), len(counts.groups.cells)
    before, after = found.selected
    classes = people.classes.tolist()
    good, bad = (f"{people.outcome_name}={classes[c]}" for c in (asked.favourable, 1 - asked.favourable))
    everybody, where = counts.unit.write(counts.weight.sum()), f"{_at(asked)}, out of fold"

    def how_many(those: Flags) -> tuple[str, str] | None:
        moved = sums(every.group, every.weight * those, size)
        if moved.sum() / counts.weight.sum() * counts.people < SOMEBODY:
            return None
        by_group = (f"{names[g]}: {expected_people(moved[g])}" for g in np.argsort(-moved, kind="stable") if moved[g])
        return f"{expected_people(moved.sum())} of {everybody}", some_of(by_group, most=6)

    lost, won = how_many(before & ~after), how_many(after & ~before)
    if asked.stated and lost is not None:
        rule = {"bound": FOUR_FIFTHS, "distance": Made("FourFifths", {"favourable": classes[asked.favourable]})}
        warn(
            f"levelled down: {lost[0]} are no longer predicted to have {good}{where} ({lost[1]}). A larger bound "
            "changes fewer. With ",
            Option("bound", Made("PairwiseParity", rule)),
            ", which bounds mean scores, training outcomes change towards it alone",
        )
    elif not asked.stated:
        ways = [(lost, good, bad), (won, bad, good)]
        said = [f"{who[0]} are predicted {b} and not {a}{where} ({who[1]})" for who, a, b in ways if who is not None]
        if said:
            warn("; ".join(said), ". Say which outcome is good for a person: ", Option("favourable"))


def _at(asked: Decisions) -> str:
    return "" if asked.threshold is None else f" at the threshold {asked.threshold:g}"
