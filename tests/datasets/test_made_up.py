"""The table that is made up is what its docstring says, and one that a problem can be stated for."""

import pytest

import evenhand as eh


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
