"""Who is hidden: nothing that names or counts few people leaves the summary, the page or a chart."""

import base64
import json
import re

import numpy as np
import pandas as pd
import pytest
import reports

import evenhand as eh
from evenhand.findings.coverage import fitted_coverage
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.naming import group_levels
from evenhand.findings.rates import cohorts
from evenhand.kernel.achieved import distances
from evenhand.render.section import ANYBODY, Note, notes_of
from evenhand.render.sentences import sentence

BOUND = 0.3
PARITIES = {
    "each": eh.PairwiseParity(BOUND),
    "rest": eh.PairwiseParity(BOUND, against="rest"),
    "target": eh.TargetParity(BOUND),
    "one column": eh.PairwiseParity(BOUND, on=["sex"]),
    "within segments": eh.PairwiseParity(0.6, eh.Difference(), given=["job"]),
    "within large segments": eh.PairwiseParity(0.6, eh.Difference(), given=["job"], min_segment=50),
    "within released segments": eh.TargetParity(0.6, distance=eh.Difference(), given=["income"], released=True),
    "the favourable outcome": eh.PairwiseParity(BOUND, eh.FourFifths(1)),
}


def everything(report):
    """Everything a reader could find: the JSON, the page, and what its still images say."""
    stills = re.findall(r"data:image/svg\+xml;base64,([\w+/=]+)", report.html)
    return [
        json.dumps(report.summary, ensure_ascii=False),
        report.html,
        *(base64.b64decode(s).decode() for s in stills),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("parity", PARITIES.values(), ids=PARITIES)
def test_the_name_of_a_few_people_is_nowhere(parity):
    frame = reports.secretive_frame()
    mapping = eh.fit(reports.secretive_problem(parity), frame)
    # Whether it is hidden is only tested where it would be there.
    assert reports.SECRET in json.dumps(eh.report_on(mapping, trace=False, hide_below=0).summary)
    report = eh.report_on(mapping, frame=frame, trace=False)
    for text in everything(report):
        assert reports.SECRET not in text
    small = report.summary["small_cells"]
    assert small["groups_hidden"] >= small["groups"] - 4
    assert "every bound holds there too" in report.html


@pytest.mark.slow
def test_what_the_problem_names_is_repeated():
    """The exact problem, and what was asked, are the user's own words."""
    merged = {"other": ["temporary", f"{reports.SECRET}-job"]}
    bins = {"age": eh.Edges([40]), "income": eh.Edges([2900]), "job": eh.MergedLevels(merged, rest="all")}
    mapping = eh.fit(reports.secretive_problem(eh.PairwiseParity(0.3), bins=bins), reports.secretive_frame())
    found = eh.report_on(mapping, trace=False).summary
    assert reports.SECRET in found.pop("problem_toml")
    assert reports.SECRET in json.dumps(found.pop("asked"))
    assert reports.SECRET not in json.dumps(found)


def test_a_comparison_needs_people_on_both_sides():
    mapping = reports.hostile_mapping()
    (part,) = mapping.achieved.parity
    shown = Discretion(mapping.counts, 20).comparisons(part, mapping.kernel)
    words = [part.compared.words(at) for at in range(len(part.value))]
    assert shown.tolist() == ["small" not in text for text in words]
    assert Discretion(mapping.counts, 0).comparisons(part, mapping.kernel).all()


def test_a_released_segment_counts_those_expected_in_it():
    """A group may be large, and yet few of it released into a segment."""
    mapping = eh.fit(reports.secretive_problem(PARITIES["within released segments"]), reports.secretive_frame())
    (part,) = mapping.achieved.parity
    at_most = Discretion(mapping.counts, 1e9).comparisons(part, mapping.kernel)
    assert not at_most.any()
    few = Discretion(mapping.counts, 20).comparisons(part, mapping.kernel)
    words = [part.compared.words(at) for at in np.flatnonzero(few)]
    assert words
    assert not any("(missing)" in text for text in words)


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("scale", [0.001, 1.0, 1e6])
@pytest.mark.parametrize("parity", ["each", "within segments", "within released segments"])
def test_people_are_counted_whatever_they_weigh(parity, scale):
    """Unequal weights that turn the order of groups and levels around: the same rows hide the same."""
    frame, problem = reports.secretive_frame(), reports.secretive_problem(PARITIES[parity])
    mapping = eh.fit(problem, frame)
    few = frame["sex"].eq(reports.SECRET) | frame["job"].str.startswith(reports.SECRET)
    weights = np.where(few, 1000.0, np.where(frame["sex"] == "w", 0.01, 1.0)) * scale
    counts = eh.count(problem, frame, weights=weights)
    plain, weighed = (Discretion(of, 20) for of in (mapping.counts, counts))
    assert np.array_equal(weighed.cells, plain.cells)
    assert np.array_equal(weighed.groups, plain.groups)
    for group in group_levels(counts):
        assert weighed.may_name(group) == plain.may_name(group)
    for variable in counts.domain.variables:
        assert np.array_equal(weighed.levels(variable), plain.levels(variable))
    parts = (distances(problem, of, mapping.kernel) for of in (mapping.counts, counts))
    for one, other in zip(*parts, strict=True):
        shown = plain.comparisons(one, mapping.kernel)
        assert np.array_equal(weighed.comparisons(other, mapping.kernel), shown)
        assert not shown.all()
    assert fitted_coverage(counts) == fitted_coverage(mapping.counts)
    rows = [
        [(row["group"], row["cell"]) for row in cohorts(of, mapping.kernel, group_levels(of), hide_below=20)]
        for of in (mapping.counts, counts)
    ]
    assert rows[0] == rows[1]


@pytest.mark.slow
@pytest.mark.parametrize("weight", [0.001, 1e6])
def test_the_name_of_a_few_heavy_people_is_nowhere(weight):
    frame = reports.secretive_frame().assign(w=weight)
    mapping = eh.fit(reports.secretive_problem(PARITIES["each"]), frame, weights="w")
    report = eh.report_on(mapping, trace=False)
    for text in everything(report):
        assert reports.SECRET not in text
    assert report.summary["rates"]["rows"]


COUNTS = eh.datasets.load("compas").counts
FEW = {"sex": "Female", "race": "Caucasian"}


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([], True),
        ([FEW], False),
        ([{"sex": "Female"}], True),
        ([{"sex": "Female"}, FEW], False),
        ([FEW | {"is_recid": 1}], False),
        ([{"is_recid": 1}], True),
        ([{}], True),
        ([ANYBODY], False),
    ],
)
def test_a_sentence_is_left_out_for_whom_it_is_about(parts, kept):
    """482 people are in the one group; what the text says has no part in it."""
    shown = Discretion(COUNTS, 500)
    text = "sex=Female, race=Caucasian"
    told = discreet([Note("text", {"text": text}, tuple(parts)), Note("text", {"text": text})], shown)
    left_out = "1 sentence names a group or a level of too few people to be shown, and is left out"
    assert told == ([text, text] if kept else [text, left_out])


def test_a_level_that_begins_like_one_of_few_people_may_be_named():
    """Nothing is matched by its text: a=1 and a=1-b, a=1.5, b=a=1 are different people."""
    frame = pd.DataFrame(
        {"a": ["1"] * 3 + ["2"] * 18 + ["1-b"] * 60 + ["1.5"] * 60, "x": [0, 1, 1] * 47, "y": [0, 1, 0] * 47}
    )
    problem = eh.Problem(
        protected=["a"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.9)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    mapping = eh.fit(problem, frame)
    small = notes_of(mapping.theory.small_groups(width=0.01).sections)
    told = discreet(small, Discretion(mapping.counts, 20))
    assert [words.split()[2] for words in told[:-1]] == ["a=1-b", "a=1.5"]
    assert told[-1].startswith("2 sentences name")


def test_nobody_is_no_secret():
    """A level that the rules list and nobody has may be named."""
    data = eh.datasets.load("compas")
    nobody = data.frame.assign(age_cat=data.frame["age_cat"].cat.add_categories(["ageless"]))
    shown = Discretion(eh.count(data.problem, nobody), 20)
    assert shown.may_name({"age_cat": "ageless"})
    assert not Discretion(COUNTS, 10_000).may_name({"age_cat": "25 - 45"})


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("parity", PARITIES.values(), ids=PARITIES)
def test_whoever_is_named_is_whom_a_sentence_is_about(parity):
    mapping = eh.fit(reports.secretive_problem(parity), reports.secretive_frame())
    domain, found = mapping.counts.domain, notes_of(mapping.audit().sections, "caveats")
    levels = {
        f"{v.name}={level}": (v.name, level) for v in (*domain.d.variables, *domain.x.variables) for level in v.levels
    }
    naming = 0
    found += notes_of(mapping.theory.sections)
    said = [(sentence(note), note.about) for note in found]
    for text, parts in said:
        named = {level for words, level in levels.items() if words in text}
        assert named <= {level for part in parts for level in part.items()}
        naming += bool(named)
    assert naming > 3
