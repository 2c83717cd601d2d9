"""The summary: its numbers are the mapping's own, it is JSON, and small cells stay out of it."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reports import hostile_mapping, secretive_frame, secretive_problem, tiny_frame, tiny_mapping

import evenhand as eh
from evenhand.findings.discretion import Discretion
from evenhand.findings.naming import cell_levels
from evenhand.report import assurance, page, people
from evenhand.report.summary import FORMAT, VERSION, Material, Settings, Source, summary

pytestmark = pytest.mark.turns(2)

NOT_TRACED = {"notes": [], "points": [], "edges": None, "edges_said": None, "chosen": None}


def of(mapping, hide_below=20, **more):
    return summary(
        Material(
            problem=mapping.problem, counts=mapping.counts, kernel=mapping.kernel, certificate=mapping.certificate,
            achieved=mapping.achieved, audit=mapping.audit(), theory=mapping.theory,
            prices=mapping.prices() if mapping.has_prices else None, settings=Settings(hide_below, 0.95, 0),
            **{"fitted": None, "frontier": NOT_TRACED, "source": Source(), "command": "", **more},
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
    entries = bounds[bounds["constraint"] == "PairwiseParity"]
    # Both orders of two groups are one comparison.
    assert parity["comparisons"] == len(entries) / 2
    tight = entries.loc[entries["slack"] < 1e-6, "where"].str.split(": | against ")
    assert parity["at_bound"] == len({frozenset(each) for each in tight}) > 0
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


def test_who_is_helped_and_who_is_harmed(found, compas_mapping):
    audit = compas_mapping.audit()
    assert found["ledger"]["favourable"] == 0
    assert found["ledger"]["words"] == list(audit.sentences("gains", "outcomes"))
    for name in ("weight", "helped", "harmed", "unchanged", "before", "after"):
        assert [row[name] for row in found["ledger"]["rows"]] == pytest.approx(audit.ledger[name].tolist())


@pytest.mark.slow
def test_a_small_group_that_is_levelled_down_is_not_named():
    mapping = hostile_mapping()
    assert of(mapping)["ledger"] is None
    for good in (0, 1):
        named = replace(mapping, problem=replace(mapping.problem, favourable=good))
        shown, everything = (of(named, hide_below=hide)["ledger"] for hide in (20, 0))
        assert "small" not in json.dumps(shown)
        assert "small" in json.dumps(everything)
        assert len(shown["rows"]) == len(everything["rows"]) - 2


@pytest.mark.slow
def test_the_worst_off_are_those_who_lose_most_of_those_shown(adult_mapping, compas_mapping):
    """By hand from the rows of the mapping: who loses the favourable outcome, and who is changed without getting it."""
    for m, good in ((adult_mapping, 1), (compas_mapping, 0)):
        rows, table = of(m)["worst_off"]["rows"], m.table()
        outcome, columns = m.problem.outcome, [*m.problem.features, m.problem.outcome]
        same = (
            table[columns].astype(str).to_numpy() == table[[f"to_{c}" for c in columns]].astype(str).to_numpy()
        ).all(1)
        lost = (table[outcome] == good) & (table[f"to_{outcome}"] != good)
        gained = (table[outcome] != good) & (table[f"to_{outcome}"] == good)
        cell = [*m.problem.protected, *columns]
        found = table.assign(worse=table["probability"] * lost, borne=table["probability"] * (~same & ~gained))
        by_hand = found.groupby(cell, observed=True)[["worse", "borne"]].sum()
        assert all(row["weight"] >= 20 for row in rows)
        order = [(round(row["worse"], 6), round(row["changed"], 6)) for row in rows]
        assert order == sorted(order, reverse=True)
        for row in rows:
            worse, borne = by_hand.loc[tuple(row["cell"].values())]
            assert (row["worse"], row["changed"]) == pytest.approx((worse, borne))
        assert rows[0]["worse"] == pytest.approx(_largest(m, by_hand, "worse"))


def _largest(m, by_hand, name):
    """The largest share among cells of twenty people or more."""
    large = [tuple(cell_levels(m.counts, at).values()) for at in np.flatnonzero(m.counts.weight >= 20)]
    return max(by_hand[name].get(cell, 0.0) for cell in large)


def test_ties_among_the_worst_off_are_counted_and_said(found):
    tied = [(row, words) for row, words in zip(found["worst_off"]["rows"], found["worst_off"]["words"], strict=True)]
    assert any(row["tied"] for row, _ in tied)
    for row, words in tied:
        assert ("more cell" in words) == (row["tied"] > 0)
        assert f"{row['weight']:,.0f} people (" in words
    assert not any("is_recid=1)" in words and "worse outcome" in words for _, words in tied)


def test_prices_are_the_mappings(found, compas_mapping):
    total = next(row for row in found["prices"]["rows"] if row["level"] == "total")
    assert total["price"] == pytest.approx(compas_mapping.prices().parity[0])


@pytest.mark.slow
def test_small_cells_are_counted_and_hidden(adult_mapping):
    shown, all_of_it = of(adult_mapping), of(adult_mapping, hide_below=0)
    small = shown["small_cells"]
    assert small["cells_hidden"] >= int((adult_mapping.counts.weight < 20).sum()) > 0
    assert all_of_it["small_cells"]["cells_hidden"] == 0
    assert min(row["weight"] for row in shown["worst_off"]["rows"]) >= 20
    assert min(row["weight"] for row in all_of_it["worst_off"]["rows"]) < 20
    assert min(row["weight"] for row in shown["prices"]["cells"]) >= 20
    assert shown["prices"]["cells_hidden"] > all_of_it["prices"]["cells_hidden"] == 0
    assert min(row["had"] for row in shown["changes"]["by_group"]) >= 20


@pytest.mark.slow
def test_small_groups_are_hidden_with_what_is_said_of_their_size():
    mapping = hostile_mapping()
    shown, everything = of(mapping), of(mapping, hide_below=0)
    # The small one alone would be the total less the others.
    assert shown["small_cells"]["groups_hidden"] == 2
    assert "small" not in {row["group"]["<b>group</b>"] for row in shown["rates"]["rows"]}
    assert "small" not in {row["group"]["<b>group</b>"] for row in shown["changes"]["groups"]}
    assert shown["rates"]["groups_hidden"] == 2
    said = json.dumps(everything["not_covered"] + everything["fresh_people"])
    assert "small has only 9 people; its rates" in said
    assert "small has only 9 people: too few" in said
    hidden = json.dumps(shown["not_covered"] + shown["fresh_people"])
    assert "small has" not in hidden


@pytest.mark.slow
def test_headlines_are_the_audits_where_nobody_is_hidden(found, compas_mapping, adult_mapping):
    assert found["headlines"] == list(compas_mapping.audit().sentences("rates"))
    assert of(adult_mapping)["headlines"] == list(adult_mapping.audit().sentences("rates"))
    (part,) = found["bounds"]["parity"]
    before, after = compas_mapping.achieved.rates_before, compas_mapping.achieved.rates_after
    assert part["furthest_before"]["apart"] == pytest.approx((before.max(0) / before.min(0)).max() - 1)
    assert part["furthest_after"]["apart"] == pytest.approx((after.max(0) / after.min(0)).max() - 1)
    assert (part["smallest_bound"], part["comparisons_hidden"]) == (0.1, 0)


@pytest.mark.slow
def test_headlines_of_small_groups_are_of_the_others():
    mapping = hostile_mapping()
    (shown,), (everything,) = (of(mapping, hide)["bounds"]["parity"] for hide in (20, 0))
    assert (shown["comparisons"], shown["comparisons_hidden"], len(shown["rows"])) == (12, 10, 4)
    assert (everything["comparisons_hidden"], len(everything["rows"])) == (0, 12)
    (said,) = of(mapping)["headlines"]
    assert "10 of 12 comparisons have a group in them that is not shown" in said
    (said,) = of(mapping, 1e6)["headlines"]
    assert said.startswith("all 12 comparisons")


def test_the_moves_of_the_outcome_add_up(found, compas_mapping):
    (row,) = found["changes"]["outcome"]
    m = compas_mapping
    fallen = m.counts.outcome[1] - m.counts.groups.probability @ m.achieved.rates_after[:, 1]
    assert (row["from"], row["to"]) == (1, 0)
    assert row["share"] == pytest.approx(fallen)


def test_the_permitted_band_is_that_of_the_groups_shown():
    mapping = hostile_mapping()
    rows = [row for row in of(mapping)["rates"]["rows"] if row["outcome"] == 1]
    assert {row["permitted_low"] for row in rows} == {min(row["after"] for row in rows)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PairwiseParity. a bound of 50")
def test_what_is_free_is_said_to_be(found):
    assert found["prices"]["words"] == ""
    free = of(hostile_mapping(bound=50.0))["prices"]
    assert (free["rows"], free["cells"]) == ([], [])
    assert free["words"] == "Every price is zero: whichever bound is relaxed, no less is lost."


def test_fresh_people_begin_with_what_a_signer_needs(found, compas_mapping):
    first, *details = found["fresh_people"]
    assert (first["detail"], {part["detail"] for part in details}) == (False, {True})
    assert len(first["words"]) <= 5
    said = " ".join(first["words"])
    tables, releases = compas_mapping.theory.straying(seed=0)
    assert f"{releases.over:.1%} of 2,000 simulated releases violate the bound" in said
    assert f"{tables.over:.1%} of them violate the bound" in said
    assert "hold-out" in said
    assert "features_alone" not in json.dumps(found)
    applying = compas_mapping.theory.applying().frame
    (section,) = [part for part in details if "3.4" in part["heading"]]
    assert f"it is at most {applying['features_alone'].max():.4f}" in section["words"][0]


@pytest.mark.slow
def test_coverage_counts_are_told_and_few_are_not_counted():
    frame = secretive_frame()
    mapping = eh.fit(secretive_problem(eh.PairwiseParity(0.3)), frame)
    assert of(mapping)["table"]["coverage"] == [
        {"column": "income", "what": "missing", "policy": "a level", "rows": None}
    ]
    assert of(mapping, 5)["table"]["coverage"][0]["rows"] == 7
    columns = {column["name"]: column for column in of(mapping)["table"]["columns"]}
    assert (columns["sex"]["levels"], columns["sex"]["levels_hidden"]) == (["m", "w"], 2)
    assert columns["age"]["levels"] == ["<40", ">=40"]


@pytest.mark.slow
def test_what_does_not_exist_is_null(compas_mapping):
    assert of(compas_mapping)["models"]["fitted"] is None
    audit, everybody = compas_mapping.audit(), Discretion(compas_mapping.counts, 0)
    assert len(assurance.scores(compas_mapping.problem, audit, everybody)) == len(audit.scores)
    assert people.table(compas_mapping.counts, audit, everybody)["people"] == 5278


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


def test_it_says_how_to_repeat_it(compas_mapping):
    repeat = of(compas_mapping, source=Source("my people/a.mapping", "0f"), command="evenhand report x")["repeat"]
    assert [step["command"] for step in repeat["commands"]] == [
        "evenhand verify 'my people/a.mapping'",
        "evenhand fit problem.toml table.csv --out 'my people/a.mapping'",
        "evenhand report x",
    ]
    assert repeat["mapping_file"] == "a.mapping"


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.001, 100.0, 1e6])
def test_what_is_hidden_goes_by_people_whatever_they_weigh(compas_mapping, weight):
    data = eh.datasets.load("compas")
    weighed = of(eh.fit(data.problem, data.frame.assign(w=weight), weights="w"))
    plain = of(compas_mapping)
    assert weighed["small_cells"] == plain["small_cells"]
    assert plain["small_cells"]["cells_hidden"] > 0
    # The problem states the column, so that the command need not.
    assert "--weights" not in weighed["repeat"]["commands"][1]["command"]
    assert 'weights = "w"' in weighed["problem_toml"]
    unnamed = of(eh.fit(data.problem, data.frame, weights=[weight] * len(data.frame)))
    assert "table.csv --weights COLUMN" in unnamed["repeat"]["commands"][1]["command"]
    assert len(weighed["changes"]["by_group"]) == len(plain["changes"]["by_group"])
    assert weighed["prices"]["cells_hidden"] == plain["prices"]["cells_hidden"]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("parity", [eh.PairwiseParity(0.5), eh.PairwiseParity(0.5, on=["sex"])], ids=["all", "on"])
def test_the_widest_group_is_one_that_is_shown(parity):
    """People count, not weights: a group of few heavy people is hidden, and the next widest is told."""
    rng = np.random.default_rng(3)
    sizes = {"a": 400, "b": 60, "c": 15, "d": 10}
    sex = np.repeat(list(sizes), list(sizes.values()))
    frame = pd.DataFrame({"sex": sex, "region": "r", "x": rng.integers(0, 2, len(sex)), "y": np.arange(len(sex)) % 2})
    problem = eh.Problem(
        protected=["sex", "region"], features=["x"], outcome="y", parity=[parity],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    said = of(eh.fit(problem, frame, weights=[5.0] * len(frame)))["fresh_people"][0]["words"]
    (widest,) = [words for words in said if words.startswith("Of the 2 groups that are shown")]
    assert "is that of sex=b" in widest
    assert any(words.startswith("2 of 4 groups are not shown") for words in said)
    assert not any("left out" in words for words in said)


def numbers_in(value):
    """Every number of a document, those within its sentences too."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers_in(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers_in(each)]
    if isinstance(value, str):
        return [float(number) for number in re.findall(r"(?<![\w.])\d+\.\d+", value)]
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PairwiseParity. a bound of 0.9")
@pytest.mark.parametrize("bound", [0.05, 0.9])
@pytest.mark.parametrize("distance", [eh.Difference(), eh.Ratio(), eh.FourFifths(1)], ids=str)
def test_no_number_tells_how_far_a_hidden_group_is_from_one_that_is_shown(distance, bound):
    """Whether the bound changes nobody, or somebody: its rate before could be worked out from any of these."""
    rng = np.random.default_rng(7)
    rows = [(g, int(y)) for g, n, rate in (("a", 601, 0.5), ("b", 503, 0.56)) for y in rng.random(n) < rate]
    frame = pd.DataFrame([*rows, *(("c", int(y < 2)) for y in range(11))], columns=["g", "y"])
    frame["x"] = rng.integers(0, 2, len(frame))
    problem = eh.Problem(
        protected=["g"], features=["x"], outcome="y", favourable=1, parity=[eh.PairwiseParity(bound, distance)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.95),
    )  # fmt: skip
    found = eh.report_on(eh.fit(problem, frame), points=4).summary
    rates = frame.groupby("g")["y"].mean()
    own = {name: found[name] for name in found if name not in ("problem_toml", "repeat", "asked")}
    told = np.array(numbers_in(json.loads(json.dumps(own))))
    for other in (rates["a"], rates["b"]):
        for p, q in ((other, rates["c"]), (1 - other, 1 - rates["c"])):
            apart = [abs(p - q), p / q, q / p, p / q - 1, 1 - q / p, q / p - 1, 1 - p / q]
            for number in (*apart, *(100 * each for each in apart)):
                # Round numbers are met by chance.
                near = np.abs(told - abs(number)) < 1e-4 * max(1.0, abs(number))
                assert not near.any(), (number, told[near])


def test_how_many_hidden_groups_are_levelled_down_is_not_told():
    """The sentences of the ledger are the same, but for numbers, whether a hidden group is levelled down or not."""
    found = of(tiny_mapping())["ledger"]
    assert found["levelled_down"] == []
    assert not any("left out" in words for words in found["words"])
    assert len(found["words"]) == 1


def test_a_protected_column_that_no_bound_is_on_is_named(compas):
    mapping = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.1, on=["race"])]), compas.counts)
    found = of(mapping)
    assert "no bound is on groups by sex" in found["not_covered"]
    (covered,) = [part for part in found["brief"] if part["key"] == "covered"]
    assert "Groups by sex, groups that sex × race form together." in covered["words"]


def test_what_suppressing_changes_is_not_what_a_bound_costs():
    frame = tiny_frame()
    problem = replace(
        tiny_mapping().problem, parity=[eh.PairwiseParity(5.0)], suppress_protected="fixed",
        distortion=eh.Distortion({"y": eh.Nominal(1)}),
    )  # fmt: skip
    words = of(eh.fit(problem, frame))["cost"]["words"]
    assert words == [assurance.FREE_OF_FEATURES]


def test_small_numbers_are_written_out():
    assert [page.number(value) for value in (1.41e-05, 3.2e-08, 2e-16, 0.25)] == [
        "0.0000141",
        "0.000000032",
        "0",
        "0.25",
    ]
