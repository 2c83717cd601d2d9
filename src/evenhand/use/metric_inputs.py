"""Results for other libraries' measures: who has which outcome, which was predicted or released, and their groups.

Knows mappings, and classifiers that hold one; nothing of what is measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand import check
from evenhand.errors import DataError
from evenhand.tables import arrays, as_levels, column, read, to_pandas
from evenhand.use.estimator.conventions import outcome_of
from evenhand.use.mapping import Mapping


def metric_inputs(fitted: Any, X: Any, y: Any = None, *, scores: bool = False, seed: int = 0) -> dict[str, Any]:
    """Return what fairlearn's ``MetricFrame`` takes: ``y_true``, ``y_pred`` and ``sensitive_features``.

    Groups are those that bounds are about: columns with bins or merged levels come as their levels.

    Parameters
    ----------
    fitted : Mapping, PreprocessedClassifier or ShieldedClassifier
        Whose results they are. Of a classifier ``y_pred`` are its predictions, of a mapping the outcomes of a release.
    X : dataframe or array
        People; for a mapping with their outcome as a column.
    y : sequence, optional
        Their outcomes, for a classifier.
    scores : bool
        For a classifier: whether ``y_pred`` are scores of the last class instead of decisions.
    seed : int
        For a mapping: of the release.

    Returns
    -------
    dict
        For ``MetricFrame(metrics=..., **inputs)``; the groups are a pandas frame with one column per protected column.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> inputs = eh.metric_inputs(mapping, data.frame)
    >>> list(inputs), list(inputs["sensitive_features"])
    (['y_true', 'y_pred', 'sensitive_features'], ['sex', 'race'])
    """
    wanted, drawn = check.flag("scores", scores), check.seed("seed", seed)
    if isinstance(fitted, Mapping):
        if y is not None:
            raise DataError("y is None for a mapping, whose tables hold the outcome; leave it out")
        try:
            whole = read(X)
        except DataError as error:
            raise DataError("X: ", *error.pieces) from None
        true = column(whole, fitted.problem.outcome)
        released = read(fitted.release(whole.to_native(), seed=drawn))
        predicted = column(released, fitted.problem.outcome)
        # Groups as they were: a mapping never changes them.
        return _inputs(fitted, whole.to_native(), true.to_numpy(), predicted.to_numpy())
    before = getattr(fitted, "preprocessor_", fitted)
    mapping = getattr(before, "mapping_", None)
    if isinstance(fitted, type) or mapping is None or not hasattr(fitted, "predict"):
        raise check.refused("fitted", "a Mapping, or a fitted classifier that holds one", fitted)
    if y is None:
        raise DataError("y is None: give the outcomes of these people as y")
    predicted = fitted.predict_proba(X)[:, -1] if wanted else fitted.predict(X)
    return _inputs(mapping, X, outcome_of(y, predicted), predicted)


def _inputs(mapping: Mapping, X: Any, true: Any, predicted: Any) -> dict[str, Any]:
    protected = mapping.problem.protected
    frame = X if arrays.is_frame(X) else arrays.from_array(np.asarray(X), protected, protected)
    levels = as_levels(read(frame), mapping.counts.domain.d)
    groups = to_pandas(levels.select(list(protected))).reset_index(drop=True)
    return {"y_true": true, "y_pred": predicted, "sensitive_features": groups}
