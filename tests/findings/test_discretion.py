"""Who is hidden: nothing that names or counts few people leaves a report's JSON, its page or a chart."""

import json

import numpy as np
import pandas as pd
import pytest
import reports

import evenhand as eh
from evenhand.findings.coverage import fitted_coverage
from evenhand.findings.discretion import Behind, Compared, Discretion, combinations_shown, complementary, discreet
from evenhand.findings.naming import cell_levels, group_levels
from evenhand.findings.rates import cohorts
from evenhand.kernel.achieved import distances
from evenhand.render.section import ANYBODY, Chart, Column, Note, Section, Table, notes_of
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
    """Everything a reader could find: the JSON, the page with its charts, and Markdown."""
    return [report.to_json(), report.html, report.to_markdown(), str(report)]


@pytest.mark.slow
@pytest.mark.parametrize("parity", PARITIES.values(), ids=PARITIES)
def test_the_name_of_a_few_people_is_nowhere(parity):
    frame = reports.secretive_frame()
    mapping = eh.fit(reports.secretive_problem(parity), frame)
    # Whether it is hidden is only tested where it would be there.
    assert reports.SECRET in eh.report_on(mapping, trace=False, hide_below=0).to_json()
    report = eh.report_on(mapping, frame=frame, trace=False)
    for text in everything(report):
        assert reports.SECRET not in text
    small = reports.numbers_of(report)["report"]
    assert small["groups_hidden"] >= small["groups"] - 4
    assert "Every bound holds for those who are not shown, too" in report.html


@pytest.mark.slow
def test_what_the_problem_names_is_repeated():
    """The exact problem, and what was asked, are the user's own words."""
    merged = {"other": ["temporary", f"{reports.SECRET}-job"]}
    bins = {"age": eh.Edges([40]), "income": eh.Edges([2900]), "job": eh.MergedLevels(merged, rest="all")}
    mapping = eh.fit(reports.secretive_problem(eh.PairwiseParity(0.3), bins=bins), reports.secretive_frame())
    found = reports.document_of(mapping)
    assert reports.SECRET in found.pop("problem")["toml"]
    assert reports.SECRET in json.dumps(found["asked"].pop("levels"))
    assert reports.SECRET not in json.dumps(found)


def test_a_comparison_needs_people_on_both_sides():
    mapping = reports.hostile_mapping()
    (part,) = mapping.achieved.parity
    shown = Discretion(mapping.counts, 20).comparisons(part.compared, mapping.kernel)
    words = [part.compared.words(at) for at in range(len(part.value))]
    assert shown.tolist() == ["small" not in text for text in words]
    assert Discretion(mapping.counts, 0).comparisons(part.compared, mapping.kernel).all()


def test_a_released_segment_counts_those_expected_in_it():
    """A group may be large, and yet few of it released into a segment."""
    mapping = eh.fit(reports.secretive_problem(PARITIES["within released segments"]), reports.secretive_frame())
    (part,) = mapping.achieved.parity
    at_most = Discretion(mapping.counts, 1e9).comparisons(part.compared, mapping.kernel)
    assert not at_most.any()
    few = Discretion(mapping.counts, 20).comparisons(part.compared, mapping.kernel)
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
        shown = plain.comparisons(one.compared, mapping.kernel)
        assert np.array_equal(weighed.comparisons(other.compared, mapping.kernel), shown)
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
    assert reports.numbers_of(report)["rates"]["every_rate"]


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
    notes = Note("text", {"text": "of them"}, tuple(parts)), Note("text", {"text": text})
    (told,) = discreet([Section("caveats", parts=(Section("rates", notes=notes),))], shown)
    assert [sentence(note) for note in told.parts[0].notes] == (["of them", text] if kept else [text])


def test_rows_are_left_out_with_what_would_reveal_them_and_counted():
    """Of three parts of a total one is of few people: the next smallest goes with it; charts are filtered alike."""
    shown = Discretion(COUNTS, 500)
    columns = Column("who"), Column("of"), Column("n", "people")
    rows = ("a", "x", 1000), ("b", "x", 700), ("c", "x", 12), ("d", "y", 900)
    about = tuple((Behind(n),) for *_, n in rows)
    alone, total = Table("alone", columns, rows, about), Table("total", columns, rows, about, totals=(("of",),))
    assert shown.passed_on(alone).values("who") == ["a", "b", "d"]
    assert shown.passed_on(total).values("who") == ["a", "d"]
    chart = Chart("chart.rates", "bars", total, ("who",), ("n",))
    (told,) = discreet([Section("rates", tables=(total,), charts=(chart,))], shown)
    assert told.charts[0].table.values("who") == ["a", "d"]
    assert (told.value("hidden"), sentence(told.notes[0])[:26]) == (2, "2 of 4 rows are not shown:")
    open_ = Discretion(COUNTS, 0)
    assert discreet([Section("rates", tables=(total,))], open_)[0].table("total") is not total
    assert discreet([Section("rates", tables=(total,))], open_)[0].value("hidden") == 0


def test_a_row_may_be_about_a_comparison_or_a_cell():
    mapping = reports.hostile_mapping()
    (part,) = mapping.achieved.parity
    shown = Discretion(mapping.counts, 20)
    told = [shown.may_name(Compared(part.compared, mapping.kernel, at)) for at in range(len(part.value))]
    assert told == ["small" not in part.compared.words(at) for at in range(len(part.value))]
    shown = Discretion(COUNTS, 20)
    cells = [shown.may_name(cell_levels(COUNTS, at)) for at in range(len(COUNTS))]
    assert cells == shown.cells.tolist()
    assert 0 < sum(cells) < len(cells)


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
    (told,) = discreet([Section("caveats", notes=small)], Discretion(mapping.counts, 20))
    assert len(small) == 4
    assert [sentence(note).split()[2] for note in told.notes] == ["a=1-b", "a=1.5"]


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


# Attacks: no small group follows by subtraction from what is shown.

FEW_PEOPLE = 20


def random_kinds(seed):
    """Combinations of levels of one to three columns, about a third of them of few people."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 5, rng.integers(1, 4))
    codes = np.indices(shape).reshape(len(shape), -1)
    small = rng.random(codes.shape[1]) < 0.3
    people = np.where(small, rng.integers(0, FEW_PEOPLE, len(small)), rng.integers(FEW_PEOPLE, 500, len(small)))
    return codes[:, people > 0], people[people > 0].astype(float)


def indicators(codes, chosen):
    """One row for each combination of some columns, one where a kind is in it."""
    place = np.unique(codes[list(chosen)], axis=1, return_inverse=True)[1].ravel()
    return np.eye(place.max() + 1)[place].T


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seeds", [range(at, at + 6) for at in range(0, 120, 6)])
def test_all_tables_of_groups_together_determine_none_of_few_people(seeds):
    """Every number that a table may show is a linear equation; those of few people must not follow from all of them."""
    attacked = named = 0
    for seed in seeds:
        codes, people = random_kinds(seed)
        found = combinations_shown(list(codes), people, FEW_PEOPLE)
        assert len(found) == 2 ** len(codes) - 1
        tables = {chosen: indicators(codes, chosen) for chosen in found}
        shown = [table[(table @ flags) > 0] for table, flags in zip(tables.values(), found.values(), strict=True)]
        assert all((rows @ people >= FEW_PEOPLE).all() for rows in shown)
        equations = np.concatenate([np.ones((1, len(people))), *shown])
        projection = np.linalg.pinv(equations) @ equations
        for table in tables.values():
            small = table[table @ people < FEW_PEOPLE]
            assert not np.isclose(small @ projection, small).all(axis=1).any(), seed
            attacked += len(small)
        named += sum(map(len, shown))
    assert attacked > 4
    assert named > 4


def test_what_is_hidden_for_another_is_the_smallest_that_will_do():
    people = np.array([7.0, 9.0, 30.0, 40.0, 500.0])
    total = np.zeros(5, dtype=np.int64)
    assert complementary(people, people >= FEW_PEOPLE, [total], FEW_PEOPLE).tolist() == [
        False,
        False,
        False,
        True,
        True,
    ]
    nobody_small = people[2:]
    assert complementary(nobody_small, nobody_small >= FEW_PEOPLE, [total[2:]], FEW_PEOPLE).all()
    alone = complementary(people[:1], people[:1] >= FEW_PEOPLE, [total[:1]], FEW_PEOPLE)
    assert not alone.any()
