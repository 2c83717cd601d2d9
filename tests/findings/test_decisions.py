"""What models decide: counted by hand from the rows, before and after, of those who may be shown."""

import numpy as np
import pytest
from reports import document_of, hostile_frame, hostile_mapping, said_in
from sklearn.dummy import DummyClassifier

import evenhand as eh

pytestmark = pytest.mark.turns(2)


def by_model(document, when):
    """The share that each model decides for, by group."""
    rows = document["decisions"]["decisions"]
    return {
        model: {tuple(row["group"].values()): row[when] for row in rows if row["model"] == model}
        for model in dict.fromkeys(row["model"] for row in rows)
    }


def test_decisions_are_those_of_the_table_of_shares(compas, compas_mapping):
    """The likeliest outcome at each combination of features, ties split."""
    document = document_of(compas_mapping)
    features = compas.problem.features
    share = compas.frame.groupby(list(features), observed=True)["is_recid"].transform("mean")
    decided = 1.0 * (share < 0.5) + 0.5 * (share == 0.5)
    by_hand = decided.groupby([compas.frame["sex"], compas.frame["race"]]).mean()
    assert by_model(document, "before")["not_seeing_protected"] == pytest.approx(by_hand.to_dict())
    apart = document["decisions"]["apart"][0]
    assert (apart["model"], apart["when"]) == ("not_seeing_protected", "before")
    assert (apart["low"], apart["high"]) == pytest.approx((by_hand.min(), by_hand.max()))
    assert apart["times"] == f"{by_hand.max() / by_hand.min():.2f} times"
    assert apart["times"] in said_in(document["decisions"], "decisions.decides")[0]
    assert document["report"]["in_short"]["model_decisions"] == said_in(document["decisions"])[0]


@pytest.mark.slow
def test_a_model_learns_from_the_expanded_table(compas, compas_mapping):
    document = document_of(compas_mapping, frame=compas.frame, seed=3)
    (said,) = said_in(document["decisions"], "decisions.decides")
    assert "after learning from the expanded table" in said
    apart = {(row["model"], row["when"]): row for row in document["decisions"]["apart"]}
    times = " → ".join(apart["not_seeing_protected", when]["times"] for when in ("before", "after"))
    assert f"A plain model, learned from the expanded table: {times}." in said
    assert said.count("of two a half each") == 1
    # The same model of the same tables decides the same.
    for when in ("before", "after"):
        found = by_model(document, when)
        assert found["fitted"] == pytest.approx(found["not_seeing_protected"])


def test_a_fitted_models_rates_are_the_mappings(compas, compas_mapping):
    with pytest.raises(eh.DataError, match="the table has no rows"):
        compas_mapping.model_rates(compas.frame[:0])
    rates = compas_mapping.model_rates(compas.frame)
    rows = document_of(compas_mapping, frame=compas.frame)["decisions"]["fitted_model"]
    names = {"released": "released_rate", "predicted": "predicted", "score": "score", "decision": "decision"}
    for name, column in names.items():
        assert [row[column] for row in rows] == pytest.approx(rates[name].tolist())
    audit = compas_mapping.audit().scores
    predicted = document_of(compas_mapping)["decisions"]["scores"]["scores"]
    assert [row["seeing_protected"] for row in predicted] == pytest.approx(audit["seeing_protected"].tolist())


@pytest.mark.slow
def test_a_model_of_ones_own():
    model, mapping = DummyClassifier(strategy="prior"), hostile_mapping()
    found = document_of(mapping, frame=hostile_frame(), model=model, sees_protected=True)
    (said,) = said_in(found["decisions"], "decisions.fitted_on")
    assert said.startswith("The model DummyClassifier, with the protected columns")
    assert len(found["decisions"]["fitted_model"]) == 4
    assert "fitted" in by_model(found, "after")
    assert np.ptp(list(by_model(found, "after")["fitted"].values())) == 0
    with pytest.raises(eh.DataError, match="frame="):
        eh.report_on(mapping, model=model)


def test_without_a_good_outcome_nothing_is_better():
    report = eh.report_on(hostile_mapping(), trace=False)
    tones = {
        row[chart.tone]
        for section in report.sections
        for part in (section, *section.parts)
        for chart in part.charts
        if chart.tone
        for row in chart.table.records()
    }
    assert tones == {None}
