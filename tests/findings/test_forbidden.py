"""Who is already what nobody may become: counted by hand, told at fit and in the audit, with discretion."""

from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.forbidden import already_forbidden, people_already
from evenhand.render.section import Section
from evenhand.render.sentences import sentence

YOUNG = eh.Forbidden(when={"age": "<20"}, then={"income": 1})
LEARNED = eh.Forbidden(when={"age": ["<20", "20-29"], "sex": "Female"}, then={"education": ">12"})
NOBODY = eh.Forbidden(when={"age": "<20"}, then={"income": 1, "education": ">12"})


def test_who_is_counted(adult):
    frame, problem = adult.frame, replace(adult.problem, forbidden=[YOUNG, LEARNED, NOBODY])
    young = (frame["age"] == "<20") & (frame["income"] == 1)
    learned = frame["age"].isin(["<20", "20-29"]) & (frame["sex"] == "Female") & (frame["education"] == ">12")
    assert people_already(problem, adult.counts) == {YOUNG: young.sum(), LEARNED: learned.sum()}
    # People are counted, whatever their weight.
    weighted = eh.count(problem, frame.assign(w=0.5), weights="w")
    assert people_already(problem, weighted) == {YOUNG: young.sum(), LEARNED: learned.sum()}
    assert already_forbidden(replace(problem, forbidden=[NOBODY]), adult.counts) is None


def test_it_is_told_at_fit_and_in_the_audit_but_not_of_too_few(adult):
    problem = replace(adult.problem, forbidden=[YOUNG])
    with pytest.warns(eh.EvenhandWarning, match="2 people are already age=<20 with income=1") as told:
        mapping = eh.fit(problem, adult.counts)
    assert sum("already" in str(each.message) for each in told) == 1
    assert told[0].filename == __file__
    note = already_forbidden(problem, adult.counts)
    words = sentence(note)
    assert words in mapping.audit().sentences("caveats")
    for least, told in ((20, (note,)), (10_000, ())):
        (section,) = discreet([Section("caveats", notes=(note,))], Discretion(adult.counts, least))
        assert section.notes == told
