"""Searches that respect a bound: what a grid search keeps of each group, and the best candidate that is within.

Knows scikit-learn's searches, scores and groups; nothing of mappings: any classifier can be searched so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import in_words
from evenhand.errors import DataError, EvenhandError, InfeasibleError, MissingExtraError, SpecError, warn
from evenhand.findings.scores import apart, by_group
from evenhand.tables import arrays, read
from evenhand.tables.columns import encode, refuse_missing
from evenhand.use.estimator.conventions import Features, about, classes_of
from evenhand.use.estimator.once import SEARCHING, Telling
from evenhand.use.oneline import EXCEEDED
from evenhand.use.scoring import probabilities
from evenhand.use.training import NEEDED, last_step

try:
    from sklearn.metrics import get_scorer
    from sklearn.utils.metadata_routing import get_routing_for_object
except ImportError:
    raise MissingExtraError(NEEDED) from None

Of = Literal["mean_score", "selected"]
OF = ("mean_score", "selected")
Otherwise = Literal["error", "nearest"]
OTHERWISE = ("error", "nearest")

SCORE = "score"
"""What the search's own score is called, so that its mean is ``mean_test_score`` as in any search."""

NAMED = re.compile(
    r"split(?P<split>\d+)_test_(?P<what>people|mean_score|selected)(?:\[(?P<class>.*?)\])? of (?P<group>.*)"
)
"""How groups are named in the results of a search."""

MISSING_GROUP = ("drop those rows, or, where people without a value are to be a group, fill in a value of their own",)
"""What to do about people whose group is not known."""


class Kept(dict[str, float]):
    """What a search keeps of one fold: NaN for whatever that fold does not tell, so that folds can be put together."""

    def __missing__(self, key: str) -> float:
        return math.nan


@dataclass(frozen=True, eq=False)
class ParityScoring:
    """What a search is to keep of every candidate and fold. Made by :func:`evenhand.parity_scoring`."""

    protected: tuple[str, ...]
    groups: Mapping[tuple[Any, ...], str]
    score: Any
    classes: Any = None
    """The values of y, where they are known."""
    telling: Telling = field(default_factory=Telling)
    """What was told, so that every fold and candidate does not tell it again."""

    def __call__(self, estimator: Any, X: Any, y: Any, **metadata: Any) -> dict[str, float]:
        """Score a fitted classifier on people whom it was not trained on; NaN, with a warning, what cannot be."""
        try:
            group, scores, classes = self._scored(estimator, X)
        except EvenhandError as error:
            # What a scorer raises a search forgets; what it returns must have the same names in every fold.
            self._tell(f"a candidate is not scored: {error}")
            return self._kept(math.nan, np.zeros(0, dtype=np.int64), np.zeros((0, 2)), np.arange(2))
        try:
            score = float(self.score(estimator, X, y, **metadata))
        except Exception as error:  # whatever a measure has against a fold it says in its own way
            there = np.unique(np.asarray(y))
            lack = f" (all of its people have y={there[0]})" if len(there) == 1 else ""
            self._tell(f"the score of a fold is not defined{lack}: {next(iter(str(error).splitlines()), error)}")
            score = math.nan
        return self._kept(score, group, scores, classes)

    def get_metadata_routing(self) -> Any:
        """Return what the score requests, so that a search passes it on, or refuses what nobody says anything of."""
        return get_routing_for_object(self.score)

    def _scored(self, estimator: Any, X: Any) -> tuple[Cells, Numbers, Any]:
        """Return everybody's group, and their scores of every class."""
        if not hasattr(estimator, "predict_proba"):
            raise SpecError(
                f"{type(last_step(estimator)).__name__} has no predict_proba, and parity is that of mean scores; "
                f"put it into sklearn.calibration.CalibratedClassifierCV, or choose one that has them"
            )
        group, classes = self._group(X), np.asarray(estimator.classes_)
        if self.classes is None:
            return group, np.asarray(estimator.predict_proba(X), dtype=float), classes
        new = [each for each in classes.tolist() if each not in self.classes.tolist()]
        if new:
            raise DataError(f"it was trained on y={new[0]!r}, which the y given to parity_scoring lacks")
        return group, probabilities(estimator, X, self.classes), self.classes

    def _kept(self, score: float, group: Cells, scores: Numbers, classes: Any) -> dict[str, float]:
        """Return the score, and of each group its people, mean scores and shares selected, by their names."""
        words, each = list(self.groups.values()), np.ones(len(group))
        chosen = np.eye(len(classes))[np.argmax(scores, axis=1)]
        found = Kept({SCORE: score})
        found |= {f"people of {word}": float(np.sum(group == place)) for place, word in enumerate(words)}
        # Of two classes, one tells the other.
        shown = [len(classes) - 1] if len(classes) == 2 else list(range(len(classes)))
        for what, values in (("mean_score", scores), ("selected", chosen)):
            means = by_group(group, each, values, len(words))
            for at in shown:
                named = "" if len(classes) == 2 else f"[{classes[at]}]"
                found |= {f"{what}{named} of {word}": float(means[place, at]) for place, word in enumerate(words)}
        return found

    def _tell(self, message: str) -> None:
        self.telling.tell_once((message,), message)

    def _group(self, X: Any) -> Cells:
        places = {values: place for place, values in enumerate(self.groups)}
        rows = _rows(X, self.protected)
        for row, values in enumerate(rows):
            if values not in places:
                words = in_words(dict(zip(self.protected, values, strict=True)))
                raise DataError(
                    f"row {row + 1} of X is of a group, {words}, that the table given to parity_scoring lacks; make "
                    f"the scoring from the whole table that is searched"
                )
        return np.array([places[values] for values in rows], dtype=np.int64)


def parity_scoring(
    X: Any, protected: Sequence[str], *, score: str | Callable[..., float] = "roc_auc", y: Any = None
) -> ParityScoring:
    """Return what a grid search keeps of every candidate, so that :func:`best_within` can choose by it.

    Parameters
    ----------
    X : dataframe or array
        The table that is searched, of which the groups are read; columns of an array are '0', '1' and so on.
    protected : sequence of str
        The columns whose values together are the groups; candidates need not read them.
    score : str or callable
        What is to be large, as scikit-learn's ``scoring``; ``cv_results_["mean_test_score"]`` has it. Where it is not
        defined, as an AUC is not in a fold with one class, it is NaN, and :func:`best_within` goes by the other folds.
        With metadata routing, a scorer gets the weights that it requests; of groups, each person counts once.
    y : sequence, optional
        The outcomes of the table, of which the classes are read: for more than two, of which a fold may lack one.

    Returns
    -------
    ParityScoring
        For ``GridSearchCV(..., scoring=...)`` and every search like it, and for ``cross_validate``. Of each fold it has
        the score, and of each group the number of people, their mean score and the share for whom each class is the
        predicted one: of the last class, or of each where there are more than two.

    Examples
    --------
    >>> import evenhand as eh
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV, StratifiedKFold
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> people = eh.datasets.load("compas").frame
    >>> X, y = people.drop(columns="is_recid"), people["is_recid"]
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> search = GridSearchCV(
    ...     eh.PreprocessedClassifier(model, protected=["race"], bound=0.1), {"bound": [0.05, 0.3]},
    ...     scoring=eh.parity_scoring(X, ["race"]), refit=eh.best_within(0.15),
    ...     cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ... ).fit(X, y)
    >>> search.best_params_
    {'bound': 0.05}
    """
    names = check.columns("protected", protected)
    if not names or len(set(names)) < len(names):
        raise SpecError(f"protected must name at least one column of X, and each once, not {list(names)}")
    with about("X"):
        rows = sorted(set(_rows(X, names)), key=lambda values: tuple((type(v).__name__, v) for v in values))
    if len(rows) < 2:
        raise DataError(f"X has a single group by {list(names)}; parity is between at least two")
    if not callable(score):
        check.text("score", score)
    with about("score"):
        scorer = get_scorer(score)
    classes = None if y is None else classes_of(y)
    return ParityScoring(names, {row: in_words(dict(zip(names, row, strict=True))) for row in rows}, scorer, classes)


def _rows(X: Any, protected: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the group of each row, as values of the protected columns."""
    given = Features.of(X if arrays.is_frame(X) else np.asarray(X), protected, protected)
    there = arrays.names(given.frame)
    lacking = [name for name in protected if name not in there]
    if lacking:
        raise DataError(
            f"X has n_features={len(there)} columns and lacks {lacking}, which protected names; the columns of an "
            f"array are '0', '1' and so on"
        )
    table = read(arrays.select(given.frame, list(protected)))
    for name in protected:
        refuse_missing(encode(table[name]), *MISSING_GROUP)
    columns = [arrays.numbers(arrays.split(given.frame, name)[1]).tolist() for name in protected]
    return list(zip(*columns, strict=True))


@dataclass(frozen=True)
class BestWithin:
    """Chooses the candidate of a search that scores best among those within a bound. Made by :func:`best_within`."""

    bound: float
    of: Of
    otherwise: Otherwise

    def __call__(self, cv_results: Mapping[str, Any]) -> int:
        """Return the place of the best candidate within the bound."""
        found = self.apart(cv_results)
        score = _score(cv_results)
        known = np.isfinite(score) & np.isfinite(found)
        if not known.any():
            raise DataError(
                "no candidate of this search was fitted and scored in every fold; see the warnings before this. Folds "
                "that have every class, such as those of sklearn.model_selection.StratifiedKFold, may help, and with "
                "more than two classes eh.parity_scoring(..., y=y)"
            )
        within = known & (found <= self.bound + EXCEEDED)
        if within.any():
            # Of equal scores, the one that is less far apart.
            return int(np.lexsort((found, -np.where(within, score, -np.inf)))[0])
        nearest = int(np.argmin(np.where(known, found, np.inf)))
        message = (
            f"none of {len(score)} candidates is within the bound of {self.bound:g} out of fold: the nearest, "
            f"{cv_results['params'][nearest]}, is {found[nearest]:.4g} apart, and its score is {score[nearest]:.4g}"
        )
        if self.otherwise == "error":
            raise InfeasibleError(
                f'{message}; search among tighter bounds, or write otherwise="nearest" to take it all the same',
                smallest_parity_bound=float(found[nearest]),
            )
        warn(f"{message}; it is taken", SEARCHING)
        return nearest

    def apart(self, cv_results: Mapping[str, Any]) -> Numbers:
        """Return how far apart groups are with each candidate: of all folds together, each person counted once."""
        kept = {match.groups(): np.asarray(cv_results[key]) for key in cv_results if (match := NAMED.fullmatch(key))}
        totals: dict[tuple[str, str | None], Numbers] = {}
        people: dict[str, Numbers] = {}
        for (split, what, named, group), found in kept.items():
            if what == "people":
                people[group] = people.get(group, 0.0) + found
            elif what == self.of:
                number = kept[split, "people", None, group]
                # A fold without anybody of a group says nothing of it.
                totals[group, named] = totals.get((group, named), 0.0) + number * np.where(number > 0, found, 0.0)
        if not totals:
            raise SpecError(
                "these are no results of a search with groups; write scoring=eh.parity_scoring(X, protected) as well"
            )
        classes = list(dict.fromkeys(named for _, named in totals))
        means = np.array([[_mean(totals[group, named], people[group]) for named in classes] for group in people])
        if len(classes) == 1:
            means = np.concatenate([1 - means, means], axis=1)
        if self.of == "selected":
            return np.asarray(np.ptp(means, axis=0).max(axis=0))
        return np.array([_apart(means[:, :, place]) for place in range(means.shape[2])])


def _score(cv_results: Mapping[str, Any]) -> Numbers:
    """Return the mean score of each candidate, over folds in which it is defined for one of them at least."""
    splits = [key for key in cv_results if re.fullmatch(rf"split\d+_test_{SCORE}", key)]
    if not splits:
        return np.asarray(cv_results.get(f"mean_test_{SCORE}", ()), dtype=float)
    each = np.array([cv_results[key] for key in splits], dtype=float)
    defined = np.isfinite(each).any(axis=1)
    if not defined.all():
        warn(
            f"in {np.sum(~defined)} of {len(each)} folds no candidate has a score, since a fold lacks a class or every "
            f"fit failed there: candidates are compared by their scores in the others",
            SEARCHING,
        )
    return np.asarray(each[defined].mean(axis=0)) if defined.any() else np.full(each.shape[1], np.nan)


def _mean(total: Numbers, people: Numbers) -> Numbers:
    """Return the mean of each candidate; NaN where nobody was scored, as where fits fail."""
    return np.asarray(np.divide(total, people, out=np.full(np.shape(people), np.nan), where=people > 0))


def _apart(means: Numbers) -> float:
    return float(apart(means).max()) if np.all(np.isfinite(means)) else float("nan")


def best_within(bound: float, *, of: Of = "mean_score", otherwise: Otherwise = "error") -> BestWithin:
    """Return what chooses the best candidate of a search among those within a bound: ``GridSearchCV(..., refit=...)``.

    Parameters
    ----------
    bound : float
        How far apart groups may be, of people whom candidates were not trained on, all folds taken together.
    of : {"mean_score", "selected"}
        What is compared: mean scores, as the largest ratio of two groups' less one, for any class; or the shares for
        whom a class is the predicted one, as their largest difference.
    otherwise : {"error", "nearest"}
        What to do where no candidate is within: an :class:`InfeasibleError` that says how near the nearest is, or that
        candidate, with a warning.

    Returns
    -------
    BestWithin
        With ``apart(search.cv_results_)``, one number per candidate.

    Notes
    -----
    It is used with :func:`parity_scoring`, where there is an example. A candidate is chosen because it is within on
    these very people, so that others are further apart on average, the more so the more candidates there are.
    """
    check.one_of("of", of, OF)
    check.one_of("otherwise", otherwise, OTHERWISE)
    return BestWithin(check.bound("bound", bound), of, otherwise)
