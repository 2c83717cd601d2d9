"""Which bounds of a problem do not cover a model that is used in a certain way, in words.

Bounds on the outcome cover mean scores of a model that sees the group, or of any under suppression. A bound on features
covers whatever is done with them alone: mean scores, and decisions too where features are drawn.

Knows statements and ways of use; nothing of models.
"""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.errors import some_of
from evenhand.spec import Parity, Problem

SUPPRESS = 'write suppress_protected="fixed" in the problem'

UNSEEN_GROUPS = (
    "the estimator does not see the protected columns, and the mapping is not made for that: no bound "
    "covers its mean scores, which can differ by group as much as without any mapping; "
    f"{SUPPRESS}, which preprocessor=eh.OptimizedPreprocessor(problem) holds"
)

UNSEEN_BESIDE_FEATURES = (
    "the estimator does not see the protected columns, and the mapping is not made for that: of the bounds "
    f"FeatureParity alone covers its mean scores, those on the outcome do not; {SUPPRESS}"
)


def uncovered(problem: Problem, *, sees_groups: bool, drawn: bool) -> Iterator[str]:
    """Yield what each kind of bound does not cover of a model that ``sees_groups``, or is shown x̂ that is ``drawn``."""
    of_features = [parity for parity in problem.parity if parity.compares_features]
    of_outcomes = len(of_features) < len(problem.parity) or not of_features
    if of_outcomes and not sees_groups and not problem.suppresses:
        beside = any(not _left_out(problem, parity) for parity in of_features)
        yield UNSEEN_BESIDE_FEATURES if beside else UNSEEN_GROUPS
    for parity in of_features:
        lacks = list(_lacks(problem, parity, sees_groups, drawn))
        if lacks:
            yield _beyond_features(lacks)


def _lacks(problem: Problem, parity: Parity, sees_groups: bool, drawn: bool) -> Iterator[tuple[str, str]]:
    """Yield why a bound on features does not cover a model's decisions, each with what to write instead."""
    if sees_groups:
        # Without the group, bounds on the outcome would in turn cover nothing.
        both = any(not each.compares_features for each in problem.parity) and not problem.suppresses
        advice = 'drop_protected=True, and suppress_protected="fixed" in the problem' if both else "drop_protected=True"
        yield "the estimator sees the protected columns too", advice
    if not drawn:
        yield "scores are means over all features that a person may get", 'predict_with="draw"'
    left_out = _left_out(problem, parity)
    if left_out:
        yield f"the estimator sees features that it does not compare ({some_of(left_out)})", "it without features=[...]"


def _left_out(problem: Problem, parity: Parity) -> list[str]:
    """Name the features that a bound on features does not compare."""
    return [] if parity.features is None else [name for name in problem.features if name not in parity.features]


def _beyond_features(lacks: list[tuple[str, str]]) -> str:
    reasons, advice = (" and ".join(each) for each in zip(*lacks, strict=True))
    return (
        f"FeatureParity covers what a model decides by released features that are drawn, and by nothing else, and here "
        f"{reasons}: the shares of groups above a threshold can differ by more than its bound; write {advice}"
    )
