"""Section 3.4: what a person may undergo at apply time."""

import dataclasses

import numpy as np
import pytest

import evenhand as eh
from evenhand.arrays import sums
from evenhand.findings.theory.applying import applying
from evenhand.kernel import project


def test_a_constant_budget_is_its_own_bound(compas, compas_mapping):
    found = applying(compas.problem, compas.counts, compas_mapping.kernel)
    assert np.allclose(found.frame["bound"], 0.5)
    assert (found.frame["achieved"] <= found.frame["bound"] + 1e-7).all()
    assert (found.frame["features_alone"] <= found.frame["achieved"] + 1e-12).all()
    assert found.worst <= 1e-7
    assert found.frame["weight"].sum() == pytest.approx(5278)
    assert "0.5" in found.sentences()[0]


def test_achieved_averages_over_the_outcome(compas, compas_mapping):
    counts = compas.counts
    found = applying(compas.problem, counts, compas_mapping.kernel)
    by_source = compas_mapping.achieved.distortion
    for place, cell in enumerate(counts.people_before_outcome.cells):
        here = counts.domain.dx(counts.d, counts.x) == cell
        mean = np.average(by_source[here], weights=counts.weight[here])
        assert found.frame["achieved"].iloc[place] == pytest.approx(mean, abs=1e-12)


def test_features_alone_is_what_apply_mode_does(compas, compas_mapping):
    counts, domain = compas.counts, compas.counts.domain
    kernel = project(compas_mapping.kernel, counts, "dx", "x")
    _, x = np.divmod(counts.people_before_outcome.cells[kernel.rows], domain.x.size)
    same = np.zeros_like(x)
    cost = compas.problem.distortion.between(domain, x, same, kernel.targets, same)
    expected = sums(kernel.rows, cost * kernel.probability, len(kernel))
    found = applying(compas.problem, counts, compas_mapping.kernel)
    assert np.allclose(found.frame["features_alone"], expected)


def test_limits_that_depend_on_the_cell(compas, compas_mapping):
    counts = compas.counts
    limit = np.where(counts.y == 1, 0.8, 0.2)
    problem = dataclasses.replace(compas.problem, budget=eh.ExpectedDistortion(eh.By(0.2, [({"is_recid": 1}, 0.8)])))
    found = applying(problem, counts, compas_mapping.kernel)
    here = counts.people_before_outcome.of_source == 3
    expected = np.average(limit[here], weights=counts.weight[here])
    assert found.frame["bound"].iloc[3] == pytest.approx(expected)
    assert found.worst == pytest.approx((found.frame["achieved"] - found.frame["bound"]).max())
    assert "depending on the cell" in found.sentences()[0]


def test_a_cell_without_a_limit_is_not_bounded(compas, compas_mapping):
    counts = compas.counts
    limit = np.where(counts.y == 1, np.inf, 0.2)
    problem = dataclasses.replace(compas.problem, budget=eh.ExpectedDistortion(eh.By(0.2, [({"is_recid": 1}, np.inf)])))
    found = applying(problem, counts, compas_mapping.kernel)
    both = sums(counts.people_before_outcome.of_source, np.isinf(limit).astype(float)) > 0
    assert np.isinf(found.frame["bound"].to_numpy()[both]).all()
    assert "to infinite, depending on the cell" in found.sentences()[0]


def test_several_charges(compas, compas_mapping):
    budget = eh.ExcessDistortion({0.9: 0.4, 1.9: 0.1})
    problem = dataclasses.replace(compas.problem, budget=[eh.ExpectedDistortion(0.5), budget])
    found = applying(problem, compas.counts, compas_mapping.kernel)
    people = len(compas.counts.people_before_outcome.cells)
    assert len(found.frame) == 3 * people
    assert found.frame["charge"].nunique() == 3
    assert np.allclose(found.frame["bound"], np.repeat([0.5, 0.4, 0.1], people))


def test_averaged_budgets_bound_nobody(compas, compas_mapping):
    problem = dataclasses.replace(compas.problem, budget=eh.ExpectedDistortion(0.5, per="xy"))
    found = applying(problem, compas.counts, compas_mapping.kernel)
    assert found.frame["bound"].isna().all()
    assert found.frame["achieved"].notna().all()
    assert found.worst == -np.inf
    assert any("per (x, y)" in words for words in found.sentences())


def test_no_budget(compas, compas_mapping):
    problem = dataclasses.replace(compas.problem, budget=None)
    found = applying(problem, compas.counts, compas_mapping.kernel)
    assert len(found.frame) == 0
    assert "no budget" in found.sentences()[0]
