"""Estimators in the manner of scikit-learn as others train them: with weights, alone or at the end of a pipeline.

Knows estimators; knows neither mappings nor problems. scikit-learn is the extra ``sklearn``.
"""

from __future__ import annotations

from typing import Any

from evenhand.errors import MissingExtraError, SpecError
from evenhand.findings.models import WEIGHT

NEEDED = (
    "estimators, out_of_fold and frontier with an estimator need scikit-learn 1.6 or newer: "
    "pip install 'evenhand[sklearn]'"
)
"""Said where scikit-learn is not there, or too old."""

try:
    from sklearn import get_config
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object
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
    return bool(has_fit_parameter(last_step(estimator), WEIGHT))


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or of the pipeline at its end; any other estimator is its own."""
    return last_step(estimator.steps[-1][1]) if isinstance(estimator, Pipeline) else estimator


def fitted_on(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a clone, with weights where there are any; in a pipeline every step that takes weights gets them."""
    estimator = clone(model)
    if sample_weight is None:
        return estimator.fit(X, y)
    piped = isinstance(estimator, Pipeline)
    if piped and not takes_weights(estimator):
        raise SpecError(
            f"{last_step(estimator)} takes no sample weights; leave sample_weight out, or choose one that does"
        )
    if piped:
        _refuse_resampling(estimator)
    if get_config()["enable_metadata_routing"]:
        _request_weights(estimator)
    elif piped:
        return estimator.fit(X, y, **{f"{name}__sample_weight": sample_weight for name in _weighed_steps(estimator)})
    return estimator.fit(X, y, sample_weight=sample_weight)


def _refuse_resampling(pipeline: Any) -> None:
    """Refuse a step that puts other rows in the place of those that have weights, be they as many or not."""
    for _, step in pipeline.steps:
        if isinstance(step, Pipeline):
            _refuse_resampling(step)
        elif hasattr(step, "fit_resample"):
            name = type(step).__name__
            raise SpecError(
                f"{name} changes the number of rows, or their order, so that the estimator cannot be trained with "
                f'weights: write train_on="draw" and leave sample weights out, or put {name} before the estimator of '
                f"evenhand, as in imblearn.pipeline.make_pipeline({name}(), eh.PreprocessedClassifier(...))"
            )


def _weighed_steps(pipeline: Any, prefix: str = "") -> list[str]:
    """Return the steps of a pipeline, and of pipelines in it, that take weights, by their full names."""
    found: list[str] = []
    for name, step in pipeline.steps:
        if isinstance(step, Pipeline):
            found += _weighed_steps(step, f"{prefix}{name}__")
        elif has_fit_parameter(step, WEIGHT):
            found.append(prefix + name)
    return found


def _request_weights(estimator: Any) -> None:
    """Let weights, which may be none of the user's, be routed within a clone; what the user requests of parts stays."""
    learner = last_step(estimator)
    if hasattr(learner, "set_fit_request"):
        # The rows that it learns from mean nothing without their weights.
        learner.set_fit_request(sample_weight=True)
    _request_in_parts(estimator, reached=True)


def _request_in_parts(estimator: Any, *, reached: bool) -> None:
    """Request weights for parts that say nothing of them, or request none where they are not ``reached``.

    Nothing is reached within a part that takes no weights itself, such as a ColumnTransformer, since without routing
    nothing would be: the same model comes of both.
    """
    for part in _parts(estimator):
        takes = bool(has_fit_parameter(part, WEIGHT))
        if takes and hasattr(part, "set_fit_request") and _says_nothing(part):
            part.set_fit_request(sample_weight=reached)
        _request_in_parts(part, reached=reached and (takes or isinstance(part, Pipeline)))


def _parts(estimator: Any) -> list[Any]:
    """Return the estimators that an estimator is made of, without those that they are made of in turn."""
    given = estimator.get_params(deep=True).items() if hasattr(estimator, "get_params") else ()
    return [each for name, each in given if "__" not in name and hasattr(each, "fit") and not isinstance(each, type)]


def _says_nothing(part: Any) -> bool:
    """Whether neither a user nor its author says if an estimator wants weights."""
    routing = get_routing_for_object(part)
    if isinstance(routing, MetadataRouter):
        # What a router passes on is one thing, what it wants for itself another.
        own = dict(routing).get("$self_request")
        return own is None or own.router.fit.requests.get(WEIGHT) is None
    return routing.fit.requests.get(WEIGHT) is None
