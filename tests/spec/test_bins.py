"""How values become levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.data.levels import MOST_KEPT, Stock
from evenhand.spec import Occurrence
from evenhand.spec.bins.cuts import Cuts
from evenhand.spec.bins.merges import Merges


def seen(values, by_outcome=None, column="age"):
    by_outcome = np.ones((len(values), 1)) if by_outcome is None else np.asarray(by_outcome, dtype=float)
    return Occurrence(column, list(values), by_outcome)


def test_edges_hold_their_lower_end():
    levels, coding, ordered = eh.Edges([25, 45]).levels(seen(range(20, 60)))
    assert ordered
    assert levels == ("<25", "25 to 44", ">=45")
    assert coding.codes(np.array([24.0, 25, 44, 45, -1e9, 1e9])).tolist() == [0, 1, 1, 2, 0, 2]
    assert coding.stock[0].values == (20, 21, 22, 23, 24)


@pytest.mark.parametrize(
    ("edges", "values", "names"),
    [
        ([2.5], [1.0, 3.0], ("<2.5", ">=2.5")),
        ([0.5, 1.5], [0.0, 1.0, 2.0], ("<0.5", "0.5 to <1.5", ">=1.5")),
        ([3, 4, 6], [1, 9], ("<3", "3", "4 to 5", ">=6")),
        ([-3, 0], [-9, 9], ("<-3", "-3 to -1", ">=0")),
        ([1000000, 1000001], [1, 2000000], ("<1000000", "1000000", ">=1000001")),
        ([0.1234567, 0.1234568], [0.0, 1.0], ("<0.1234567", "0.1234567 to <0.1234568", ">=0.1234568")),
    ],
)
def test_names_of_bins(edges, values, names):
    assert eh.Edges(edges).levels(seen(values))[0] == names


def test_labels_of_your_own():
    assert eh.Edges([25], labels=["young", "old"]).levels(seen([20, 30]))[0] == ("young", "old")
    with pytest.raises(eh.SpecError, match="2 bins"):
        eh.Edges([25], labels=["young"])
    with pytest.raises(eh.SpecError, match="twice"):
        eh.Edges([25], labels=["a", "a"])


@pytest.mark.slow
@given(
    values=st.lists(st.integers(-50, 50), min_size=2, max_size=40, unique=True),
    number=st.integers(2, 8),
    seed=st.integers(0, 99),
)
def test_quantiles_share_the_weight(values, number, seed):
    weights = np.random.default_rng(seed).integers(1, 9, len(values)).astype(float)
    values = sorted(values)
    edges = eh.Quantiles(number).find(seen(values, weights[:, None]))
    assert 1 <= len(edges) < number
    bins = np.searchsorted(edges, values, side="right")
    shares = np.bincount(bins, weights=weights) / weights.sum()
    assert np.all(shares > 0)
    # A bin holds its share, up to the weight of one value at either end.
    assert np.all(shares <= 1 / number + 2 * weights.max() / weights.sum() + 1e-12)


def test_chosen_bins_find_where_the_outcome_changes():
    ages = np.arange(18, 80)
    rate = np.select([ages < 30, ages < 55], [0.1, 0.6], 0.3)
    by_outcome = np.stack([100 * (1 - rate), 100 * rate], axis=1)
    assert eh.ChosenBins().find(seen(ages.tolist(), by_outcome)) == (30.0, 55.0)
    assert eh.ChosenBins(most=2).find(seen(ages.tolist(), by_outcome)) == (30.0,)


def test_chosen_bins_of_a_column_that_tells_nothing_are_two_halves():
    ages = list(range(20, 60))
    assert eh.ChosenBins().find(seen(ages, np.full((40, 2), 50.0))) == (40.0,)


def test_merged_levels():
    races = ["Asian", "Black", "White"]
    levels, coding, ordered = eh.MergedLevels({"Minority": ["Asian", "Black", "Other"]}).levels(seen(races))
    assert levels == ("Minority", "White")
    assert not ordered
    assert coding.codes(["White", "Other", "Black", "Martian"]).tolist() == [1, 0, 0, -1]
    rest = eh.MergedLevels({"White": ["White"]}, rest="Minority").levels(seen(races))
    assert rest[1].codes(["Martian", "White"]).tolist() == [rest[0].index("Minority"), rest[0].index("White")]
    grades = eh.MergedLevels({"low": [1, 2], "high": [3]}, ordered=True).levels(seen([1, 2, 3]))
    assert grades[0] == ("low", "high")
    assert grades[2]


def test_pooled_levels_take_the_rare_and_the_never_seen():
    countries = seen(["A", "B", "C"], [[50.0], [3], [4]])
    levels, coding, _ = eh.PooledLevels(5).levels(countries)
    assert levels == ("A", "other")
    assert coding.codes(["A", "C", "never"]).tolist() == [0, 1, 1]
    assert coding.middle(1) == "C"
    nothing, plain, _ = eh.PooledLevels(1).levels(countries)
    assert nothing == ("A", "B", "C")
    assert plain.codes(["never"]).tolist() == [-1]


def test_pooled_levels_that_are_kept_by_name_are_the_same_in_every_table():
    kept = eh.PooledLevels(keep=["A", "B"], into="elsewhere")
    levels, coding, _ = kept.levels(seen(["A", "B", "C"], [[50.0], [3], [400]]))
    assert levels == ("A", "B", "elsewhere")
    assert coding.codes(["B", "C", "never"]).tolist() == [1, 2, 2]
    assert kept.levels(seen(["A", "D"], [[1.0], [9]]))[0] == ("A", "elsewhere")
    assert kept.levels(seen(["A", "B"], [[1.0], [9]]))[0] == ("A", "B")
    assert eh.PooledLevels(keep=[1, 2]).levels(seen([1, 2, 3]))[0] == (1, 2, "other")
    assert kept.words == "all values but 'A', 'B' are one level, 'elsewhere'"


def test_stocks_of_many_values_are_thinned_evenly():
    values = list(range(10_000))
    stock = Stock.of(values, np.ones(10_000))
    assert len(stock.values) == MOST_KEPT
    assert abs(np.average(stock.values, weights=stock.weights) - 4999.5) < 25
    assert set(stock.values) <= set(values)


@pytest.mark.parametrize(
    ("coding", "code", "middle"),
    [
        (Cuts((25.0, 45.0), (Stock((18, 20), (1.0, 1.0)), Stock((), ()), Stock((50, 90), (1.0, 1.0))), True), 0, 21),
        (Cuts((25.0, 45.0), (Stock((18,), (1.0,)), Stock((), ()), Stock((50, 90), (1.0, 1.0))), True), 1, 34),
        (Cuts((25.0, 45.0), (Stock((18,), (1.0,)), Stock((), ()), Stock((50, 90), (1.0, 1.0))), True), 2, 67),
        (Cuts((0.5,), (Stock((0.1,), (1.0,)), Stock((0.9,), (1.0,))), False), 0, 0.3),
        (Merges((("a", "b"),), None, (Stock(("a", "b"), (1.0, 5.0)),)), 0, "b"),
    ],
)
def test_the_middle_of_a_level_lies_in_it(coding, code, middle):
    assert (
        coding.middle(code) == pytest.approx(middle) if not isinstance(middle, str) else coding.middle(code) == middle
    )
    if isinstance(coding, Cuts):
        assert coding.codes(np.array([float(coding.middle(code))])).tolist() == [code]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: eh.Edges([]), "list of numbers"),
        (lambda: eh.Edges([3, 3]), "must ascend"),
        (lambda: eh.Edges([1, float("inf")]), "finite"),
        (lambda: eh.Quantiles(1), "at least 2"),
        (lambda: eh.Quantiles(2.5), "whole number"),
        (lambda: eh.ChosenBins(True), "must be a whole number"),
        (lambda: eh.MergedLevels({}), "into of MergedLevels must be a mapping"),
        (lambda: eh.MergedLevels({"a": "xyz"}), "must be a list of values"),
        (lambda: eh.MergedLevels({"a": ["x"], "b": ["x"]}), "in both"),
        (lambda: eh.PooledLevels(-1), "at least 0"),
        (lambda: eh.PooledLevels(), "needs one of the two"),
        (lambda: eh.PooledLevels(5, keep=["a"]), "needs one of the two"),
        (lambda: eh.PooledLevels(keep="abc"), "must be a list of values"),
        (lambda: eh.PooledLevels(keep=[]), "must be a list of values"),
        (lambda: eh.PooledLevels(keep=["a", "a"]), "'a' twice"),
        (lambda: eh.CsvFormat(delimiter=""), "one to 4 characters"),
        (lambda: eh.CsvFormat(delimiter='"'), "cannot hold quotes"),
        (lambda: eh.CsvFormat(names=["a", "a"]), "twice"),
    ],
)
def test_bad_statements(make, words):
    with pytest.raises(eh.SpecError, match=words):
        make()


@pytest.mark.parametrize(
    ("binning", "values", "words"),
    [
        (eh.Edges([3]), ["1", "2"], "not a number.*missing_values"),
        (eh.Quantiles(4), [5], "finds no edge"),
        (eh.MergedLevels({"A": ["x"]}), ["x", "A"], "already has a value 'A'"),
        (eh.PooledLevels(keep=["north"]), ["North", "south"], "none of the levels that.*Did you mean 'North'"),
        (eh.PooledLevels(2), ["a", "b"], None),
    ],
)
def test_bins_that_do_not_fit_the_column(binning, values, words):
    if words is None:
        assert binning.levels(seen(values))[0] == ("other",)
        return
    with pytest.raises(eh.EvenhandError, match=words):
        binning.levels(seen(values))
