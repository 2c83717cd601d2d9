"""One person explained: every number is one of the mapping's own tables, and the sentences say what binds and why."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem
from fits import shared_fit
from hiring import people

import evenhand as eh
from evenhand.render.numbers import chance


@pytest.fixture(scope="module")
def compas():
    data = eh.datasets.load("compas")
    return shared_fit(data.problem, data.counts), data.frame


def as_rows(found):
    """The results of an explanation: which columns become what, with what probability."""
    return {
        frozenset((change.column, change.after) for change in result.changes): result.probability
        for result in found.results
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", ["release", "apply"])
@pytest.mark.slow(keep=2)
def test_results_are_those_of_the_mapping(seed, mode):
    """By the tidy table of the mapping, for people of a random mapping."""
    problem, frame = random_problem(np.random.default_rng([20261118, seed]))
    try:
        mapping = eh.fit(problem, frame)
    except eh.InfeasibleError:
        pytest.skip("this one has no mapping")
    table = mapping.table(mode)
    own = [name for name in table.columns if not name.startswith("to_") and name != "probability"]
    new = [name.removeprefix("to_") for name in table.columns if name.startswith("to_")]
    for person in frame.drop_duplicates(own).head(12).to_dict("records"):
        mine = table[(table[own].astype(str) == pd.Series({n: str(person[n]) for n in own})).all(axis=1)]
        expected = {
            frozenset((n, str(row[f"to_{n}"])) for n in new if str(row[f"to_{n}"]) != str(person[n])): row[
                "probability"
            ]
            for row in mine.to_dict("records")
        }
        found = mapping.explain(person, mode=mode)
        assert found.known == "fitted"
        assert as_rows(found) == pytest.approx(expected)
        assert sum(result.probability for result in found.results) == pytest.approx(1)
        probabilities = [result.probability for result in found.results]
        assert probabilities == sorted(probabilities, reverse=True)
        assert found.table["probability"].tolist() == probabilities


def test_a_move_that_is_one_of_several_is_told_as_that_alone(compas):
    """Among the people for whom several columns may change, a probability is that of this very result."""
    mapping, frame = compas
    for person in frame.drop_duplicates().to_dict("records"):
        found = mapping.explain(person)
        moving = [result for result in found.results if result.changes]
        if {len(result.changes) for result in moving} >= {1, 2}:
            break
    assert any(len(result.changes) == 1 for result in moving[:5])
    for result in moving[:5]:
        alone = ", and nothing else changes" * (len(result.changes) < max(len(each.changes) for each in moving))
        became = ", and ".join(f"{c.column} becomes {c.after} instead of {c.before}" for c in result.changes)
        assert any(sentence.endswith(f"{became}{alone}") for sentence in found.sentences("explained"))


@pytest.mark.parametrize("mode", ["release", "apply"])
def test_they_are_the_frequencies_of_draws(compas, mode):
    """And by simulation: one person who is drawn many times."""
    mapping, frame = compas
    person = frame.query("sex == 'Male' and race == 'African-American' and is_recid == 1").iloc[0].to_dict()
    found = mapping.explain(person, mode=mode)
    many = pd.DataFrame([person] * 20_000).astype(frame.dtypes)
    after = getattr(mapping, mode)(many, seed=4)
    stays = (after == many).all(axis=1).mean()
    assert stays == pytest.approx(found.stays, abs=5 * np.sqrt(found.stays * (1 - found.stays) / 20_000) + 1e-9)
    for result in found.results:
        changed = {change.column: change.after for change in result.changes}
        same = [after[n].astype(str) == changed.get(n, str(person[n])) for n in [*mapping.problem.features, "is_recid"]]
        spread = 5 * np.sqrt(result.probability * (1 - result.probability) / 20_000)
        assert np.logical_and.reduce(same).mean() == pytest.approx(result.probability, abs=spread + 1e-9)


def test_limits_and_bounds_are_those_of_the_audit(compas):
    mapping, frame = compas
    bounds = mapping.audit().bounds
    for person in frame.drop_duplicates().sample(10, random_state=1).to_dict("records"):
        found = mapping.explain(person)
        (limit,) = found.limits
        who = "; ".join(
            ", ".join(f"{n}={person[n]}" for n in names)
            for names in (mapping.problem.protected, mapping.problem.features, ["is_recid"])
        )
        row = bounds[bounds["where"] == who].iloc[0]
        assert (limit.expected, limit.allowed) == pytest.approx((row["achieved"], row["bound"]))
        assert limit.binds == (row["slack"] < 1e-6)
        group = f"sex={person['sex']}, race={person['race']}"
        own = bounds[(bounds["constraint"] == "PairwiseParity") & bounds["where"].str.contains(group)]
        (bound,) = found.bounds
        assert (2 * bound.number, bound.tight) == (len(own), (own["slack"] < 1e-6).sum())
        assert bound.nearest.apart == pytest.approx(own["achieved"].max())


def test_the_sentences_say_it(compas):
    mapping, _ = compas
    person = {"sex": "Male", "race": "African-American", "age_cat": "25 - 45", "c_charge_degree": "F"}
    found = mapping.explain({**person, "priors_count": "1-3", "is_recid": 1})
    said = " | ".join(found.sentences())
    assert "146 fitted people have the same features, group and outcome" in said
    assert f"they stay as they are with a probability of {found.stays:.1%}" in said
    assert "is_recid becomes 0 instead of 1" in said
    assert "all that their budget allows: this limit binds" in said
    assert "binding in 1 of 6 comparisons" in said
    applied = " | ".join(mapping.explain({**person, "priors_count": "1-3"}).sentences())
    assert "294 fitted people have the same features and group" in applied
    assert "averaged over the outcomes that they may have" in applied
    stays = eh.Distortion({"score": eh.Fixed(), "hired": eh.Ordinal(1)})
    unmoved = eh.fit(small_problem(distortion=stays), small_frame())
    found = unmoved.explain(small_frame().drop(columns="hired").iloc[0].to_dict())
    assert found.stays == 1
    assert [limit.expected for limit in found.limits] == [0.0]
    assert "no outcome was read" in applied


PERSON = {"sex": "Male", "race": "African-American", "age_cat": "25 - 45", "c_charge_degree": "F"}
PERSON |= {"priors_count": "1-3", "is_recid": 1}
STRANGER = {"group": "a", "score": 0, "hired": 1}


class TestTwoPeople:
    def test_of_one_cell_differ_by_the_draw_alone(self, compas):
        found = compas[0].explain(PERSON, beside=dict(PERSON, note="another person"))
        assert (found.unlike.fields, found.unlike.apart) == ((), 0)
        assert "the draw alone made the difference" in found.sentences("unlike")[0]

    @pytest.mark.parametrize(
        ("change", "role"),
        [
            ({"sex": "Female"}, "another group"),
            ({"priors_count": ">3"}, "another cell of the features"),
            ({"is_recid": 0}, "another outcome"),
        ],
    )
    def test_the_field_that_makes_the_difference_is_named(self, compas, change, role):
        mapping, _ = compas
        found = mapping.explain(PERSON, beside=PERSON | change).unlike
        ((name, value),) = change.items()
        (field,) = found.fields
        assert (field["column"], field["role"], field["other"]) == (name, role, str(value))
        # The only field that differs explains all of it.
        assert field["alone"] == pytest.approx(found.apart)
        one, other = (as_rows(mapping.explain(each)) for each in (PERSON, PERSON | change))
        apart = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other}) / 2
        assert found.apart == pytest.approx(apart)
        assert found.apart > 0

    def test_of_several_fields_each_is_tried_alone(self, compas):
        mapping, _ = compas
        other = PERSON | {"race": "Caucasian", "priors_count": "0"}
        found = mapping.explain(PERSON, beside=other)
        for field in found.unlike.fields:
            alone = mapping.explain(PERSON, beside=PERSON | {field["column"]: other[field["column"]]}).unlike
            assert field["alone"] == pytest.approx(alone.apart)
        assert any("with one field of the other alone" in words for words in found.sentences("unlike"))

    def test_where_nothing_is_done_cells_are_treated_alike(self):
        mapping = eh.fit(small_problem(parity=[]), small_frame())
        one, other = {"group": "a", "score": 0, "hired": 0}, {"group": "b", "score": 1, "hired": 1}
        found = mapping.explain(one, beside=other)
        assert len(found.unlike.fields) == 3
        assert found.unlike.apart == 0
        assert "every change is as likely for the one as for the other" in found.sentences("unlike")[1]


class TestUnseen:
    @pytest.fixture
    def mapping(self):
        return eh.fit(small_problem(), small_frame().query("not (group == 'a' and score == 0 and hired == 1)"))

    @pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
    def test_typical(self, mapping):
        found = mapping.explain(STRANGER)
        assert (found.known, found.people) == ("typical", 0)
        every = mapping.possibilities(pd.DataFrame([STRANGER]), mode="release")
        shares = every.groupby("hired")["weight"].sum()
        assert found.stays == pytest.approx(shares[1])
        assert (
            "nobody fitted was in this cell: they keep their features and get the outcomes"
            in found.sentences("explained")[0]
        )
        (limit,) = found.limits
        assert limit.expected == pytest.approx(1 - found.stays)
        assert limit.allowed == 0.45
        assert limit.expected <= limit.allowed + 1e-9

    def test_kept(self, mapping):
        found = mapping.explain(STRANGER, unseen="keep")
        assert (found.known, found.stays, len(found.results)) == ("kept", 1, 1)
        assert "they are left unchanged" in found.sentences("explained")[0]
        new = mapping.explain(STRANGER | {"group": "z"})
        assert new.known == "kept"
        assert "for group" in new.sentences("explained")[0]


@pytest.mark.slow
def test_learned_cells_are_told_in_words():
    X, y = people(2000, seed=1)
    problem = eh.Problem(
        protected=["sex"], features=["skill", "town", "noise"], outcome="hired", parity=[eh.PairwiseParity(0.2)],
        distortion=eh.Distortion({"hired": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
        cells=eh.Leaves(most=8, at_least=5), favourable=1,
    )  # fmt: skip
    mapping = eh.fit(problem, X.assign(hired=y))
    rows = X.assign(hired=y).to_dict("records")
    one = rows[0]
    (number,) = mapping.cell_of(X.assign(hired=y).head(1))
    rule = mapping.cells.set_index("cell").loc[number, "rule"]
    found = mapping.explain(one)
    assert rule in found.levels.values()
    assert rule in found.sentences("explained")[0]
    assert "the good outcome hired=1" in " ".join(found.sentences("explained"))
    other = next(row for row in rows if row["sex"] == one["sex"] and row["hired"] == one["hired"] and row != one
                 and rule in mapping.explain(row).levels.values())  # fmt: skip
    assert mapping.explain(one, beside=other).unlike.fields == ()


def test_it_shows_itself_in_every_medium(compas):
    mapping, frame = compas
    found = mapping.explain(frame.iloc[0].to_dict(), beside=frame.iloc[-1].to_dict())
    told = json.loads(found.to_json())
    assert told["explained"]["stays"] == pytest.approx(found.stays)
    assert told["explained"]["levels"] == found.levels
    assert [row["probability"] for row in told["explained"]["results"]] == found.table["probability"].tolist()
    assert [row["expected"] for row in told["limits"]["budgets"]] == [limit.expected for limit in found.limits]
    assert [row["bound"] for row in told["limits"]["bounds"]] == [bound.bound for bound in found.bounds]
    assert told["unlike"]["apart"] == found.unlike.apart
    assert told["unlike"]["fields"] == list(found.unlike.fields)
    for title in ("What may become of them in train mode", "What limits it", "Why the two differ"):
        assert title in str(found)
        assert title in found._repr_html_()
    assert f"with a probability of {chance(found.stays)}" in str(found)


@pytest.mark.parametrize("change", [{"blind": True}, {"suppress_protected": "fixed"}])
def test_other_forms(change):
    features_alone = eh.Distortion({"score": eh.Ordinal(step=1), "hired": eh.Free()})
    problem = replace(small_problem(distortion=features_alone), **change)
    mapping = eh.fit(problem, small_frame())
    person = {"group": "a", "score": 1, "hired": 1}
    for mode in ("release", "apply"):
        found = mapping.explain(person, mode=mode)
        assert sum(result.probability for result in found.results) == pytest.approx(1)
        assert found.sentences("explained")
        assert found.sentences("limits")
