"""What a model that learns the released data will score: predicted by eqs. (8) and (9), and measured on one fitted.

Knows the kernel, the counts and tables; nothing of how the kernel was found, and of models only fit and predict_proba.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from evenhand import check, tables
from evenhand.arrays import Cells, Flags, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, among
from evenhand.errors import DataError, Option, SpecError, warn
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.kernel import Kernel, project, unchanged
from evenhand.kernel.achieved import group_rates
from evenhand.kernel.strangers import Policy
from evenhand.spec import Problem
from evenhand.tables.transforming import Missing, Unseen, domain_with
from evenhand.tolerances import TREATED_ALIKE, WHOLE_PEOPLE

if TYPE_CHECKING:
    import pandas as pd

WEIGHT = "sample_weight"
"""What scikit-learn calls the weights of rows."""

EXPANDED = "the expanded table"
"""What models learn from where there is no released file."""

ENOUGH = 20
"""People of a group by whom those who share some of their features are judged."""


def _released(counts: Counts, kernel: Kernel) -> tuple[Cells, Numbers]:
    """Return the released x̂, and p(d, x̂, ŷ) over groups, these and outcomes."""
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    features, place = np.unique(to_x, return_inverse=True)
    groups = counts.groups
    shape = (len(groups.cells), len(features), counts.domain.y.size)
    key = np.ravel_multi_index((groups.of_source[kernel.rows], place, to_y), shape)
    mass = counts.probability[kernel.rows] * kernel.probability
    return features, sums(key, mass, int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True, eq=False)
class Learned:
    """The table p(ŷ | x̂, d) that a release shows, in plain arrays.

    Attributes
    ----------
    features : array
        The released x̂, ascending.
    mass : array
        p(d, x̂): one row per group, one column per x̂.
    shares : array
        p(ŷ | x̂, d) over groups, x̂ and outcomes. Where a group is never released at x̂ it is everybody's p(ŷ|x̂). One more
        row is for people of no known group, p(ŷ|x̂), and one more column for an x̂ that nobody is released at, p(ŷ).
    typical : Prefixes or None
        What is known of people of a group that is never released at their x̂; None where they have everybody's shares.
    """

    features: Cells
    mass: Numbers
    shares: Numbers
    typical: Prefixes | None = None

    def at(self, group: Cells, x: Cells) -> Numbers:
        """Return the shares for given groups and any x̂, -1 for none of either."""
        found, place = positions(self.features, x)
        shares = np.asarray(self.shares[group, np.where(found, place, -1)])
        if self.typical is not None:
            # Where everybody is taken together, whose group is not known is one of them.
            row = group if len(self.typical.released) > 1 else np.zeros_like(group)
            new = np.flatnonzero((row >= 0) & (x >= 0) & ~(found & self.typical.released[row, place]))
            shares[new] = self.typical.at(row[new], x[new])
        return shares


@dataclass(frozen=True, eq=False)
class Prefix:
    """p(ŷ | d, the first features of x̂), where enough people of the group are released there.

    Attributes
    ----------
    width : int
        Cells of X that share those features: x̂ // width numbers them.
    size : int
        How many such numbers there are.
    keys, shares : array
        Group × size + number, ascending, and the shares of the outcomes there.
    """

    width: int
    size: int
    keys: Cells
    shares: Numbers


@dataclass(frozen=True, eq=False)
class Prefixes:
    """The same for ever fewer features; by none at last, where every group is known.

    Attributes
    ----------
    released : array of bool
        Whether each group, or everybody taken together, is ever released at each x̂.
    steps : tuple of Prefix
        Most features first.
    """

    released: Flags
    steps: tuple[Prefix, ...]

    def at(self, group: Cells, x: Cells) -> Numbers:
        """Return the shares of those who have the longest prefix in common with each person."""
        shares = np.empty((len(x), self.steps[-1].shares.shape[1]))
        left = np.arange(len(x))
        for step in self.steps:
            there, at = positions(step.keys, group[left] * step.size + x[left] // step.width)
            shares[left[there]] = step.shares[at[there]]
            left = left[~there]
        return shares


def learned(counts: Counts, kernel: Kernel, *, protected: bool, policy: Policy = "keep", reads: str = "dxy") -> Learned:
    """Return p(ŷ | x̂, d), or without ``protected`` the table p(ŷ|x̂), which is the same for every group.

    With the policy ``typical``, people whose (x̂, d) is never released have the shares of those of their group (of
    everybody, where the mapping ``reads`` no group) who have the longest prefix of their features in common that
    enough people have.
    """
    features, joint = _released(counts, kernel)
    typical = None
    if policy == "typical" and (protected or "d" not in reads):
        by_group = joint if protected else joint.sum(axis=0, keepdims=True)
        people = _released(counts.unweighted, kernel)[1].sum(axis=2) * counts.people
        people = people if protected else people.sum(axis=0, keepdims=True)
        typical = Prefixes(by_group.sum(axis=2) > 0, tuple(_prefixes(counts, features, by_group, people)))
    everybody = joint.sum(axis=0)
    pooled = everybody / everybody.sum(axis=1, keepdims=True)
    mass = joint.sum(axis=2)
    seen = (mass > 0) & protected
    total = np.where(seen, mass, 1.0)[:, :, None]
    own = np.where(seen[:, :, None], joint / total, pooled)
    rows = np.concatenate([own, pooled[None]])
    rest = np.broadcast_to(everybody.sum(axis=0), (len(rows), 1, rows.shape[2]))
    return Learned(features, mass, np.concatenate([rows, rest], axis=1), typical)


def _prefixes(counts: Counts, features: Cells, joint: Numbers, people: Numbers) -> Iterator[Prefix]:
    """Yield what is known of people by ever fewer features, given p(d, x̂, ŷ) and the expected people at each (d, x̂).

    By none at last, however few they are.
    """
    outcomes, width = joint.shape[2], 1
    sizes = [len(variable) for variable in counts.domain.x.variables]
    for place in reversed(range(len(sizes))):
        width *= sizes[place]
        size = counts.domain.x.size // width
        group, at, outcome = np.nonzero(joint)
        keys, inverse = np.unique(group * size + features[at] // width, return_inverse=True)
        mass = sums(inverse.ravel() * outcomes + outcome, joint[group, at, outcome], len(keys) * outcomes)
        mass = mass.reshape(-1, outcomes)
        there = mass.sum(axis=1)
        who, where = np.nonzero(people)
        number = sums(np.searchsorted(keys, who * size + features[where] // width), people[who, where], len(keys))
        # Expected numbers are whole but for rounding where nobody moves.
        enough = (number >= ENOUGH - WHOLE_PEOPLE) | (place == 0)
        yield Prefix(width, size, keys[enough], mass[enough] / there[enough, None])


def scores_before_outcome(problem: Problem, counts: Counts, kernel: Kernel, table: Learned) -> Numbers:
    """Return Σ over x̂ of p(x̂|d,x) p(ŷ|x̂,d): one row per row of apply mode's kernel, one column per outcome."""
    before = among(problem.reads, "dx")
    reduced, cells = project(kernel, counts, before, "x"), counts.domain.split(before, counts.over(before).cells)
    # The group of each row of the kernel, -1 where none is read.
    group = np.searchsorted(counts.groups.cells, cells["d"]) if "d" in cells else np.full(len(reduced), -1)
    shares = table.at(group[reduced.rows], reduced.targets)
    weighted = reduced.probability[:, None] * shares
    return np.column_stack([sums(reduced.rows, column, len(reduced)) for column in weighted.T])


def likeliest(shares: Numbers) -> Numbers:
    """Return which outcome is the likeliest, row by row; of those that are equally likely each has its part."""
    most = shares >= shares.max(axis=1, keepdims=True) - TREATED_ALIKE
    return np.asarray(most / most.sum(axis=1, keepdims=True))


def predicted_scores(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    protected: bool,
    people: Counts | None = None,
    policy: Policy = "keep",
    decided: bool = False,
    released: Counts | None = None,
) -> Numbers:
    """Return the mean score by group and outcome of a model that learned the released outcome well.

    With ``protected`` the model sees D and learned p(ŷ|x̂, d), eq. (8), whether the mapping sees D or is blind; else it
    learned p(ŷ|x̂), eq. (9). ``people`` are whom it scores, by default those that were fitted: they are transformed in
    apply mode, in which whose (d, x) the fitted table did not have keep it. The ``policy`` is that of :func:`learned`.
    With ``decided`` it is the share of people for whom each outcome is the likeliest at the x̂ that they draw: what such
    a model decides, which no bound covers. With ``released`` it learned from one release, of these counts.
    """
    people = counts if people is None else people
    shown, drawn = (counts, kernel) if released is None else (released, unchanged(released))
    table = learned(shown, drawn, protected=protected, policy=policy, reads=problem.reads)
    axes = among(problem.reads, "dx")
    reduced = project(kernel, counts, axes, "x")
    before = people.people_before_outcome
    d, x = np.divmod(before.cells, people.domain.x.size)
    there, group = positions(shown.groups.cells, d)
    found, row = positions(counts.over(axes).cells, counts.domain.number(axes, {"d": d, "x": x}))
    # Everybody's possible x̂, with its probability: those of their row, or the x that they have.
    moving, staying = np.flatnonzero(found), np.flatnonzero(~found)
    asked, entry = reduced.entries(row[moving])
    who = np.concatenate([moving[asked], staying])
    share = before.probability[who] * np.concatenate([reduced.probability[entry], np.ones(len(staying))])
    shares = table.at(np.where(there, group, -1)[who], np.concatenate([reduced.targets[entry], x[staying]]))
    if decided:
        shares = likeliest(shares)
    of_group = np.searchsorted(people.groups.cells, d)[who]
    totals = np.stack([sums(of_group, share * column, len(people.groups.cells)) for column in shares.T], axis=1)
    return np.asarray(totals / people.groups.probability[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class Predictor:
    """The table p(ŷ | x̂, d) that the release shows, composed with apply mode: a model without any error of fitting.

    Made by :meth:`evenhand.Mapping.predictor`. Its score for a person (d, x) is Σ over x̂ of p(x̂|d,x) p(ŷ|x̂,d), which
    is eq. (8) person by person; nothing is drawn. Over the people of the fitted table

    - its mean score in each group is the released rate p(ŷ|d), to rounding, so every parity bound on the released
      outcome holds for the mean scores;
    - with ``suppress_protected`` the table is p(ŷ|x̂), and the same is true as far as the mapping keeps ŷ independent of
      the group given x̂ (``mapping.achieved.outcome_leak``); apply mode still reads the group;
    - with ``blind`` neither reads the group: the mean over everybody is p(ŷ), while the means by group need not be the
      released rates.

    Decisions at a threshold are bounded by none of this.

    Attributes
    ----------
    classes_ : array
        The outcome's levels, in the order of the columns of :meth:`predict_proba`.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> scores = mapping.predictor.predict_proba(data.frame)[:, 1]
    >>> data.frame.assign(score=scores).groupby(["sex", "race"])["score"].mean().round(4).tolist()
    [0.3934, 0.3672, 0.4039, 0.4039]
    >>> mapping.audit().rates.query("is_recid == 1")["after"].round(4).tolist()
    [0.3934, 0.3672, 0.4039, 0.4039]
    """

    problem: Problem
    counts: Counts
    kernel: Kernel

    @property
    def classes_(self) -> Any:
        """The outcome's levels."""
        return np.asarray(self.counts.domain.outcome.levels)

    @property
    def reads_protected(self) -> bool:
        """Whether the table itself (apart from apply mode) depends on the group."""
        return "d" in self.problem.reads and not self.problem.suppression.redraws

    @cached_property
    def table(self) -> pd.DataFrame:
        """The table as tidy rows in a pandas frame: released features, outcome and ``probability``.

        It has the protected columns where it depends on them.
        """
        domain, table = self.counts.domain, self._learned
        group, place = np.nonzero(table.mass if self.reads_protected else table.mass.sum(axis=0, keepdims=True))
        size = domain.y.size
        shown = tables.labels(domain.d, np.repeat(self.counts.groups.cells[group], size))
        return tables.beside(
            {
                **(shown if self.reads_protected else {}),
                **tables.labels(domain.x, np.repeat(table.features[place], size)),
                **tables.labels(domain.y, np.tile(np.arange(size), len(place))),
            },
            {"probability": table.shares[group, place].ravel()},
        )

    def predict_proba(self, frame: Any, *, unseen: Unseen | None = None, missing: Missing | None = None) -> Numbers:
        """Return each person's expected score of each outcome.

        Parameters
        ----------
        frame : dataframe
            Holds the features, and the protected columns unless the mapping is blind. An outcome is not read.
        unseen : {"typical", "keep", "error"}, optional
            Of people whose (d, x) was not in the fitted table: apply mode keeps them, and their score is p(ŷ|x̂,d) at
            x̂ = x. Where nobody of the group is released there, ``typical`` takes p(ŷ | d, the first features of x),
            of as many features, in the problem's order, as at least 20 people of the group share, or p(ŷ|d) (of
            everybody for a blind mapping; p(ŷ) where D is suppressed); ``keep`` takes everybody's p(ŷ|x), else p(ŷ).
            By default ``typical``.
        missing : {"level", "error"}, optional
            Whether a missing value for which the mapping has no level makes its row one of these, or is refused; by
            default what the problem says.

        Returns
        -------
        array
            One row per person, one column per outcome in the order of ``classes_``.
        """
        check.one_of("unseen", unseen, (None, *get_args(Unseen)))
        asked: Policy = "keep" if unseen == "keep" else "typical"
        group, x, row, known = self._people(domain_with(self.counts.domain, missing), tables.read(frame))
        if not known.all():
            message = (
                f"{int((~known).sum())} of {len(known)} rows have features or a group that were not in the fitted table"
            )
            if unseen == "error":
                otherwise = Option("unseen", asked)
                raise DataError(f"{message}; with ", otherwise, " they are scored at the features they have")
            warn(f"{message}; they are scored at the features they have")
        shares = self._typical if asked == "typical" else self._learned
        return np.where(known[:, None], self._scores[row], shares.at(group, x))

    def predict(self, frame: Any, *, unseen: Unseen | None = None, missing: Missing | None = None) -> Any:
        """Return the likeliest outcome of each person: a decision, which no bound covers."""
        return self.classes_[np.argmax(self.predict_proba(frame, unseen=unseen, missing=missing), axis=1)]

    def __repr__(self) -> str:
        given = "x̂, d" if self.reads_protected else "x̂"
        return f"<Predictor p(ŷ|{given}) of {self.counts.domain.outcome.name!r} after apply mode>"

    @cached_property
    def _learned(self) -> Learned:
        return learned(self.counts, self.kernel, protected=self.reads_protected)

    @cached_property
    def _typical(self) -> Learned:
        given = self.counts, self.kernel
        return learned(*given, protected=self.reads_protected, policy="typical", reads=self.problem.reads)

    @cached_property
    def _scores(self) -> Numbers:
        return scores_before_outcome(self.problem, self.counts, self.kernel, self._learned)

    def _people(self, domain: Domain, table: Any) -> tuple[Cells, Cells, Cells, Any]:
        """Return each person's group and x, -1 for none; the row of apply mode's kernel, and whether there is one."""
        counts, reads = self.counts, among(self.problem.reads, "dx")
        x, new = tables.cells(domain.x, table)
        cells, group, own = {"x": x}, np.full(len(x), -1), np.where(new, -1, x)
        if "d" in reads:
            cells["d"], new_group = tables.cells(domain.d, table)
            there, place = positions(counts.groups.cells, cells["d"])
            group, new = np.where(there & ~new_group, place, -1), new | new_group
        found, row = positions(counts.over(reads).cells, domain.number(reads, cells))
        return group, own, row, found & ~new


def check_model(model: Any) -> None:
    """Refuse a model that cannot be fitted, or says no probabilities; None stands for a table of shares."""
    if isinstance(model, type):
        raise SpecError(f"the model must be one to be fitted, not {check.shown(model)}: write {model.__name__}()")
    if model is not None and not (hasattr(model, "fit") and hasattr(model, "predict_proba")):
        raise SpecError(
            f"a model needs fit and predict_proba, like a scikit-learn classifier; {check.shown(model)} lacks one"
        )


def model_rates(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    train: tuple[Any, Numbers | None],
    new: tuple[Any, Numbers | None],
    model: Any,
    *,
    protected: bool,
) -> pd.DataFrame:
    """Fit a model on a released table, score people in apply mode, and return means and decisions by group.

    ``train`` and ``new`` are tables, each with the weights of its rows, or None where every row counts once.
    """
    (released, learned_by), (applied, counted_by) = ((tables.to_pandas(rows), by) for rows, by in (train, new))
    counts = _allowing_missing(counts)
    if model is None:
        scores = _table_scores(counts, released, learned_by, applied, protected)
    else:
        scores = _model_scores(problem, counts, released, learned_by, applied, model, protected)
    means = _by_group(counts, tables.read(applied), scores, counted_by)
    predicted = predicted_scores(problem, counts, kernel, protected=protected)
    return tables.beside(
        by_group_and_outcome(counts),
        {"released": group_rates(counts, kernel).ravel(), "predicted": predicted.ravel(), **means},
    )


def _model_scores(
    problem: Problem,
    counts: Counts,
    released: Any,
    weight: Numbers | None,
    applied: Any,
    model: Any,
    protected: bool,
) -> Numbers:
    """Fit a user's model on a release, and return its scores: one row per person, one column per outcome."""
    names = [*(problem.protected if protected else ()), *problem.features]
    # What the bounds are about are the levels of protected columns, nothing finer.
    train, new = (
        tables.to_pandas(tables.as_levels(tables.read(each), counts.domain.d))[names] for each in (released, applied)
    )
    weighed = {} if weight is None else dict.fromkeys(_weight_parameters(model), weight)
    model.fit(train, released[problem.outcome], **weighed)
    share = np.asarray(model.predict_proba(new), dtype=float)
    classes = list(model.classes_)
    scores = np.zeros((len(applied), counts.domain.y.size))
    for y, level in enumerate(counts.domain.outcome.levels):
        if level in classes:
            scores[:, y] = share[:, classes.index(level)]
    return scores


def check_weights_taken(model: Any) -> None:
    """Refuse a model that takes no sample weights, which rows of an expanded table have."""
    learner = model
    while hasattr(learner, "steps"):
        learner = learner.steps[-1][1]
    if model is not None and not _weight_parameters(learner):
        raise SpecError(
            f"{type(learner).__name__} takes no sample weights, so that it cannot learn from the expanded table; "
            f"choose a model whose fit takes sample_weight, or let it learn from a release"
        )


def _weight_parameters(model: Any, prefix: str = "") -> list[str]:
    """Return by which arguments of its fit a model takes weights: none, or in a pipeline one for each such step."""
    if hasattr(model, "steps"):
        return [each for name, step in model.steps for each in _weight_parameters(step, f"{prefix}{name}__")]
    takes = hasattr(model, "fit") and WEIGHT in inspect.signature(model.fit).parameters
    return [f"{prefix}{WEIGHT}"] if takes else []


def _table_scores(counts: Counts, released: Any, weight: Numbers | None, applied: Any, protected: bool) -> Numbers:
    """Count how often each outcome occurs with each x̂, over levels: single ages would only be learned by heart."""
    axes = (*((counts.domain.d,) if protected else ()), counts.domain.x)
    before, after = (_levels(axes, tables.read(frame)) for frame in (released, applied))
    model = FrequencyTable().fit(before, _levels((counts.domain.y,), tables.read(released))[:, 0], weight)
    scores = np.zeros((len(after), counts.domain.y.size))
    seen = model.classes_ >= 0
    scores[:, model.classes_[seen]] = model.predict_proba(after)[:, seen]
    return scores


def _levels(axes: tuple[Axis, ...], table: Any) -> Cells:
    """Return the cells of each row on several axes, -1 where it has none."""
    read = [tables.cells(axis, table) for axis in axes]
    return np.stack([np.where(new, -1, cells) for cells, new in read], axis=1)


def _by_group(counts: Counts, table: Any, scores: Numbers, weight: Numbers | None) -> dict[str, Any]:
    """Return the mean score of every group and outcome, and the share of people for whom the outcome is likeliest."""
    known, place = _group_of_rows(counts, table)
    if not known.any():
        raise DataError("no row of the frame belongs to a group of the fitted table")
    by = np.ones(len(place)) if weight is None else weight[known]
    groups = len(counts.groups.cells)
    people = sums(place, by, groups)
    people[people == 0] = 1
    decided = likeliest(scores)

    def mean(values: Numbers) -> Numbers:
        return np.column_stack([sums(place, by * each, groups) / people for each in values[known].T]).ravel()

    return {"score": mean(scores), "decision": mean(decided)}


def people_by_group(counts: Counts, table: Any, people: Numbers | None) -> Numbers:
    """Return how many people of a table each fitted group has; ``people`` is how many a row is, None is one."""
    known, place = _group_of_rows(_allowing_missing(counts), table)
    return sums(place, np.ones(len(place)) if people is None else people[known], len(counts.groups.cells))


def _allowing_missing(counts: Counts) -> Counts:
    """Return counts to which missing values, which release and apply let pass, are no reason to refuse a table."""
    return replace(counts, domain=counts.domain.allowing_missing(True))


def _group_of_rows(counts: Counts, table: Any) -> tuple[Flags, Cells]:
    """Return which rows of a table belong to a fitted group, and to which."""
    d, new = tables.cells(counts.domain.d, table)
    known, place = positions(counts.groups.cells, d)
    # Levels that are known one by one may still make up a group that is not.
    known &= ~new
    return known, place[known]


class FrequencyTable:
    """The plainest model: the shares of each outcome among the rows with the same features."""

    def fit(self, features: Any, outcome: Any, sample_weight: Numbers | None = None) -> FrequencyTable:
        """Count, by weight where rows have one."""
        self.classes_, code = np.unique(np.asarray(outcome), return_inverse=True)
        self._places: dict[Any, int] = {}
        rows = map(tuple, np.asarray(features, dtype=object))
        place = np.array([self._places.setdefault(key, len(self._places)) for key in rows], dtype=np.int64)
        size = len(self.classes_)
        by = np.ones(len(code)) if sample_weight is None else sample_weight
        seen = np.bincount(place * size + code, by, minlength=len(self._places) * size).reshape(-1, size)
        # The last row is for features that were not seen.
        self._shares = np.vstack([seen / seen.sum(axis=1, keepdims=True), seen.sum(axis=0) / seen.sum()])
        return self

    def predict_proba(self, features: Any) -> Numbers:
        """Return the shares seen; those of everybody for features that were not."""
        rows = map(tuple, np.asarray(features, dtype=object))
        return self._shares[[self._places.get(key, len(self._places)) for key in rows]]
