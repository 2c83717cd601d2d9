"""A model that exists already, asked as it was trained: its own columns in its own order, of the types they had.

Knows fitted models and frames; knows neither mappings nor problems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.errors import DataError, SpecError, some_of
from evenhand.tables import Frame, arrays
from evenhand.use.estimator.conventions import Features
from evenhand.use.training import last_step


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted model, and what it is to be handed.

    Attributes
    ----------
    model : object
        Has ``predict_proba`` and ``classes_``.
    columns : tuple of str
        Those that it reads, in its order.
    dtype : NumPy dtype or None
        Where it reads arrays, the type of these; "O" where columns are of several types.
    kinds : mapping
        The types of the columns of a pandas frame.
    """

    model: Any
    columns: tuple[str, ...]
    dtype: np.dtype[Any] | None
    kinds: Mapping[str, Any]

    @classmethod
    def on(cls, model: Any, given: Features, features: Sequence[str], *, named_by: str = "the problem") -> Trained:
        """Return a model as it is asked about people, whose features a problem names, or X alone."""
        there = arrays.names(given.frame)
        own = getattr(model, "feature_names_in_", None)
        own = () if own is None else tuple(map(str, own))
        # Some libraries make up names for the columns of an array.
        named = bool(own) and given.dtype is None and given.labels is None
        if named:
            lacking = [name for name in own if name not in there]
            if lacking:
                raise DataError(
                    f"the model was trained on the columns {some_of(own)}, and X lacks {some_of(lacking)}; it is "
                    f"asked as it was trained: leave all its columns in X"
                )
            return cls(model, own, None, arrays.kinds(given.frame, own))
        number = getattr(model, "n_features_in_", len(features))
        if number != len(features):
            raise DataError(
                f"the model was trained on {number} columns without names, and {named_by} has "
                f"{len(features)} features, {some_of(features)}; "
                + (
                    "give it those that the model reads, in its order"
                    if named_by == "X"
                    else "list all the columns that the model reads as features, in its order: without a rule they "
                    "stay fixed"
                )
            )
        by_place = hasattr(model, "n_features_in_") or given.dtype is not None
        dtype = (given.dtype or np.dtype(object)) if by_place else None
        return cls(model, tuple(features), dtype, arrays.kinds(given.frame, features))

    @property
    def classes_(self) -> Any:
        """The model's classes, in order."""
        return np.asarray(self.model.classes_)

    @property
    def feature_names_in_(self) -> Any:
        """The columns that it reads."""
        return np.array(self.columns, dtype=object)

    def shown(self, frame: Frame) -> Any:
        """Return a frame as the model is handed it."""
        own = arrays.of_kinds(arrays.select(frame, self.columns), self.kinds)
        return own if self.dtype is None else arrays.to_array(own, self.dtype)

    def predict_proba(self, frame: Frame) -> Numbers:
        """Return the model's own scores."""
        return np.asarray(self.model.predict_proba(self.shown(frame)), dtype=float)

    def predict(self, frame: Frame) -> Any:
        """Return the model's own decisions."""
        return np.asarray(self.model.predict(self.shown(frame)))


def check_trained(model: Any) -> None:
    """Refuse what is no fitted classifier with probabilities: it is never trained here."""
    if isinstance(model, type) or not (hasattr(model, "predict") or hasattr(model, "predict_proba")):
        raise check.refused("model", "a fitted classifier, such as LogisticRegression().fit(X, y)", model)
    name = type(last_step(model)).__name__
    if not hasattr(model, "predict_proba"):
        raise SpecError(
            f"the model, {name}, has no predict_proba, and what is bounded is its mean score; put it into "
            f"sklearn.calibration.CalibratedClassifierCV, or choose one that has scores"
        )
    if not hasattr(model, "classes_"):
        raise SpecError(f"the model, {name}, is not fitted: it is asked as it is and never trained here; fit it first")
