"""What the files of the theory share: rates, distances, regrouping."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.findings.theory import bootstrap, holdout, l1_distance, regrouped, robustness
from evenhand.findings.theory.rates import largest_ratio, number_of_people
from evenhand.kernel.achieved import group_rates, outcome_by_source


def test_largest_ratio_is_the_largest_of_all_pairs():
    rates = np.random.default_rng(0).dirichlet(np.ones(3), size=(7, 4))
    for table, value in zip(rates, largest_ratio(rates), strict=True):
        every = [abs(a / b - 1) for one in table for other in table for a, b in zip(one, other, strict=True)]
        assert value == pytest.approx(max(every))


def test_ratios_of_zero():
    assert largest_ratio(np.array([[1.0, 0.0], [1.0, 0.0]])) == 0
    assert largest_ratio(np.array([[0.9, 0.1], [1.0, 0.0]])) == np.inf


def test_released_rates_are_those_achieved(compas, compas_mapping):
    assert np.allclose(group_rates(compas.counts, compas_mapping.kernel), compas_mapping.achieved.rates_after)
    assert np.allclose(outcome_by_source(compas.counts, compas_mapping.kernel).sum(axis=1), 1)


def test_the_loss_is_that_of_an_l1_problem(adult, adult_mapping):
    assert l1_distance(adult.counts, adult_mapping.kernel) == pytest.approx(adult_mapping.objective, abs=1e-9)


@pytest.mark.parametrize("on", ["sex", "race"])
def test_regrouping_changes_groups_alone(compas, compas_mapping, on):
    counts, kernel = regrouped(compas.counts, compas_mapping.kernel, [on])
    assert counts.domain.d.names == (on,)
    assert len(counts) == len(compas.counts)
    assert counts.weight.sum() == compas.counts.weight.sum()
    sizes, rates = compas.counts.groups.probability, compas_mapping.achieved.rates_after
    level = np.array([compas.counts.domain.d.labels(int(cell))[on] for cell in compas.counts.groups.cells])
    for group, name in enumerate(counts.domain.d.variables[0].levels):
        expected = np.average(rates[level == name], weights=sizes[level == name], axis=0)
        assert np.allclose(group_rates(counts, kernel)[group], expected)
    found = bootstrap(counts, kernel, resamples=50).rates
    assert list(found.columns[:2]) == [on, "is_recid"]


def test_regrouping_never_changes_the_other_protected_column(compas, compas_mapping):
    counts, kernel = regrouped(compas.counts, compas_mapping.kernel, ["race"])
    to_x, _ = counts.domain.split_xy(kernel.targets)
    assert (counts.domain.x.unravel(to_x)[0] == counts.domain.x.unravel(counts.x)[0][kernel.rows]).all()
    assert (np.diff(kernel.targets)[np.diff(kernel.rows) == 0] > 0).all()
    assert l1_distance(compas.counts, compas_mapping.kernel) <= l1_distance(counts, kernel)


def test_regrouped_people_are_released_as_before(compas, compas_mapping):
    """A hold-out by sex counts the very draws of the joint hold-out, added up over race."""
    counts, kernel = regrouped(compas.counts, compas_mapping.kernel, ["sex"])
    joint = holdout(compas.counts, compas_mapping.kernel, compas.frame, seed=3).rates
    coarse = holdout(counts, kernel, compas.frame, seed=3).rates
    assert coarse["released"].tolist() == joint.groupby(["sex", "is_recid"])["released"].sum().tolist()


def test_regrouping_keeps_the_domain(compas, compas_mapping):
    counts, kernel = regrouped(compas.counts, compas_mapping.kernel, ["sex"])
    found = robustness(counts, group_rates(counts, kernel), 0.2, bound=0.1, pairwise=True)
    assert found.cells == 144
    same, _ = regrouped(compas.counts, compas_mapping.kernel, ["race", "sex"])
    assert same is compas.counts
    with pytest.raises(eh.SpecError, match="sex"):
        regrouped(compas.counts, compas_mapping.kernel, ["sexx"])


def test_people(compas):
    assert number_of_people(compas.counts, None) == 5278
    assert number_of_people(compas.counts, 10) == 10
    with pytest.raises(eh.SpecError, match="at least 1"):
        number_of_people(compas.counts, 0)
