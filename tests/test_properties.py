"""Properties of every fit, over random problems."""

from dataclasses import replace

import numpy as np
import pytest
from families import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh

pytestmark = pytest.mark.whole

EXAMPLES = settings(max_examples=25, derandomize=True)
SEEDS = st.integers(10_000, 20_000)


def instance(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    if len(frame) > 500:
        frame = frame.iloc[:500]
    return problem, frame


def fitted(problem, frame):
    try:
        return eh.fit(problem, frame)
    except eh.InfeasibleError:
        return None


@pytest.mark.slow
@given(SEEDS)
@EXAMPLES
def test_rows_are_distributions_and_forbidden_moves_have_none(seed):
    problem, frame = instance(seed)
    mapping = fitted(problem, frame)
    if mapping is None:
        return
    assert mapping.achieved.row_error <= 1e-12
    assert mapping.achieved.forbidden == 0
    assert (mapping.kernel.probability > 0).all()
    assert mapping.certificate.status == "optimal"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*a bound of 50 allows:evenhand.errors.EvenhandWarning")
@given(SEEDS)
@EXAMPLES
def test_the_identity_where_bounds_are_slack(seed):
    problem, frame = instance(seed)
    loose = replace(problem, parity=[replace(problem.parity[0], bound=50.0)])
    counts = eh.count(loose, frame)
    if eh.identity_from(loose, counts) <= 50:
        assert (eh.fit(loose, counts).table()["probability"] == 1).all()


@pytest.mark.slow
@given(SEEDS, st.floats(1.05, 3.0))
@EXAMPLES
def test_the_loss_never_grows_when_a_bound_is_relaxed(seed, factor):
    problem, frame = instance(seed)
    tight = fitted(problem, frame)
    if tight is None:
        return
    parity = replace(problem.parity[0], bound=problem.parity[0].bound * factor)
    assert fitted(replace(problem, parity=[parity]), frame).objective <= tight.objective + 5e-9
    if isinstance(problem.budget, eh.ExpectedDistortion):
        budget = replace(problem.budget, limit=problem.budget.limit * factor)
        assert fitted(replace(problem, budget=budget), frame).objective <= tight.objective + 5e-9


@pytest.mark.slow
@given(SEEDS)
@EXAMPLES
def test_duplicating_every_row_changes_nothing(seed):
    problem, frame = instance(seed)
    once = fitted(problem, frame)
    if once is None:
        return
    twice = eh.fit(problem, frame.loc[frame.index.repeat(2)])
    assert twice.objective == pytest.approx(once.objective, abs=5e-9)
    weighted = eh.fit(problem, frame, weights=np.full(len(frame), 1e-6))
    assert weighted.objective == pytest.approx(once.objective, abs=5e-9)


@pytest.mark.slow
@given(SEEDS)
@EXAMPLES
def test_relabelling_changes_nothing(seed):
    problem, frame = instance(seed)
    once = fitted(problem, frame)
    if once is None:
        return
    groups = np.sort(frame["d"].unique())
    names = dict(zip(groups, np.roll(groups, 1), strict=True))
    renamed = frame.assign(d=frame["d"].map(names)).sample(frac=1, random_state=0)
    assert eh.fit(problem, renamed).objective == pytest.approx(once.objective, abs=5e-9)


@pytest.mark.slow
@given(SEEDS)
@EXAMPLES
def test_per_individual_is_never_cheaper_than_per_xy(seed):
    problem, frame = instance(seed)
    each = fitted(replace(problem, budget=replace(problem.budget, per="individual")), frame)
    mean = fitted(replace(problem, budget=replace(problem.budget, per="xy")), frame)
    if each is not None:
        assert mean.objective <= each.objective + 5e-9


@pytest.mark.slow
@given(SEEDS)
@EXAMPLES
def test_apply_distortion_stays_within_its_bound(seed):
    """Section 3.4: with a budget for each individual, apply mode's expected distortion is at most the budget."""
    problem, frame = instance(seed)
    problem = replace(problem, budget=eh.ExpectedDistortion(0.6))
    mapping = fitted(problem, frame)
    if mapping is None:
        return
    counts = mapping.counts
    before = counts.people_before_outcome
    mean = np.bincount(before.of_source, weights=counts.given("dx") * mapping.achieved.distortion)
    assert mean.max() <= 0.6 + 1e-9
