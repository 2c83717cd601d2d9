"""Simpson's paradox: found where it is, not where it is not; and cells in which a mapping reverses an order."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.findings.simpson import paradoxes
from evenhand.render.sentences import sentence
from evenhand.use.proposal import propose

# Bickel, Hammel and O'Connell (1975), the six largest departments: admitted and rejected men, admitted and rejected
# women.
BERKELEY = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 17, 8),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (22, 351, 24, 317),
}
KINDS = [("Male", "yes"), ("Male", "no"), ("Female", "yes"), ("Female", "no")]
EITHER_WAY = eh.Distortion({"y": eh.Nominal(1)})


def berkeley():
    """One row per applicant."""
    rows = [
        {"Gender": gender, "Dept": dept, "Admit": admit}
        for dept, numbers in BERKELEY.items()
        for (gender, admit), number in zip(KINDS, numbers, strict=True)
        for _ in range(number)
    ]
    return pd.DataFrame(rows)


def admissions(**changes):
    stated = {"parity": [eh.PairwiseParity(0.1)], "distortion": eh.Distortion({"Admit": eh.Nominal(1)})}
    return eh.Problem(protected=["Gender"], features=["Dept"], outcome="Admit", **(stated | changes))


def population(rng, share, rate, people=3000):
    """People of two groups in levels of f0, with shares and rates by group and level; f1 says nothing."""
    d = rng.integers(0, 2, people)
    f0 = (rng.random(people)[:, None] > np.cumsum(share, axis=1)[d]).sum(axis=1)
    y = (rng.random(people) < rate[d, f0]).astype(int)
    return pd.DataFrame({"d": d, "f0": f0, "f1": rng.integers(0, 3, people), "y": y})


def found_in(frame):
    problem = eh.Problem(
        protected=["d"], features=["f0", "f1"], outcome="y", parity=[eh.PairwiseParity(0.1)], distortion=EITHER_WAY
    )
    return [each.feature for each in paradoxes(problem, eh.count(problem, frame))]


class TestBerkeley:
    def test_the_department_is_found(self):
        (found,) = paradoxes(admissions(), eh.count(admissions(), berkeley()))
        assert (found.feature, found.higher, found.lower) == ("Dept", {"Gender": "Male"}, {"Gender": "Female"})
        assert found.pooled == pytest.approx(1198 / 2691 - 557 / 1835)
        assert found.within < 0 < found.within + 3 * found.standard_error
        assert found.reversed == 4
        assert [level["level"] for level in found.levels] == list("ABCDEF")
        assert found.levels[0]["lower"] == pytest.approx(89 / 108)

    def test_not_where_parity_is_given_it(self):
        stated = admissions(parity=[eh.PairwiseParity(0.1, given=["Dept"])])
        assert paradoxes(stated, eh.count(stated, berkeley())) == []

    @pytest.mark.slow
    def test_the_audit_the_diagnosis_and_a_proposal_name_it(self):
        audit = eh.fit(admissions(), berkeley()).audit()
        assert [each.feature for each in audit.paradoxes] == ["Dept"]
        diagnosis = eh.diagnose(admissions(), berkeley())
        proposal = propose(berkeley(), protected=["Gender"], outcome="Admit", features=["Dept"], favourable="yes")
        for sentences in (audit.sentences("caveats"), diagnosis.sentences(), proposal.paradoxes):
            assert sum("given=['Dept']" in words for words in sentences) == 1

    @pytest.mark.slow
    def test_a_column_of_learned_cells_is_named(self):
        frame, rng = berkeley(), np.random.default_rng(0)
        frame = frame.assign(marks=np.round(rng.normal(size=len(frame)) + frame["Admit"].eq("yes"), 2))
        proposal = propose(frame, protected=["Gender"], outcome="Admit", favourable="yes", cells="leaves")
        assert [words.split("within levels of ")[1].split(":")[0] for words in proposal.paradoxes] == ["Dept"]
        assert "bound parity within it: given=['Dept']" in proposal.paradoxes[0]
        learned = {"features": ["Dept", "marks"], "cells": eh.Leaves(12)}
        (found,) = eh.fit(replace(admissions(), **learned), frame).audit().paradoxes
        assert (found.feature, found.given) == ("learned cells", ("Dept", "marks"))
        assert "such as given=['Dept']" in sentence(found.note("Admit"))
        given = replace(admissions(parity=[eh.PairwiseParity(0.1, given=["Dept"])]), **learned)
        assert paradoxes(given, eh.count(given, frame)) == []

    def test_orders_that_a_mapping_reverses(self):
        mapping, number = eh.fit(admissions(), berkeley()), berkeley().value_counts().rename("number").reset_index()
        moves = mapping.table(mode="release").merge(number, on=["Gender", "Dept", "Admit"])
        moves["people"] = moves["number"] * moves["probability"]
        rates = {}
        for when, column in (("before", "Admit"), ("after", "to_Admit")):
            admitted = moves[moves[column] == "yes"].groupby(["Gender", "Dept"])["people"].sum()
            rates[when] = (admitted / moves.groupby(["Gender", "Dept"])["people"].sum()).unstack("Gender").fillna(0)
        led = rates["before"]["Male"] >= rates["before"]["Female"]
        behind = rates["after"]["Male"] < rates["after"]["Female"] - 0.01
        audit = mapping.audit()
        assert audit.reversals["Dept"].tolist() == led.index[led & behind].tolist() != []
        for group, name in (("Male", "higher"), ("Female", "lower")):
            for when, expected in rates.items():
                assert audit.reversals[f"{name}_{when}"].tolist() == pytest.approx(
                    expected[group][led & behind].tolist()
                )
        assert sum("order of groups is reversed" in note for note in audit.sentences("caveats")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.0, 0.1, 0.3])
def test_without_confounding_hardly_any_population_is_named(strength):
    named = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        share = np.tile(rng.dirichlet(np.full(4, 3.0)), (2, 1))
        rate = rng.uniform(0.2, 0.6, 4) + np.array([[0.0], [strength]])
        named += bool(found_in(population(rng, share, rate)))
    assert named <= 10


def test_reversals_that_were_built_are_found():
    missed = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        share = np.array([[0.6, 0.25, 0.15], [0.15, 0.25, 0.6]])
        low = np.array([0.15, 0.4, 0.75]) + rng.uniform(-0.03, 0.03, 3)
        missed += found_in(population(rng, share, np.stack([low + 0.06, low]))) != ["f0"]
    assert missed <= 2


def test_few_people_of_a_group_in_a_level_do_not_count():
    frame = berkeley()
    few = frame.query("Gender == 'Male' or Dept in ['C', 'D']")
    small = pd.concat([few, frame.query("Gender == 'Female' and Dept == 'A'").head(19)])
    found = paradoxes(admissions(), eh.count(admissions(), small))
    assert all(level["level"] in "CD" for each in found for level in each.levels)
