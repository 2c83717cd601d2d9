"""Statements compared place by place, and distances between what two mappings make of a person."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.findings.comparing import (
    bounded,
    differences,
    levels_for,
    may_be_the_same,
    outcomes_apart,
    records_apart,
    treated,
)
from evenhand.tables.transforming import kinds_of


def test_every_place_that_differs_is_told(compas):
    problem = compas.problem
    other = replace(
        problem,
        parity=[eh.PairwiseParity(eh.By(0.1, [({"sex": "Male"}, 0.2)])), eh.TargetParity(0.3)],
        forbidden=[{"when": {"age_cat": "Less than 25"}, "then": {"priors_count": ">3"}}],
        budget=None,
    )
    assert differences(problem, problem) == []
    found = {at: (a, b) for at, a, b in differences(problem, other)}
    assert found["parity[0].bound"] == ("0.1", None)
    assert found["parity[0].bound[1].where.sex"] == (None, '"Male"')
    assert found["parity[1].kind"] == (None, '"target"')
    assert found["forbidden[0].then.priors_count"] == (None, '">3"')
    assert found["budget.limit"] == ("0.5", None)
    assert {at for at, *_ in differences(other, problem)} == set(found)


def test_distances_are_total_variations(compas, compas_mapping):
    other = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.2)]), compas.counts)
    kind = np.arange(len(compas.counts))
    a, b = (
        treated(m.release_mode, kinds_of(m.release_mode, levels_for(m.counts.domain, compas.counts)), kind, m.problem)
        for m in (compas_mapping, other)
    )
    size = compas.counts.domain.x.size * 2
    dense = [np.zeros((len(kind), size)) for _ in range(2)]
    for at, mapping in enumerate((compas_mapping, other)):
        dense[at][mapping.kernel.rows, mapping.kernel.targets] = mapping.kernel.probability
    assert records_apart(a, b) == pytest.approx(np.abs(dense[0] - dense[1]).sum(axis=1) / 2)
    outcome = [each.reshape(len(kind), -1, 2).sum(axis=1) for each in dense]
    assert outcomes_apart(a, b) == pytest.approx(np.abs(outcome[0] - outcome[1]).sum(axis=1) / 2)
    assert a.each(a.changed) == pytest.approx(compas_mapping.achieved.changed)
    assert a.each(a.cost) == pytest.approx(compas_mapping.achieved.distortion)


def test_what_is_bounded_is_said_without_the_few(compas, compas_mapping):
    given = compas_mapping.counts, compas_mapping.kernel, compas_mapping.achieved.parity
    (found,) = bounded(*given, 20)
    assert (found.bound, found.before.said, found.after.said, found.hidden) == (
        "at most 1.10 times", "1.61 times", "1.10 times", 0,
    )  # fmt: skip
    # One group has fewer; of two by two groups the others follow from it and the margins.
    (found,) = bounded(*given, 500)
    assert found.before is None
    # Both orders of two groups are one comparison.
    assert found.hidden == len(compas_mapping.achieved.parity[0].value) / 2


def test_the_same_people_with_other_columns(compas, compas_mapping):
    fewer = replace(
        compas.problem, features=["age_cat", "priors_count"], distortion=eh.Distortion({"is_recid": eh.Ordinal(1)}),
        parity=[eh.PairwiseParity(0.5)],
    )  # fmt: skip
    assert may_be_the_same(eh.fit(fewer, compas.frame).counts, compas_mapping.counts)
    assert not may_be_the_same(eh.fit(fewer, compas.frame.head(4000)).counts, compas_mapping.counts)
    flipped = compas.frame.assign(is_recid=1 - compas.frame["is_recid"])
    assert not may_be_the_same(eh.fit(fewer, flipped).counts, compas_mapping.counts)
