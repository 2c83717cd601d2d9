"""What the embedded tables hold, that the wide one is the narrow one with more columns, and the made-up table."""

from importlib import resources

import pandas as pd
import pytest

import evenhand as eh
from evenhand.optimize.compile import compile_problem


@pytest.fixture(scope="module")
def wide():
    return eh.datasets.load("adult-wide")


@pytest.mark.slow
def test_the_wide_table_has_the_facts_that_its_description_states(wide):
    assert int(wide.cells["people"].sum()) == len(wide.frame) == 32_561
    assert len(wide.counts) == len(wide.cells) == 13_024
    domain = wide.counts.domain
    assert domain.x.shape == (7, 9, 4, 7, 9, 15)
    assert domain.x.size * domain.y.size == 476_280
    assert domain.d.size * domain.x.size * domain.y.size == 1_905_120
    assert compile_problem(wide.problem, wide.counts).program.n_moves == 195_994
    for stated in ("32,561", "13,024", "1,905,120", "195,994"):
        assert stated in wide.about


def test_its_ordered_columns_are_ordered_and_the_others_text(wide):
    for column in ("age", "education", "hours"):
        assert wide.frame[column].cat.ordered
    for column in ("sex", "race", "marital_status", "workclass", "occupation"):
        assert not isinstance(wide.frame[column].dtype, pd.CategoricalDtype)
    assert list(wide.frame["hours"].cat.categories) == ["<35", "35-40", "41-50", ">50"]
    assert set(wide.frame["income"]) == {0, 1}


def test_without_its_columns_it_is_the_narrow_table(wide, adult):
    columns = [c for c in adult.cells.columns if c != "people"]
    summed = wide.cells.groupby(columns, observed=True)["people"].sum()
    expected = adult.cells.set_index(columns)["people"]
    assert summed.sort_index().to_dict() == expected.sort_index().to_dict()


def test_only_the_named_columns_move(wide):
    assert set(wide.problem.distortion.rules) == {"age", "education", "hours", "income"}
    assert eh.Problem.from_toml(wide.problem.to_toml()) == wide.problem


def test_the_wide_table_is_small_on_disk():
    table = resources.files("evenhand.datasets").joinpath("adult-wide.csv.gz")
    assert len(table.read_bytes()) < 100_000


@pytest.mark.parametrize(("name", "good"), [("compas", 0), ("adult", 1), ("adult-wide", 1)])
def test_every_study_says_which_outcome_is_good_for_a_person(name, good):
    data = eh.datasets.load(name)
    assert data.problem.favourable == good
    assert data.counts.domain.outcome.place(good) is not None


def test_more_people_are_of_the_same_kind_and_a_seed_decides():
    some, more = eh.datasets.loans(200, seed=3), eh.datasets.loans(200, seed=4)
    assert some.equals(eh.datasets.loans(200, seed=3))
    assert list(some.columns) == list(more.columns)
    assert not some["income"].equals(more["income"])
    assert len(some) == some["application"].nunique() == 200


def test_its_columns_are_what_a_raw_file_has():
    table = eh.datasets.loans()
    assert set(table["granted"]) == {"yes", "no"}
    assert 0.03 < table["savings"].isna().mean() < 0.07
    assert not table.drop(columns="savings").isna().any(axis=None)
    assert (table["work_years"] <= table["age"] - 17).all()
    assert table["age"].between(18, 85).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_men_were_granted_loans_more_often_also_at_equal_incomes(seed):
    table = eh.datasets.loans(20_000, seed)
    yes, men = table["granted"] == "yes", table["sex"] == "male"
    assert yes[men].mean() > yes[~men].mean() + 0.1
    middle = table["income"].between(29_000, 33_000)
    assert yes[men & middle].mean() > yes[~men & middle].mean() + 0.03
