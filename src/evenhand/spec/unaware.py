"""Models that do not see D, out of fold: propensities Pr(D = d | x), and the scores of a learner.

Plain arrays. A learner is scikit-learn's boosted trees; nobody is scored by a model that was trained on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, dealt, sums

FOLDS = 5
SEED = 34
"""Folds are the same whenever the people are."""

MANY = 50
"""Of a combination of features with so many people each, the table's own counts say what a classifier would."""

MOST_CATEGORIES = 254
"""More words of a column are not told apart, those of fewest people first: boosted trees take no more."""

LEARNER = "HistGradientBoostingClassifier (scikit-learn)"

Scoring = Callable[[Numbers], Numbers]
"""Gives rows of features a probability for each class."""


@dataclass(frozen=True, eq=False)
class People:
    """Kinds of people as a model without D sees them.

    Attributes
    ----------
    columns : array
        One row per kind, one column per feature; NaN is missing.
    names : tuple of str
        The features.
    categorical : tuple of bool
        Which of them are numbers that stand for words.
    group, source : array
        Among the groups and sources of the counts.
    weight, people : array
        How much each kind weighs, and how many people it is.
    number : array
        What the features hold: those of one number have equal ones.
    fold : array
        In which fold each is scored; :meth:`in_folds` deals them.
    """

    columns: Numbers
    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    group: Cells
    source: Cells
    weight: Numbers
    people: Numbers
    number: Any
    fold: Cells = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def in_folds(self) -> People:
        """Deal the people to folds.

        Of features that many people have, these are dealt to all folds: a model that has not seen anybody like them
        would have to guess. All others with equal features, who may be one person twice, are in one fold.
        """
        of_x = np.unique(self.number, return_inverse=True)[1].ravel()
        common = sums(of_x, self.people)[of_x] >= MANY
        rare, often = np.flatnonzero(~common), np.flatnonzero(common)
        rows, folds, share = [rare], [folds_of(self.number[rare])], [np.ones(len(rare))]
        if len(often):
            whole = self.people[often].astype(np.int64)
            for fold, held in enumerate(dealt(whole, FOLDS, SEED)):
                rows.append(often[held > 0])
                folds.append(np.full(int((held > 0).sum()), fold))
                share.append((held / whole)[held > 0])
        at, part = np.concatenate(rows), np.concatenate(share)
        return replace(
            self,
            columns=self.columns[at],
            group=self.group[at],
            source=self.source[at],
            weight=self.weight[at] * part,
            people=self.people[at] * part,
            number=self.number[at],
            fold=np.concatenate(folds),
        )

    @property
    def making(self) -> Flags:
        """Whose scores a correction is made from; it is judged on the others."""
        return self.fold < FOLDS // 2 + 1


def folds_of(number: Any) -> Cells:
    """Return the fold of people with rare features, by what these hold."""
    return np.asarray(number % np.uint64(FOLDS)).astype(np.int64)


def models(people: People, shares: Numbers, columns: Cells | None = None) -> list[Scoring] | None:
    """Return for each fold a model of classes, each with its share in every kind, that saw all other folds.

    None where scikit-learn is not there.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        return None
    chosen = np.arange(len(people.names)) if columns is None else columns
    kind, label = np.nonzero(shares)
    weight = shares[kind, label] * people.weight[kind]
    categorical = np.array(people.categorical, dtype=bool)[chosen]
    found: list[Scoring] = []
    for fold in range(FOLDS):
        kept = people.fold[kind] != fold
        learner = HistGradientBoostingClassifier(
            categorical_features=categorical if categorical.any() else None, early_stopping=False, random_state=0
        )
        found.append(
            _trained(learner, people.columns[np.ix_(kind[kept], chosen)], label[kept], weight[kept], shares.shape[1])
        )
    return found


def _trained(learner: Any, rows: Numbers, label: Cells, weight: Numbers, classes: int) -> Scoring:
    there = np.unique(label)
    if len(there) < 2:
        return lambda given: np.tile(np.eye(classes)[there].sum(axis=0), (len(given), 1))
    learner.fit(rows, label, sample_weight=weight)

    def scored(given: Numbers) -> Numbers:
        found = np.zeros((len(given), classes))
        found[:, learner.classes_] = learner.predict_proba(given)
        return found

    return scored


def out_of_fold(people: People, shares: Numbers, columns: Cells | None = None) -> Numbers | None:
    """Return the probabilities of classes for every kind, by a model that did not see them; None without a learner."""
    found = models(people, shares, columns)
    if found is None:
        return None
    chosen = np.arange(len(people.names)) if columns is None else columns
    return by_fold(found, people.columns[:, chosen], people.fold, shares.shape[1])


def by_fold(found: list[Scoring], columns: Numbers, fold: Cells, classes: int) -> Numbers:
    """Score each row by the model of its fold."""
    scores = np.zeros((len(columns), classes))
    for number, scored in enumerate(found):
        mine = np.flatnonzero(fold == number)
        if len(mine):
            scores[mine] = scored(columns[mine])
    return scores


def areas(scores: Numbers, group: Cells, weight: Numbers) -> tuple[float, ...]:
    """Return for each group the area under the curve with which its propensities tell it from all others.

    Examples
    --------
    >>> areas(np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.2, 0.8]]), np.array([0, 1, 0, 1]), np.ones(4))
    (0.625, 0.625)
    """
    return tuple(_area(scores[:, g], group == g, weight) for g in range(scores.shape[1]))


def _area(score: Numbers, own: Flags, weight: Numbers) -> float:
    place = np.unique(np.round(score, 12), return_inverse=True)[1].ravel()
    mine, others = sums(place, weight * own), sums(place, weight * ~own, int(place.max()) + 1)
    below = np.cumsum(others) - others
    total = mine.sum() * others.sum()
    return float(mine @ (below + others / 2) / total) if total else 0.5


TELLS = 0.95
"""A feature that predicts a group with such an area under the curve stands for it."""


def tellers(people: People, groups: int) -> list[tuple[str, float]]:
    """Return the features that alone predict some group almost surely, out of fold, each with its largest area."""
    found = []
    for place, name in enumerate(people.names):
        scores = out_of_fold(people, np.eye(groups)[people.group], np.array([place]))
        if scores is not None and (area := max(areas(scores, people.group, people.weight))) >= TELLS:
            found.append((name, area))
    return found
