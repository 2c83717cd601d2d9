"""What a model that learns the released data will score: predicted by eqs. (8) and (9), and measured on one fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand import tables
from evenhand.achieved import group_rates
from evenhand.counts import Counts, Numbers, positions, sums
from evenhand.domain import Cells
from evenhand.errors import DataError, SpecError
from evenhand.kernel import Kernel, for_apply
from evenhand.spec import Problem


def predicted_scores(problem: Problem, counts: Counts, kernel: Kernel, *, protected: bool) -> Numbers:
    """Return the mean score by group and outcome of a model that learned the released outcome well.

    With ``protected`` the model sees D and learned p(ŷ|x̂, d), eq. (8); else it learned p(ŷ|x̂), eq. (9). People are
    transformed in apply mode.
    """
    features, joint = _released(counts, kernel)
    if not protected:
        joint = np.broadcast_to(joint.sum(axis=0), joint.shape)
    total = joint.sum(axis=2, keepdims=True)
    conditional = np.divide(joint, total, out=np.zeros(joint.shape), where=total > 0)
    return np.asarray(np.einsum("gx,gxy->gy", _applied(problem, counts, kernel, features), conditional))


def _released(counts: Counts, kernel: Kernel) -> tuple[Cells, Numbers]:
    """Return the released x̂, and p(d, x̂, ŷ) over groups, these and outcomes."""
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    features, place = np.unique(to_x, return_inverse=True)
    groups = counts.groups
    shape = (len(groups.cells), len(features), counts.domain.y.size)
    key = np.ravel_multi_index((groups.of_source[kernel.rows], place, to_y), shape)
    mass = counts.probability[kernel.rows] * kernel.probability
    return features, sums(key, mass, int(np.prod(shape))).reshape(shape)


def _applied(problem: Problem, counts: Counts, kernel: Kernel, features: Cells) -> Numbers:
    """Return p(x̂|d) in apply mode: a row a group, a column an x̂."""
    reduced = for_apply(kernel, counts, blind=problem.blind)
    before = counts.people_before_outcome
    group, x = np.divmod(before.cells, counts.domain.x.size)
    row = np.searchsorted(counts.features.cells, x) if problem.blind else np.arange(len(before.cells))
    asked, entry = reduced.entries(row)
    place = np.searchsorted(features, reduced.targets[entry])
    of_group = np.searchsorted(counts.groups.cells, group)[asked]
    shape = (len(counts.groups.cells), len(features))
    mass = sums(
        of_group * shape[1] + place, before.probability[asked] * reduced.probability[entry], shape[0] * shape[1]
    )
    return np.asarray(mass.reshape(shape) / counts.groups.probability[:, None])


def model_rates(
    problem: Problem, counts: Counts, kernel: Kernel, train: Any, new: Any, model: Any, *, protected: bool
) -> Any:
    """Fit a model on a release, score people transformed in apply mode, and return means and decisions by group."""
    names = [*(problem.protected if protected else ()), *problem.features]
    model = FrequencyTable() if model is None else model
    if not hasattr(model, "fit") or not hasattr(model, "predict_proba"):
        raise SpecError(f"a model needs fit and predict_proba, like a scikit-learn classifier; {model!r} lacks one")
    released, applied = tables.to_pandas(train), tables.to_pandas(new)
    model.fit(released[names], released[problem.outcome])
    share = np.asarray(model.predict_proba(applied[names]), dtype=float)
    classes = list(model.classes_)
    scores = np.zeros((len(applied), counts.domain.y.size))
    for y, level in enumerate(counts.domain.outcome.levels):
        if level in classes:
            scores[:, y] = share[:, classes.index(level)]
    means = _by_group(counts, tables.read(applied), scores)
    predicted = predicted_scores(problem, counts, kernel, protected=protected)
    size, groups = counts.domain.y.size, counts.groups.cells
    return tables.frame(
        {
            **tables.labels(counts.domain.d, np.repeat(groups, size)),
            **tables.labels(counts.domain.y, np.tile(np.arange(size), len(groups))),
            "released": group_rates(counts, kernel).ravel(),
            "predicted": predicted.ravel(),
            **means,
        }
    )


def _by_group(counts: Counts, table: Any, scores: Numbers) -> dict[str, Any]:
    """Return the mean score of every group and outcome, and the share of people for whom the outcome is likeliest."""
    d, new = tables.cells(counts.domain.d, table)
    groups = counts.groups.cells
    known, place = positions(groups, d)
    # Levels that are known one by one may still make up a group that is not.
    unseen = new | ~known
    if unseen.all():
        raise DataError("no row of the frame belongs to a group of the fitted table")
    place = place[~unseen]
    people = np.maximum(np.bincount(place, minlength=len(groups)), 1)
    decided = np.eye(scores.shape[1])[np.argmax(scores, axis=1)]

    def mean(values: Numbers) -> Numbers:
        return np.column_stack([sums(place, column, len(groups)) / people for column in values[~unseen].T]).ravel()

    return {"score": mean(scores), "decision": mean(decided)}


class FrequencyTable:
    """The plainest model: the shares of each outcome among the rows with the same features."""

    def fit(self, features: Any, outcome: Any) -> FrequencyTable:
        """Count."""
        self.classes_, code = np.unique(np.asarray(outcome), return_inverse=True)
        keys = list(map(tuple, np.asarray(features, dtype=object)))
        self._seen: dict[Any, Numbers] = {}
        for key, y in zip(keys, code, strict=True):
            self._seen.setdefault(key, np.zeros(len(self.classes_)))[y] += 1
        self._everybody = np.bincount(code) / len(code)
        return self

    def predict_proba(self, features: Any) -> Numbers:
        """Return the shares seen; those of everybody for features that were not."""
        rows = map(tuple, np.asarray(features, dtype=object))
        found = (self._seen.get(key) for key in rows)
        return np.array([self._everybody if row is None else row / row.sum() for row in found])
