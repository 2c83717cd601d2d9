"""Estimators in the manner of scikit-learn as others train them: with weights, alone or at the end of a pipeline.

Knows estimators; knows neither mappings nor problems. scikit-learn is the extra ``sklearn``.
"""

from __future__ import annotations

from typing import Any

from evenhand.errors import MissingExtraError, SpecError

NEEDED = (
    "estimators, out_of_fold, model_frontier and searches within a bound need scikit-learn 1.6 or newer: "
    "pip install 'evenhand[sklearn]'"
)
"""Said where scikit-learn is not there, or too old."""

try:
    from sklearn import get_config
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter
except ImportError:
    raise MissingExtraError(NEEDED) from None


def takes_weights(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, is fitted with sample weights.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> takes_weights(make_pipeline(LogisticRegression())), takes_weights(KNeighborsClassifier())
    (True, False)
    """
    return bool(has_fit_parameter(last_step(estimator), "sample_weight"))


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or of the pipeline at its end; any other estimator is its own."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def fitted_on(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a clone, with weights where there are any; in a pipeline every step that takes weights gets them."""
    estimator = clone(model)
    if sample_weight is None:
        return estimator.fit(X, y)
    if not isinstance(estimator, Pipeline):
        return estimator.fit(X, y, sample_weight=sample_weight)
    if not takes_weights(estimator):
        raise SpecError(
            f"{last_step(estimator)} takes no sample weights; leave sample_weight out, or choose one that does"
        )
    if get_config()["enable_metadata_routing"]:
        for step in _weighed_steps(estimator).values():
            step.set_fit_request(sample_weight=True)
        return estimator.fit(X, y, sample_weight=sample_weight)
    return estimator.fit(X, y, **{f"{name}__sample_weight": sample_weight for name in _weighed_steps(estimator)})


def _weighed_steps(pipeline: Any, prefix: str = "") -> dict[str, Any]:
    """Return the steps of a pipeline, and of pipelines in it, that take weights, by their full names."""
    found: dict[str, Any] = {}
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            found |= _weighed_steps(step, f"{prefix}{name}__")
        elif has_fit_parameter(step, "sample_weight"):
            found[prefix + name] = step
    return found
