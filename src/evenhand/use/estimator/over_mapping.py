"""A model's scores over a mapping: averaged over what apply mode may draw, or of one draw.

Knows fitted preprocessors and models; nothing of who trained these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.tables import Frame, arrays
from evenhand.use.estimator.conventions import Features, number_of_rows
from evenhand.use.estimator.preprocessor import OptimizedPreprocessor
from evenhand.use.oneline import ROW, WEIGHT
from evenhand.use.scoring import probabilities

Way = Literal["expected", "draw"]
WAYS = ("expected", "draw")

Score = Callable[[Any], Numbers]
"""Gives one row per person and one column per class."""


def scores_over(
    before: OptimizedPreprocessor, given: Features, way: Way, seen: Callable[[Frame], Frame], score: Score
) -> Numbers:
    """Return scores of every person and class, over the mapping or of one draw.

    ``seen`` makes of a transformed frame the one that a model sees, ``score`` gives the model's scores of such a frame.
    """
    if way == "draw":
        return score(seen(before._applied(given)))
    frame, row, weight = possible(before, given)
    return summed(row, asked_once(seen(frame), score) * weight[:, None], given)


def possible(before: OptimizedPreprocessor, given: Features) -> tuple[Frame, Cells, Numbers]:
    """Return what apply mode may draw for each person: a frame, whose each row is, and with which probability."""
    wide = before._mapping.possibilities(
        given.frame, row_column=ROW, weight_column=WEIGHT, unseen=before.unseen, missing=before.missing
    )
    frame, row, weight, *_ = arrays.split(wide, ROW, WEIGHT, *before._identifies)
    return frame, arrays.numbers(row), arrays.numbers(weight)


def asked_once(frame: Frame, score: Score) -> Numbers:
    """Return scores of every row of a frame; many people share their possible features, and each is asked once."""
    first, kind = arrays.distinct(frame)
    return np.asarray(score(arrays.rows(frame, first))[kind])


def summed(row: Cells, scores: Numbers, given: Features) -> Numbers:
    """Return the sum of each person's scores."""
    return np.column_stack([sums(row, column, number_of_rows(given.frame)) for column in scores.T])


def likeliest(model: Any, classes: Any, way: Way, scored: Callable[[Score], Numbers]) -> Any:
    """Return the class of largest expected score; of a model without scores, or of a draw, the one it says most often.

    ``scored`` gives over the mapping what it is given for one frame.
    """

    def votes(shown: Any) -> Numbers:
        return np.asarray(np.eye(len(classes))[np.searchsorted(classes, model.predict(shown))])

    def shares(shown: Any) -> Numbers:
        return probabilities(model, shown, classes)

    averages = hasattr(model, "predict_proba") and way == "expected"
    return classes[np.argmax(scored(shares if averages else votes), axis=1)]


def has_probabilities(classifier: Any) -> bool:
    """Return whether the model of a classifier has scores, once fitted or before; one that has none is an error."""
    model = getattr(classifier, "estimator_", classifier.estimator)
    if hasattr(model, "predict_proba"):
        return True
    raise AttributeError(
        f"{type(model).__name__} has no predict_proba, so there is no score to average; predict gives the class "
        f"that it predicts most often over the mapping"
    )
