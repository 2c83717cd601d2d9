"""What a column holds, told piece by piece, and a sample that depends on what rows hold alone."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow
import pytest
from mixed import FEATURES, mixed, problem

import evenhand as eh
from evenhand.data.tree import Kind
from evenhand.engines.typed import ReadAs, Types, read_as
from evenhand.tables import canonical, dealt_folds, level_rows, read
from evenhand.tables.sampling import Alike, Piece, Smallest, both, contents, look, sample_in_pieces, sample_of

BLANKS = ("?", -9)


def from_texts(columns, blanks, variables=()):
    """Columns of texts as a CSV file gives them: levels as variables have them, others by what all texts are."""
    found, known = {}, read_as(variables)
    for name, texts in columns.items():
        types = Types(blanks)
        types.add(texts)
        how = known.get(name) or ReadAs(types.holds, frozenset(map(canonical, blanks)))
        found[name] = how.column((np.arange(len(texts)), texts))
    return pd.DataFrame(found)


def as_texts(table, blanks, variables=()):
    """A table as a CSV file of it gives it."""
    found = pyarrow.Table.from_pandas(table, preserve_index=False)
    columns = {name: found[name].cast("string").to_pylist() for name in found.column_names}
    return from_texts(columns, blanks, variables)


def known_of(tables):
    stated = problem(features=["x"], missing_values=BLANKS)
    found = [look(stated, read(table)) for table in tables]
    return reduce(both, found)["x"]


def kinds(*pieces):
    """What is known of a column of texts that comes in pieces."""
    whole = from_texts({"x": [text for piece in pieces for text in piece]}, BLANKS)
    ends = np.cumsum([0, *map(len, pieces)])
    return known_of(whole.iloc[first:last] for first, last in pairwise(ends))


def kind_in_memory(values):
    return known_of([pyarrow.table({"x": values})]).kind


class TestKinds:
    @pytest.mark.parametrize(
        ("pieces", "kind"),
        [
            ([["1", "2.5"], ["-3e4", "", None, "?"]], Kind.NUMBER),
            ([["1", "2.5"], ["007"]], Kind.WORD),
            ([["true", "False"], [None], ["TRUE"]], Kind.TRUTH),
            ([["true"], ["1"]], Kind.WORD),
            ([["2014-05-01"], ["2014-05-01 12:00:00", "?"]], Kind.DATE),
            ([["2014-05-01"], ["2014-13-01"]], Kind.WORD),
            ([["2014-05-01"], ["2014-05-01x"]], Kind.WORD),
            ([[None, "?"], ["3"]], Kind.NUMBER),
            ([[None, "?"], [""]], Kind.WORD),
            ([["a\nb"], ["1"]], Kind.WORD),
        ],
        ids=str,
    )
    def test_of_texts(self, pieces, kind):
        assert kinds(*pieces).kind is kind
        assert kinds(*reversed(pieces)).kind is kind

    def test_texts_in_memory_are_no_numbers(self):
        assert kind_in_memory(["1", "2"]) is Kind.WORD
        assert kind_in_memory(["true", "FALSE"]) is Kind.TRUTH

    def test_of_types(self):
        assert kind_in_memory([1.0, None]) is Kind.NUMBER
        assert kind_in_memory([True, None]) is Kind.TRUTH

    def test_gaps(self):
        assert not kinds(["1", "2"]).gaps
        assert kinds(["1"], ["-9.0"]).gaps

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("blanks", [(), ("?", -9)])
    def test_the_same_in_pieces_as_in_memory(self, blanks):
        table, stated = mixed(500), problem(missing_values=blanks)
        rows = level_rows(stated, read(table), None)
        sample = sample_of(
            stated, rows.table, rows.everybody, rows.group, rows.codes["hired"], rows.weight, rows.weight
        )
        for given in (as_texts(table.astype({"plan": object}), blanks), table):
            known = reduce(both, (look(stated, read(given[first : first + 100])) for first in range(0, 500, 100)))
            assert [known[name].asked(name) for name in FEATURES] == [seen.asked for seen in sample.columns]


class TestSamples:
    def sampled(self, stated, given, rows, size):
        def pieces():
            for first in range(0, len(given), 137):
                part = given[first : first + 137]
                yield Piece(read(part), np.ones(len(part)))

        return sample_in_pieces(stated, size, pieces, rows.variables, rows.everybody)

    @pytest.mark.slow
    @pytest.mark.parametrize("size", [50, 700, 5000])
    def test_in_memory_and_in_pieces(self, size):
        table = mixed(1000)
        stated = problem(cells=eh.Leaves(sample=size))
        rows = level_rows(stated, read(table), None)
        expected = sample_of(
            stated, rows.table, rows.everybody, rows.group, rows.codes["hired"], rows.weight, rows.weight
        )
        assert expected.people.sum() <= 1000
        assert len(expected) <= size
        assert (expected.people.sum() == 1000) == (size == 5000)
        for given in (as_texts(table, stated.missing_values, rows.variables), table):
            found = self.sampled(stated, given, rows, size)
            assert np.array_equal(found.outcome, expected.outcome)
            assert np.array_equal(found.group, expected.group)
            for mine, theirs in zip(found.columns, expected.columns, strict=True):
                assert mine.asked == theirs.asked
                if mine.given.numbers is not None:
                    assert np.array_equal(mine.given.numbers, theirs.given.numbers, equal_nan=True)
                else:
                    words = [[*each.given.words, None] for each in (mine, theirs)]
                    assert [words[0][i] for i in mine.given.codes] == [words[1][i] for i in theirs.given.codes]

    @pytest.mark.slow
    def test_a_late_word_among_dates(self):
        """What was chosen by dates is chosen anew by words."""
        table = mixed(1000).astype({"code": object})
        table["code"] = [f"2020-01-{1 + row % 28:02}" for row in range(1000)]
        table.loc[990, "code"] = "unknown"
        stated = problem(cells=eh.Leaves(sample=300))
        rows = level_rows(stated, read(table.astype({"code": str})), None)
        in_memory = table.assign(code=table.code.map(str))
        expected = sample_of(
            stated, read(in_memory), rows.everybody, rows.group, rows.codes["hired"], rows.weight, rows.weight
        )
        found = self.sampled(stated, as_texts(in_memory, stated.missing_values, rows.variables), rows, 300)
        assert [seen.asked for seen in found.columns] == [seen.asked for seen in expected.columns]
        assert found.columns[FEATURES.index("code")].asked.kind is Kind.WORD
        assert np.array_equal(found.outcome, expected.outcome)

    def test_the_order_of_rows_does_not_matter(self):
        table = mixed(2000)
        stated = problem(cells=eh.Leaves(most=12, at_least=5, sample=400))
        shuffled = table.sample(frac=1, random_state=3)
        trees = [eh.count(stated, each).domain.x.variables[0].tree for each in (table, shuffled)]
        assert trees[0] == trees[1]

    def test_it_is_no_lopsided_choice(self):
        table = mixed(20_000)
        stated = problem(cells=eh.Leaves(sample=4000))
        rows = level_rows(stated, read(table), None)
        sample = sample_of(
            stated, rows.table, rows.everybody, rows.group, rows.codes["hired"], rows.weight, rows.weight
        )
        assert np.average(sample.outcome, weights=sample.people) == pytest.approx(table.hired.mean(), abs=0.03)
        ages = sample.columns[FEATURES.index("age")].given.numbers
        assert np.average(ages, weights=sample.people) == pytest.approx(table.age.mean(), abs=1.5)

    def test_the_smallest_of_many(self):
        """Kinds of features with the smallest numbers, whole, as many as there is room for."""
        rng = np.random.default_rng(0)
        number = rng.integers(0, 500, 3000).astype(np.uint64)
        group, outcome = rng.integers(0, 2, (2, 3000))
        weight = rng.random(3000)
        smallest = Smallest(100)
        for first in range(0, 3000, 70):
            here = slice(first, first + 70)
            ones = np.ones(len(number[here]))
            alike = Alike.of(number[here], group[here], outcome[here], weight[here], ones)
            smallest.add(alike, read(pd.DataFrame({"row": np.arange(3000)[here]})))
        found, table = smallest.rows
        frame = pd.DataFrame({"number": number, "group": group, "outcome": outcome, "weight": weight, "people": 1.0})
        every = frame.groupby(["number", "group", "outcome"]).sum().reset_index()
        size = every.groupby("number").size().cumsum()
        kept = every[every["number"].isin(size[size <= 100].index)]
        assert 90 < len(kept) <= 100
        for name in ("number", "group", "outcome", "people"):
            assert getattr(found, name).tolist() == kept[name].tolist()
        assert found.weight == pytest.approx(kept["weight"].to_numpy())
        assert number[table["row"].to_list()].tolist() == found.number.tolist()

    def test_one_kind_is_there_in_any_case(self):
        number = np.zeros(10, dtype=np.uint64)
        alike = Alike.of(number, np.arange(10) % 5, np.arange(10) % 2, np.ones(10), np.ones(10))
        assert len(alike) == len(alike.first(3)) == 10

    def test_rates_within_a_kind_are_those_of_everybody(self):
        """Who is left out depends on no outcome."""
        rng = np.random.default_rng(3)
        a, b = rng.integers(0, 40, (2, 30_000))
        frame = pd.DataFrame({"d": rng.choice(["u", "v"], 30_000), "a": a, "b": b})
        frame["y"] = (rng.random(30_000) < 0.2 + a / 100).astype(int)
        stated = eh.Problem(
            protected=["d"], features=["a", "b"], outcome="y", cells=eh.Leaves(sample=2000),
            distortion=eh.Distortion({"y": eh.Nominal(1)}),
        )  # fmt: skip
        rows = level_rows(stated, read(frame), None)
        sample = sample_of(stated, rows.table, rows.everybody, rows.group, rows.codes["y"], rows.weight, rows.weight)
        found = pd.DataFrame({
            "a": sample.columns[0].given.numbers, "b": sample.columns[1].given.numbers, "y": sample.outcome,
            "n": sample.people,
        })  # fmt: skip
        rates = found.assign(of=found["y"] * found["n"]).groupby(["a", "b"])[["of", "n"]].sum()
        expected = frame.groupby(["a", "b"])["y"].agg(["sum", "size"]).loc[rates.index]
        assert rates["of"].tolist() == expected["sum"].tolist()
        assert rates["n"].tolist() == expected["size"].tolist()

    def test_contents_know_one_zero_and_one_gap(self):
        from evenhand.data.tree import Given

        one, other = np.array([0.0, np.nan]), np.array([-0.0, -np.nan])
        found = [contents([Given(numbers=each)], 2) for each in (one, other)]
        assert np.array_equal(*found)


class TestDealtFolds:
    def table(self):
        rng = np.random.default_rng(0)
        many = pd.DataFrame({"a": rng.integers(0, 2, 200).astype(float), "b": "x"})
        return pd.concat([many, pd.DataFrame({"a": np.repeat(rng.normal(size=100), 2), "b": "y"})], ignore_index=True)

    def test_many_alike_are_spread_and_few_are_together(self):
        frame = self.table()
        fold = pd.Series(dealt_folds(read(frame), ["a", "b"], 5))
        for (_, word), folds in fold.groupby([frame["a"], frame["b"]]):
            sizes = np.bincount(folds, minlength=5)
            assert np.ptp(sizes) <= 1 if word == "x" else np.count_nonzero(sizes) == 1
        assert np.bincount(fold).min() > 60

    def test_the_order_of_rows_does_not_matter_to_what_folds_hold(self):
        frame = self.table()
        frame["y"] = np.arange(len(frame)) % 3 == 0

        def held(table):
            fold = dealt_folds(read(table), ["a", "b"], 5, table["y"].to_numpy())
            return table.assign(fold=fold).value_counts().sort_index()

        pd.testing.assert_series_equal(held(frame), held(frame.sample(frac=1, random_state=1)))

    def test_columns_that_cannot_be_read_are_not_looked_at(self):
        frame = self.table()
        odd = frame.assign(c=pd.to_timedelta(np.arange(len(frame)), unit="s"))
        assert np.array_equal(dealt_folds(read(odd), ["a", "b", "c"], 5), dealt_folds(read(frame), ["a", "b"], 5))
