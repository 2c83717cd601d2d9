"""One person in plain values, and one row of a frame, are what the same rows are among many."""

import pickle
import warnings
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from uuid import UUID

import awkward
import numpy as np
import pandas as pd
import people
import polars as pl
import pyarrow as pa
import pytest
from families import random_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import evenhand as eh
from evenhand.data.levels import Coding
from evenhand.kernel.draws import keyed_draw
from evenhand.kernel.stochastic import unchanged

MODES = ("apply", "release")
RESTORED = ("sample", "midpoint", "label")
VARIANTS = [pytest.param(changes, id=name) for name, changes in awkward.VARIANTS.items()]
KEY = awkward.KEY


def drawn_up(problem, frame):
    """A mapping with a few random targets for each source, which nothing was solved for."""
    counts = eh.count(problem, frame)
    return awkward.scattered(eh.Mapping(problem, counts, unchanged(counts), None, None))


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        return function(*arguments, **options)


def plainly(value):
    """A value and its kind, None for a missing one, so that 1, 1.0 and True are told apart."""
    value = value.item() if isinstance(value, np.generic) else value
    missing = value is None or value is pd.NA or value != value
    return None if missing else (type(value).__name__, value)


def same(found, expected):
    assert list(found) == list(expected)
    for name in expected:
        assert plainly(found[name]) == plainly(expected[name]), name


def records(frame):
    """The rows of a pandas frame as they are: no row is made one array."""
    columns = {name: frame[name].tolist() for name in frame.columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.fixture(scope="module")
def hiring():
    return eh.fit(people.problem(), people.people())


@pytest.fixture(scope="module")
def scattered(hiring):
    return awkward.scattered(hiring)


@pytest.fixture(scope="module")
def complete():
    """A mapping without a level for missing values."""
    return eh.fit(people.problem(missing="error", missing_values=[]), people.people())


@pytest.fixture(scope="module")
def row():
    return records(people.people(1))[0]


class TestTheSameAsAmongMany:
    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("changes", VARIANTS)
    @pytest.mark.parametrize("restore", RESTORED)
    def test_by_key(self, changes, mode, restore):
        """Awkward texts, bins, merged levels, missing values, words for them, infinite numbers, unseen people."""
        fitted, frame = awkward.mapping(**changes), awkward.awkward(150, seed=3)
        options = {"key": KEY, "seed": 5, "restore": restore, "missing": "level"}
        expected = records(quietly(getattr(fitted, mode), frame, **options))
        for row, after in zip(records(frame), expected, strict=True):
            same(quietly(fitted.person, row, mode=mode, **options), after)
        assert sum(before != after for before, after in zip(records(frame), expected, strict=True)) > 20

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("changes", VARIANTS)
    def test_by_position(self, changes, mode):
        fitted, frame = awkward.mapping(**changes), awkward.awkward(30, seed=4)
        for seed, row in enumerate(records(frame)):
            options = {"seed": seed, "missing": "level"}
            draw = {"draw": "independent"} | options
            expected = records(quietly(getattr(fitted, mode), frame.iloc[[seed]], **draw))[0]
            same(quietly(fitted.person, row, mode=mode, **options), expected)

    @pytest.mark.parametrize("mode", MODES)
    def test_numbers_and_truths_with_blanks_among_them(self, mode):
        fitted, table = awkward.mapping_of_numbers(), awkward.numbers(300, seed=1, new=True)
        options = {"key": "note", "missing": "level"}
        expected = quietly(getattr(fitted, mode), table, **options).to_pylist()
        for row, after in zip(table.to_pylist(), expected, strict=True):
            same(quietly(fitted.person, row, mode=mode, **options), after)

    @pytest.mark.slow
    @settings(max_examples=10, deadline=None)
    @given(st.integers(0, 10**6), st.sampled_from(MODES), st.integers(0, 2**80), st.booleans())
    def test_of_any_problem(self, number, mode, seed, keyed):
        rng = np.random.default_rng(number)
        problem, frame = random_problem(rng)
        fitted = drawn_up(problem, frame)
        # Half of them have a value that nobody had, so that unseen people are among them.
        new = frame.sample(40, random_state=number, replace=True, ignore_index=True).assign(id=range(40))
        new.loc[::7, "f0"] = 99
        options = {"seed": seed, "key": "id"} if keyed else {"seed": seed}
        for first in range(0, 40, 8):
            turned = pd.concat([new[first:], new[:first]], ignore_index=True)
            draw = {"draw": "independent"} | options
            expected = records(quietly(getattr(fitted, mode), turned, **draw))[0]
            same(quietly(fitted.person, records(turned)[0], mode=mode, **options), expected)

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", MODES)
    def test_a_mapping_that_was_read_from_a_file(self, tmp_path, mode):
        free = {**people.problem().distortion.rules, "hired": eh.Free()}
        stated = people.problem(suppress_protected="fixed", parity=[eh.PairwiseParity(0.1)])
        fitted = eh.fit(replace(stated, distortion=eh.Distortion(free)), people.people())
        fitted.save(tmp_path / "mapping.eh")
        read = eh.Mapping.load(tmp_path / "mapping.eh")
        rows = records(people.people(200, seed=6))
        found = [quietly(read.person, row, mode=mode, key="id") for row in rows]
        assert found == [quietly(fitted.person, row, mode=mode, key="id") for row in rows]
        assert found != rows


LIKE = {
    "int": lambda v: int(v), "float": lambda v: float(v), "bool": lambda v: bool(v), "int8": np.int8,
    "uint64": np.uint64, "float32": np.float32, "float64": np.float64, "bool_": np.bool_,
}  # fmt: skip


@pytest.fixture(scope="module")
def numbers():
    """Whole numbers, truths, real numbers in bins with edges between whole ones, and merged numbers."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "d": rng.integers(0, 2, 600), "n": rng.integers(0, 2, 600), "b": rng.random(600) < 0.5,
            "r": np.round(rng.random(600) * 4, 1), "w": rng.integers(0, 9, 600), "m": rng.integers(0, 3, 600),
            "y": rng.integers(0, 2, 600),
        }
    )  # fmt: skip
    features = ["n", "b", "r", "w", "m"]
    bins = {"r": eh.Edges([0.5, 1.4]), "w": eh.Edges([2, 5]), "m": eh.MergedLevels({"some": [1, 2]})}
    rules = eh.Distortion(dict.fromkeys([*features, "y"], eh.Nominal(1)))
    stated = eh.Problem(
        protected=["d"], features=features, outcome="y", parity=[eh.PairwiseParity(5)], bins=bins, distortion=rules
    )
    return drawn_up(stated, frame)


class TestValues:
    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize("kind", LIKE)
    @pytest.mark.parametrize("column", ["d", "n", "b", "r", "w", "m"])
    def test_a_number_is_what_it_is_in_a_column_of_its_type(self, numbers, column, kind):
        changed = 0
        for seed in range(15):
            row = {"id": seed, "d": 1, "n": 0, "b": True, "r": 0.7, "w": 4, "m": 1, "y": 1}
            row[column], restore = LIKE[kind](seed % 2), RESTORED[seed % 3]
            expected = records(quietly(numbers.apply, pd.DataFrame([row]), key="id", restore=restore))[0]
            found = quietly(numbers.person, row, key="id", restore=restore)
            changed += plainly(found[column]) != plainly(row[column])
            if isinstance(row[column], bool | np.bool_) and restore != "label" and found[column] not in (0, 1):
                # A column of truths holds true for every other number; the number itself lies in the drawn bin.
                assert expected[column]
            else:
                same(found, expected)
        assert changed or column == "d"

    def test_what_does_not_change_is_the_very_value(self):
        fitted, row = awkward.mapping(), OrderedDict(records(awkward.awkward(1))[0], extra=[object()])
        found = fitted.person(MappingProxyType(row), key=KEY)
        assert type(found) is dict
        assert found["extra"] is row["extra"]
        assert sum(found[name] is not row[name] for name in row) <= 5
        assert row == OrderedDict(records(awkward.awkward(1))[0], extra=row["extra"])

    @pytest.mark.parametrize("gone", [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN")])
    def test_whatever_stands_for_no_value(self, gone):
        fitted, row = awkward.mapping(), records(awkward.awkward(1))[0]
        for number in range(20):
            people_ = [{**row, KEY: number, awkward.TITLE: missing} for missing in (None, gone)]
            found, other = (fitted.person(person, key=KEY, restore="midpoint") for person in people_)
            same(other, found)

    def test_a_row_with_every_type_of_numpys(self):
        fitted = awkward.mapping()
        for row in records(awkward.awkward(40, seed=8)):
            numpys = {name: np.asarray(value)[()] if value is not None else None for name, value in row.items()}
            same(quietly(fitted.person, numpys, key=KEY), quietly(fitted.person, row, key=KEY))

    @pytest.mark.parametrize("number", [2**53 + 1, -(10**400), 10**400, 1e308, float("inf")])
    def test_numbers_beyond_all_bins_lie_in_the_outer_ones(self, number):
        fitted, row = awkward.mapping(), records(awkward.awkward(1))[0]
        assert quietly(fitted.person, {**row, "balance": number}, restore="label")["balance"] in ("<-10.5", ">=20.1")

    def test_a_coding_may_know_one_value_at_a_time_or_many(self):
        for variable in awkward.mapping().counts.domain.variables:
            if variable.coding is not None:
                coding = variable.coding
                values = [-np.inf, -10.5, 0.0, 20.1, np.inf, np.nan] if coding.numeric else [*awkward.WORDS, "x"]
                many = coding.codes(np.array(values) if coding.numeric else values).tolist()
                assert [coding.code(value) for value in values] == many
                assert [Coding.code(coding, value) for value in values] == many


class TestKeys:
    @pytest.mark.parametrize(
        ("key", "text"),
        [
            ("p-1", "p-1"), (7, "7"), (np.int32(7), "7"), (True, "true"), (np.False_, "false"), (np.str_("é"), "é"),
            (date(2020, 2, 29), "2020-02-29"), (UUID(int=1), str(UUID(int=1))), ("x" * 100, "x" * 100),
        ],
    )  # fmt: skip
    def test_the_text_of_a_key_decides(self, scattered, row, key, text):
        for seed in range(5):
            assert (
                scattered.person({**row, "id": key}, key="id", seed=seed)["job"]
                == (scattered.person({**row, "id": text}, key="id", seed=seed)["job"])
            )
        draw = scattered.apply_mode.lookup.draw({"id": key}, "id", 3)
        assert draw("age") == keyed_draw(text, 3, "apply", purpose="age")

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (1.5, "real numbers"), (None, "'id' is missing"), (pd.NA, "'id' is missing"), ([1], "must hold one value"),
            (datetime(2020, 1, 1), "must be text"), ("a\ud800", "not Unicode"), (b"7", "must be text"),
        ],
    )  # fmt: skip
    def test_what_is_no_key(self, scattered, row, key, words):
        with pytest.raises(eh.DataError, match=words):
            scattered.person({**row, "id": key}, key="id")

    def test_fresh_randomness(self, scattered, row):
        assert len({str(scattered.person(row, seed=None)) for _ in range(40)}) > 1
        assert len({str(scattered.person(row, key="id", seed=None)) for _ in range(40)}) > 1
        assert len({str(scattered.person(row)) for _ in range(5)}) == 1
        with pytest.raises(eh.DataError, match="'id' is missing"):
            scattered.person({**row, "id": None}, key="id", seed=None)

    def test_fresh_draws_follow_the_mapping(self, scattered, row):
        """A chi-square of 2,000 draws against what the mapping says of this person, job by job."""
        every = scattered.possibilities(pd.DataFrame([row])).groupby("job", dropna=False)["weight"].sum()
        drawn = pd.Series([scattered.person(row, seed=None)["job"] for _ in range(2000)]).value_counts(dropna=False)
        observed = drawn.reindex(every.index, fill_value=0)
        assert chisquare(observed, 2000 * every).pvalue > 1e-6


class TestRefusals:
    @pytest.mark.parametrize("given", [None, 3, "text", [("sex", "M")], pd.Series({"sex": "M"}), pd.DataFrame()])
    def test_a_row_is_a_mapping(self, complete, given):
        with pytest.raises(eh.SpecError, match="row must be a mapping of columns to values"):
            complete.person(given)

    def test_an_entry_that_is_not_there_is_named(self, complete, row):
        del (without := dict(row))["hours"]
        with pytest.raises(eh.DataError, match=r"no entry 'hours'; it has id, sex, .*Did you mean 'hour'"):
            complete.person({**without, "hour": 3})
        with pytest.raises(eh.DataError, match=r"no entry 'sex'; it is empty"):
            complete.person({})
        with pytest.raises(eh.DataError, match=r"no entry 'person'"):
            complete.person(row, key="person")

    def test_apply_mode_needs_no_outcome_and_train_mode_does(self, complete, row):
        del (without := dict(row))["hired"]
        assert "hired" not in complete.person(without)
        with pytest.raises(eh.DataError, match="no entry 'hired'"):
            complete.person(without, mode="release")
        assert complete.person({**row, "hired": "whatever"})["hired"] == "whatever"

    def test_a_blind_mapping_needs_no_group(self, row):
        blind = eh.fit(people.problem(blind=True), people.people())
        del (without := dict(row))["sex"]
        assert blind.person(without)["job"] == blind.person(row)["job"]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"mode": "train"}, "mode"), ({"unseen": "drop"}, "unseen"), ({"restore": "mean"}, "restore"),
            ({"seed": -1}, "seed"), ({"key": 3}, "key"), ({"missing": "fill"}, "missing"),
        ],
    )  # fmt: skip
    def test_options_are_checked(self, complete, row, options, words):
        with pytest.raises(eh.SpecError, match=words):
            complete.person(row, **options)

    def test_a_missing_value_is_refused_or_makes_its_row_an_unseen_one(self, complete, row):
        for gone in (None, np.nan):
            with pytest.raises(eh.DataError, match=r"'age' has a missing value; .*missing='level'"):
                complete.person({**row, "age": gone})
            with pytest.warns(eh.EvenhandWarning, match=r"column 'age' has a missing value\); they are left unchanged"):
                same(complete.person({**row, "age": gone}, missing="level"), {**row, "age": gone})
        with pytest.raises(eh.DataError, match="'hired' has a missing value; every row needs its outcome"):
            complete.person({**row, "hired": None}, mode="release", missing="level")

    def test_a_value_of_another_kind_is_refused_as_in_a_frame(self, complete, row):
        for change in ({"job": 3}, {"age": "thirty"}):
            name = next(iter(change))
            with pytest.raises(eh.DataError, match=f"column '{name}' holds") as alone:
                complete.person({**row, **change})
            with pytest.raises(eh.DataError) as framed:
                complete.apply(pd.DataFrame([{**row, **change}]))
            assert str(alone.value) == str(framed.value)

    def test_values_that_are_none(self, complete, row):
        for odd in ([1], {}, np.array([1, 2]), pd.Series([1])):
            with pytest.raises(eh.DataError, match="column 'job' must hold one value"):
                complete.person({**row, "job": odd})


class TestUnseen:
    def test_somebody_new_stays_and_the_warning_does_not_tell_the_value(self, hiring, row):
        with pytest.warns(eh.EvenhandWarning, match="column 'job' has a new value") as told:
            assert hiring.person({**row, "job": "astronaut"}) == {**row, "job": "astronaut"}
        assert "astronaut" not in str(told[0].message)
        assert told[0].filename == __file__

    def test_an_error_tells_it(self, hiring, row):
        with pytest.raises(eh.DataError, match=r"the new value 'astronaut'.*unseen='keep'.*left unchanged"):
            hiring.person({**row, "job": "astronaut"}, unseen="error")

    def test_a_combination_that_nobody_had(self):
        frame = pd.DataFrame({"d": ["a", "b", "b"] * 20, "x": ["u", "u", "v"] * 20, "y": [0, 1, 1, 1, 0] * 12})
        rules = eh.Distortion({"x": eh.Fixed(), "y": eh.Nominal(1)})
        stated = eh.Problem(
            protected=["d"], features=["x"], outcome="y", parity=[eh.PairwiseParity(2)], distortion=rules
        )
        with pytest.raises(eh.DataError, match=r"features that was not in the fitted table; with"):
            eh.fit(stated, frame).person({"d": "a", "x": "v"}, unseen="error")

    @pytest.mark.slow
    def test_where_d_is_suppressed_the_outcome_is_drawn(self):
        fitted = awkward.mapping(suppress_protected="fixed")
        row = {**records(awkward.awkward(1))[0], "sex": "new"}
        with pytest.warns(eh.EvenhandWarning, match=r"they keep their features and get ŷ from p\(ŷ\|x\)"):
            drawn = [fitted.person({**row, KEY: n}, mode="release", key=KEY) for n in range(60)]
        assert {person["hired"] for person in drawn} == {"yes, 'tis", "no\\t"}
        assert all(person["age"] == row["age"] for person in drawn)


class TestShared:
    def test_any_number_of_threads_find_the_same(self, hiring):
        rows = records(people.people(200, seed=5))
        used, fresh = awkward.scattered(hiring), awkward.scattered(hiring)
        expected = [quietly(used.person, row, key="id") for row in rows]
        # The other was not used yet: every thread may be the first to prepare it.
        with warnings.catch_warnings(), ThreadPoolExecutor(8) as pool:
            warnings.simplefilter("ignore", eh.EvenhandWarning)
            found = list(pool.map(lambda row: fresh.person(row, key="id"), rows * 5))
        assert found == expected * 5

    def test_what_is_prepared_can_be_sent_elsewhere(self):
        fitted, row = awkward.mapping(), records(awkward.awkward(1))[0]
        expected = fitted.person(row, key=KEY)
        same(pickle.loads(pickle.dumps(fitted)).person(row, key=KEY), expected)

    def test_no_frame_is_made(self, monkeypatch):
        fitted, row = awkward.mapping(), records(awkward.awkward(1))[0]

        def refuse(*given, **options):
            raise AssertionError("a frame was made")

        for made in ("pandas.DataFrame.__init__", "pandas.Series.__init__", "narwhals.from_native"):
            monkeypatch.setattr(made, refuse)
        for mode in MODES:
            assert list(fitted.person(row, mode=mode, key=KEY)) == list(row)


def as_categories(frame):
    return frame.astype({name: "category" for name in frame.columns if frame[name].dtype.kind not in "iufb"})


FRAMES = {
    "pandas, strings": lambda f: f,
    "pandas, objects": lambda f: f.astype({n: object for n in f.columns if f[n].dtype.kind not in "iufb"}),
    "pandas, categories": as_categories,
    "polars": pl.from_pandas,
    "polars, categories": lambda f: pl.from_pandas(as_categories(f)),
    "pyarrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
}


def one(frame, at):
    return frame.iloc[[at]] if isinstance(frame, pd.DataFrame) else frame[at : at + 1]


def only_row(frame):
    if isinstance(frame, pd.DataFrame):
        return records(frame)[0]
    return frame.to_pylist()[0] if isinstance(frame, pa.Table) else frame.to_dicts()[0]


class TestFewRows:
    @pytest.mark.slow
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("kind", FRAMES)
    @pytest.mark.parametrize("changes", VARIANTS)
    def test_a_frame_of_one_row_is_what_it_is_among_many(self, changes, kind, mode):
        fitted, frame = awkward.mapping(**changes), FRAMES[kind](awkward.awkward(8, seed=3))
        for options in ({"key": KEY}, {"key": KEY, "restore": "label"}):
            together = quietly(getattr(fitted, mode), frame, missing="level", **options)
            for at in range(8):
                found = quietly(getattr(fitted, mode), one(frame, at), missing="level", **options)
                assert type(found) is type(together)
                same(only_row(found), only_row(one(together, at)))

    @pytest.mark.parametrize("value", [None, "?"])
    def test_categories_that_nobody_has_are_looked_at(self, value, hiring, row):
        """Of a column whose categories could never be levels no row is taken, also one without a value."""
        frame = pd.DataFrame([row]).assign(job=pd.Categorical([value], categories=["?", 1, 2]))
        with pytest.raises(eh.DataError, match="column 'job' holds numbers"):
            hiring.apply(frame)

    @pytest.mark.slow
    def test_a_frame_of_ones_own_comes_back_and_the_given_one_stays(self):
        fitted = awkward.mapping()
        for at in range(24):
            given = awkward.awkward(24, seed=3).iloc[[at]]
            before = given.copy()
            found = quietly(fitted.apply, given, key=KEY)
            found["note"] = "mine"
            found.loc[:, "age"] = 0
            pd.testing.assert_frame_equal(given, before)
