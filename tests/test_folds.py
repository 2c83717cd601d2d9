"""Folds of a table: dealt by what rows hold, and what becomes of those held out."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.folds import FOLDS, expected_outcomes, folds_of
from evenhand.kernel.achieved import group_rates


def leaves(compas):
    return replace(
        compas.problem,
        features=["age_cat", "c_charge_degree", "priors_count"],
        distortion=eh.Distortion({"is_recid": eh.Ordinal(step=1)}),
        cells=eh.Leaves(8),
    )


def same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.train.sources, b.train.sources)
        np.testing.assert_array_equal(a.train.weight, b.train.weight)
        # Rows that are alike may come in another order.
        np.testing.assert_array_equal(np.sort(a.cell), np.sort(b.cell))


def test_everybody_is_held_out_once(compas):
    folds = folds_of(compas.problem, compas.counts, compas.counts)
    held = sum(np.bincount(fold.cell, fold.weight, len(compas.counts)) for fold in folds)
    np.testing.assert_allclose(held, compas.counts.weight)
    assert len(folds) == FOLDS
    for fold in folds:
        assert fold.train.people + fold.weight.sum() == compas.counts.people


def test_folds_are_dealt_at_random(compas):
    """Spread evenly, equal people would hide the noise that folds are to show."""
    counts = compas.counts
    for fold in folds_of(compas.problem, counts, counts):
        held = np.bincount(fold.cell, fold.weight, len(counts))
        many = counts.weight >= 50
        z = (held - counts.weight / FOLDS)[many] / np.sqrt(counts.weight[many] * (1 - 1 / FOLDS) / FOLDS)
        assert 0.6 < z.std() < 1.4


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("learned", [False, True], ids=["levels", "leaves"])
def test_the_order_of_rows_does_not_matter(compas, learned):
    problem = leaves(compas) if learned else compas.problem
    mixed = compas.frame.sample(frac=1, random_state=4)
    one, other = (folds_of(problem, eh.count(problem, frame), frame) for frame in (compas.frame, mixed))
    same(one, other)


@pytest.mark.slow
def test_files_have_the_folds_of_frames(compas, tmp_path):
    problem = leaves(compas)
    texts = compas.frame.astype({"age_cat": str, "priors_count": str})
    texts.to_csv(tmp_path / "people.csv", index=False)
    path = str(tmp_path / "people.csv")
    counts = eh.count(problem, texts)
    same(folds_of(problem, counts, texts), folds_of(problem, counts, path))


@pytest.mark.slow
def test_learned_cells_are_learned_anew(compas):
    problem = leaves(compas)
    counts = eh.count(problem, compas.frame)
    folds = folds_of(problem, counts, compas.frame)
    trees = {str(fold.train.domain.x.variables[0].tree) for fold in folds}
    assert len(trees) > 1
    assert all(fold.train.domain.d == counts.domain.d for fold in folds)


def test_learned_cells_need_rows(compas):
    problem = replace(leaves(compas), confidence=0.95)
    counts = eh.count(problem, compas.frame)
    with pytest.raises(eh.DataError, match="give the table itself"):
        eh.fit(problem, counts)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("change", [{}, {"blind": True}, {"suppress_protected": "fixed"}], ids=str)
def test_expected_outcomes_are_those_of_an_audit(compas, change):
    """Of people among whom some are in cells that nobody had."""
    problem = replace(compas.problem, parity=[eh.PairwiseParity(0.5)], **change)
    if change.get("suppress_protected"):
        free = dict(problem.distortion.rules) | {"is_recid": eh.Free()}
        problem = replace(problem, distortion=eh.Distortion(free), parity=[eh.PairwiseParity(0.6)])
    some = compas.frame.sample(500, random_state=2)
    mapping = eh.fit(problem, some)
    audit = mapping.audit(compas.frame)
    assert audit.coverage["rows"].iloc[-1] >= 0
    people = eh.count(problem, compas.frame)
    of_mapping = [mapping.counts.domain.variable(name).levels for name in problem.columns]
    assert of_mapping == [people.domain.variable(name).levels for name in problem.columns]
    outcomes = expected_outcomes(mapping.release_mode, people.d, people.x, people.y)
    np.testing.assert_allclose(outcomes.sum(axis=1), 1)
    own = people.groups.of_source
    rates = [
        np.average(outcomes[own == group], axis=0, weights=people.weight[own == group])
        for group in range(len(people.groups.cells))
    ]
    np.testing.assert_allclose(np.ravel(rates), audit.rates["after"], atol=1e-12)
    assert np.max(np.abs(group_rates(mapping.counts, mapping.kernel) - rates)) > 0
