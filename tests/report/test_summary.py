"""The summary: its numbers are the mapping's own, it is JSON, and small cells stay out of it."""

import json

import pytest
from reports import hostile_mapping

import evenhand as eh
from evenhand.report import assurance, people
from evenhand.report.summary import FORMAT, VERSION, Material, Settings, Source, summary


def of(mapping, hide_below=20, **more):
    return summary(
        Material(
            problem=mapping.problem, counts=mapping.counts, kernel=mapping.kernel, certificate=mapping.certificate,
            achieved=mapping.achieved, audit=mapping.audit(), theory=mapping.theory,
            prices=mapping.prices() if mapping.has_prices else None, settings=Settings(hide_below, 0.95, 0),
            **{"fitted": None, "frontier": {"words": "", "points": []}, "source": Source(), **more},
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def found(compas_mapping):
    return of(compas_mapping)


def test_it_is_versioned_json(found):
    assert (found["format"], found["version"]) == (FORMAT, VERSION) == ("evenhand-report", 1)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_rates_are_the_audits(found, compas_mapping):
    audit = compas_mapping.audit().rates
    rows = found["rates"]["rows"]
    assert [tuple(row["group"].values()) for row in rows] == list(zip(audit["sex"], audit["race"], strict=True))
    for name in ("before", "after"):
        assert [row[name] for row in rows] == pytest.approx(audit[name].tolist(), abs=1e-12)
    assert found["rates"]["shown"] == [1]


def test_the_certificate_and_the_bounds_are_the_mappings(found, compas_mapping):
    certificate = compas_mapping.certificate
    for name in ("status", "objective", "lower_bound", "gap", "max_violation"):
        assert found["certificate"][name] == getattr(certificate, name)
    (parity,) = found["bounds"]["parity"]
    bounds = compas_mapping.audit().bounds
    assert parity["comparisons"] == (bounds["constraint"] == "PairwiseParity").sum()
    assert parity["rows"][0]["achieved"] == pytest.approx(0.1, abs=1e-8)
    (budget,) = found["bounds"]["budgets"]
    assert budget["largest"] == pytest.approx(bounds.query("constraint == 'expected distortion'")["achieved"].max())


def test_who_changes(found, compas_mapping):
    audit = compas_mapping.audit()
    assert [row["changed"] for row in found["changes"]["groups"]] == pytest.approx(audit.groups["changed"].tolist())
    listed = {(r["column"], r["from"], r["to"]): r["share"] for r in found["changes"]["columns"]}
    for row in audit.changes.to_dict("records"):
        if row["share"] > 1e-3:
            assert listed[row["column"], row["from"], row["to"]] == pytest.approx(row["share"])


def test_the_worst_off_are_the_most_distorted_of_those_shown(found, compas_mapping):
    m = compas_mapping
    shown = m.counts.weight >= 20
    rows = found["worst_off"]["rows"]
    assert rows[0]["expected_distortion"] == pytest.approx(m.achieved.distortion[shown].max())
    assert [r["expected_distortion"] for r in rows] == sorted((r["expected_distortion"] for r in rows), reverse=True)
    assert all(row["weight"] >= 20 for row in rows)
    table = m.table()
    for row in rows[:3]:
        own = table[[all(r[k] == v for k, v in row["cell"].items()) for r in table.to_dict("records")]]
        target = own[
            [all(r[f"to_{k}"] == v for k, v in row["likeliest_change"].items()) for r in own.to_dict("records")]
        ]
        assert target["probability"].tolist() == pytest.approx([row["likeliest_probability"]])


def test_prices_are_the_mappings(found, compas_mapping):
    total = next(row for row in found["prices"]["rows"] if row["level"] == "total")
    assert total["price"] == pytest.approx(compas_mapping.prices().parity[0])


def test_small_cells_are_counted_and_hidden(adult_mapping):
    shown, all_of_it = of(adult_mapping), of(adult_mapping, hide_below=0)
    small = shown["small_cells"]
    assert small["cells_hidden"] == int((adult_mapping.counts.weight < 20).sum()) > 0
    assert all_of_it["small_cells"]["cells_hidden"] == 0
    assert min(row["weight"] for row in shown["worst_off"]["rows"]) >= 20
    assert min(row["weight"] for row in all_of_it["worst_off"]["rows"]) < 20
    assert min(row["weight"] for row in shown["prices"]["cells"]) >= 20
    assert shown["prices"]["cells_hidden"] > all_of_it["prices"]["cells_hidden"] == 0
    assert min(row["had"] for row in shown["changes"]["by_group"]) >= 20


def test_small_groups_are_hidden_with_what_is_said_of_their_size():
    mapping = hostile_mapping()
    shown, everything = of(mapping), of(mapping, hide_below=0)
    assert shown["small_cells"]["groups_hidden"] == 1
    assert "small" not in {row["group"]["<b>group</b>"] for row in shown["rates"]["rows"]}
    assert "small" not in {row["group"]["<b>group</b>"] for row in shown["changes"]["groups"]}
    assert shown["rates"]["groups_hidden"] == 1
    said = json.dumps(everything["not_covered"] + everything["fresh_people"])
    assert "small has a weight of only 9" in said
    assert "small has only 9 people" in said
    hidden = json.dumps(shown["not_covered"] + shown["fresh_people"])
    assert "small has" not in hidden


def test_what_does_not_exist_is_null(compas_mapping):
    assert of(compas_mapping)["models"]["fitted"] is None
    rates = compas_mapping.audit().scores
    assert len(assurance.scores(compas_mapping.problem, compas_mapping.audit())) == len(rates)
    assert people.table(compas_mapping.counts)["people"] == 5278


def test_a_problem_without_prices_or_budgets():
    data = eh.datasets.load("compas")
    from dataclasses import replace

    problem = replace(data.problem, parity=[], budget=None)
    found = of(eh.fit(problem, data.counts))
    assert found["bounds"] == {"parity": [], "budgets": []}
    assert found["changes"]["share"] == 0


def test_the_problem_can_be_read_again(found, compas_mapping):
    assert eh.Problem.from_toml(found["problem_toml"]) == compas_mapping.problem
    assert found["repeat"]["packages"]["numpy"]
    assert found["repeat"]["commands"][0]["command"] == "evenhand verify fitted.mapping"
