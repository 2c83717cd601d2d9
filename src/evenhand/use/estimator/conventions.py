"""scikit-learn's conventions: what X, y and weights may be, and a way back to the kind that was given.

Knows its checks and frames; knows neither mappings nor models.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import DataError, EvenhandError, MissingExtraError, some_of
from evenhand.tables import Frame, arrays
from evenhand.use.training import NEEDED

try:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _num_samples,
        assert_all_finite,
        check_consistent_length,
        column_or_1d,
        validate_data,
    )
except ImportError:
    raise MissingExtraError(NEEDED) from None


@dataclass(frozen=True, eq=False)
class Features:
    """X as a frame whose columns a problem can name, and the way back to what the caller gave.

    ``dtype`` is that of the array it came from, ``labels`` are the names of a frame whose names are no texts; both are
    None for an ordinary frame, and for an array that no problem reads, which stays one.
    """

    frame: Frame
    dtype: np.dtype[Any] | None = None
    labels: tuple[Any, ...] | None = None

    def back(self, frame: Frame, without: tuple[str, ...] = ()) -> Any:
        """Return a transformed frame as the kind that was given, without some of its columns."""
        if without:
            frame = arrays.select(frame, [name for name in arrays.names(frame) if name not in without])
        if self.labels is not None:
            return arrays.renamed(frame, [self.labels[int(name)] for name in arrays.names(frame)])
        return frame if self.dtype is None else arrays.to_array(frame, self.dtype)

    @classmethod
    def of(cls, X: Any, read: Collection[str], whole: Collection[str]) -> Features:
        """Name the columns of a frame or an array: ``read`` of an array are levels, ``whole`` whole numbers."""
        if isinstance(X, np.ndarray):
            return cls(arrays.from_array(X, read, whole), dtype=X.dtype)
        names = tuple(arrays.names(X))
        if all(isinstance(name, str) for name in names):
            return cls(X)
        return cls(arrays.renamed(X, [str(i) for i in range(len(names))]), labels=names)


def checked(
    estimator: Any,
    X: Any,
    y: Any = "no_validation",
    *,
    fitting: bool,
    without: Collection[str] = (),
    needed: Collection[str] = (),
) -> Any:
    """Check X as scikit-learn does, for an estimator: return a frame as it is, anything else as an array.

    After a fit, a frame may come without some of its columns, and those that are ``needed`` must have their names.
    """
    # The checks ask whether an outcome is lacking only where they are told of one.
    outcome = {"y": None} if y is None else {}
    with about("X"):
        framed = arrays.is_frame(X)
        if not fitting:
            _refuse_other_kind(estimator, X, framed, needed)
        if not framed:
            return validate_data(estimator, X, **outcome, reset=fitting, dtype=None, ensure_all_finite="allow-nan")
    if not _num_samples(X):
        raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
    known = getattr(estimator, "feature_names_in_", ())
    if not without or tuple(arrays.names(X)) != tuple(name for name in known if name not in without):
        with about("X"):
            validate_data(estimator, X, **outcome, reset=fitting, skip_check_array=True)
    return X


def _refuse_other_kind(estimator: Any, X: Any, framed: bool, needed: Collection[str]) -> None:
    """Refuse an array where columns have names, and a frame where they have numbers: who would be protected is open."""
    known = getattr(estimator, "feature_names_in_", None)
    if not framed and known is not None and not all(name.isdecimal() for name in needed):
        raise DataError(
            f"X is no frame, and {type(estimator).__name__} was fitted on one: by their names it needs "
            f"{some_of(sorted(needed))}, which an array has not; give a frame with the columns {some_of(known)}"
        )
    if framed and known is None and not set(needed) <= set(_names(X)):
        raise DataError(
            f"X is a frame, and {type(estimator).__name__} was fitted on an array, or on a frame without names: it "
            f"goes by the numbers of columns, {some_of(sorted(needed))}; give an array, such as X.to_numpy(), with "
            f"the columns in the order of the fit, or fit it on a frame"
        )


def _names(X: Any) -> list[str]:
    """Return the names of a frame's columns, or their numbers where they are no texts."""
    names = list(arrays.names(X))
    return names if all(isinstance(name, str) for name in names) else [str(place) for place in range(len(names))]


def take_columns(estimator: Any, fitted: Any) -> None:
    """Let an estimator have the columns, and their names if any, of another that was fitted on the same X."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(estimator, name, getattr(fitted, name))


def number_of_rows(X: Any) -> int:
    """Return how many rows a frame or an array has."""
    return int(_num_samples(X))


def outcome_of(y: Any, X: Any) -> Any:
    """Check an outcome beside X: one value per row; return it as an array."""
    with about("y"):
        values = column_or_1d(y, warn=True)
    with about("X and y"):
        check_consistent_length(X, values)
    return values


def refuse_too_few(X: Any, classes: Any) -> None:
    """Refuse people or classes of whom there are no two to compare."""
    if number_of_rows(X) < 2:
        raise DataError("X has n_samples=1: one person makes no two groups to compare")
    if len(classes) < 2:
        raise DataError("y has only one class, so there are no rates of it to compare")


def classes_of(y: Any) -> Any:
    """Return the values of an outcome, which must be classes."""
    with about("y"):
        values = column_or_1d(y)
        assert_all_finite(values, input_name="y")
        check_classification_targets(values)
        return np.unique(values)


@contextmanager
def about(what: str) -> Iterator[None]:
    """Say of which argument an error of scikit-learn's checks is, in its own words otherwise."""
    try:
        yield
    except (EvenhandError, NotFittedError):
        raise
    except Exception as error:
        raise DataError(f"{what}: {error}") from error


def weights_of(X: Any, sample_weight: Any) -> Numbers:
    """Check weights: one number per row, not all of them zero. The rest is checked where they are counted."""
    with about("sample_weight"):
        weights = np.asarray(sample_weight, dtype=float)
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar: one number per row, not of shape {weights.shape}")
    with about("sample_weight"):
        check_consistent_length(X, weights)
    if not np.any(weights):
        raise DataError("Sample weights must contain at least one non-zero number; here all are zero")
    return weights
