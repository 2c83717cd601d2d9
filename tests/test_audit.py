import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh


def test_rates_are_those_of_the_table(compas, compas_mapping):
    rates = compas_mapping.audit().rates
    before = compas.frame.groupby(["sex", "race"])["is_recid"].mean()
    positive = rates[rates["is_recid"] == 1].set_index(["sex", "race"])
    assert positive["before"].to_numpy() == pytest.approx(before.loc[positive.index].to_numpy())
    assert positive["after"].to_numpy() == pytest.approx([0.3934, 0.3672, 0.4039, 0.4039], abs=5e-5)
    assert positive["weight"].sum() == 5278


def test_every_bound_is_listed_with_what_was_achieved(compas_mapping):
    bounds = compas_mapping.audit().bounds
    assert set(bounds["constraint"]) == {"PairwiseParity", "expected distortion"}
    parity = bounds[bounds["constraint"] == "PairwiseParity"]
    assert len(parity) == 4 * 3 * 2
    assert len(bounds) - len(parity) == 142
    assert bounds["slack"].min() >= -1e-9
    assert parity["slack"].min() == pytest.approx(0, abs=1e-9)
    assert parity["where"].str.contains("is_recid=1: sex=Male, race=African-American against").any()
    assert np.allclose(bounds["bound"] - bounds["achieved"], bounds["slack"])


def test_bounds_averaged_over_groups_are_listed_by_record(adult_mapping):
    bounds = adult_mapping.audit().bounds
    assert (bounds["constraint"] == "Pr[distortion > 0.9]").sum() == len(adult_mapping.counts.records.cells)
    assert bounds["where"].str.contains("against the target").sum() == 8
    assert any("per='xy'" in note for note in adult_mapping.audit().notes)


def test_changes_add_up(compas_mapping):
    audit = compas_mapping.audit()
    lowered = audit.changes.query("column == 'is_recid'")
    assert lowered[["from", "to"]].to_numpy().tolist() == [[1, 0]]
    rates = audit.rates[audit.rates["is_recid"] == 1]
    fall = ((rates["before"] - rates["after"]) * rates["weight"]).sum() / 5278
    assert lowered["share"].sum() == pytest.approx(fall)
    counts = compas_mapping.counts
    changed = (audit.groups["changed"] * audit.groups["weight"]).sum() / 5278
    assert changed == pytest.approx(counts.probability @ compas_mapping.achieved.changed)


def test_a_group_with_no_one_at_some_outcome_is_legal_and_named():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    problem = small_problem(
        distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1)}),
        parity=[eh.PairwiseParity(0.5)],
    )
    mapping = eh.fit(problem, frame)
    assert mapping.certificate.status == "optimal"
    assert mapping.achieved.rates_after[1, 1] > 0
    assert any("nobody in the group group=b has hired=1 before" in note for note in mapping.audit().notes)


def test_small_groups_are_named():
    few = pd.DataFrame({"group": ["c"] * 4, "score": [0, 0, 1, 1], "hired": [0, 1, 0, 1]})
    mapping = eh.fit(small_problem(), pd.concat([small_frame(), few], ignore_index=True))
    assert any("group=c has a weight of only 4" in note for note in mapping.audit().notes)


def test_the_audit_says_what_is_not_covered(compas_mapping):
    notes = " ".join(compas_mapping.audit().notes)
    assert "not its thresholded decisions" in notes
    assert "may not see the protected columns" in notes


def test_headlines_give_the_worst_distance_before_and_after(compas_mapping, adult_mapping):
    (compas,) = compas_mapping.audit().headlines
    assert "before: 0.615" in compas
    assert "after: 0.100" in compas
    assert "sex=Male, race=African-American 0.593 against sex=Female, race=Caucasian 0.367" in compas
    (adult,) = adult_mapping.audit().headlines
    assert "before: 0.705" in adult
    assert "against the target 0.241" in adult
    assert "before: 0.615" in repr(compas_mapping.audit())
