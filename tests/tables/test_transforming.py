"""Real columns through train mode and apply mode: bins, missing values, keys, balanced draws, every kind of table."""

import re
import warnings
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from families import random_kernel, small_frame, small_problem
from fits import shared_fit
from people import people, problem
from releases import Releases
from scipy import stats

import evenhand as eh
from evenhand import tables
from evenhand.data.counts import Counts
from evenhand.data.domain import MISSING, Domain, Role, Variable
from evenhand.resources import in_blocks
from evenhand.spec.nesting import Nest
from evenhand.tables import transforming, writing
from evenhand.tables.transforming import How, train_mode

pytestmark = pytest.mark.turns(4)

COLUMNS = ["age", "hours", "job", "hired"]


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def mapping(frame):
    return eh.fit(problem(), frame)


@pytest.fixture(scope="module")
def moving(frame):
    """A mapping whose outcome follows from the features, so that many of those move."""
    rules = dict(problem().distortion.rules) | {"hired": eh.Free()}
    stated = problem(distortion=eh.Distortion(rules), suppress_protected="fixed", parity=[eh.PairwiseParity(0.1)])
    return eh.fit(stated, frame)


@pytest.fixture(scope="module")
def texts_move(frame):
    """A mapping that changes a column of texts, and no other."""
    rules = dict(problem().distortion.rules) | {"age": eh.Fixed(), "job": eh.Nominal(0.1), "hired": eh.Free()}
    stated = problem(distortion=eh.Distortion(rules), suppress_protected="fixed", parity=[eh.PairwiseParity(0.1)])
    return eh.fit(stated, frame)


def text(table):
    """Return any table as CSV text."""
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, duckdb.DuckDBPyRelation):
        table = table.to_arrow_table()
    found = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    return found.to_csv(index=False)


def with_texts_as(kind):
    """Return what makes an Arrow table whose texts are kept as the given type."""

    def made(f):
        table = pa.Table.from_pandas(f, preserve_index=False)
        for name in ("sex", "job"):
            texts = table[name].dictionary_encode() if pa.types.is_dictionary(kind) else table[name]
            table = table.set_column(table.column_names.index(name), name, texts.cast(kind))
        return table

    return made


KINDS = {
    "objects": lambda f: f.astype({"sex": object, "job": object, "note": object}),
    "pandas' Arrow": lambda f: f.astype({"sex": pd.ArrowDtype(pa.string()), "job": pd.ArrowDtype(pa.large_string())}),
    "polars": pl.from_pandas,
    "polars, lazy": lambda f: pl.from_pandas(f).lazy(),
    "pyarrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
    "pyarrow, views": with_texts_as(pa.string_view()),
    "pyarrow, dictionaries": with_texts_as(pa.dictionary(pa.uint64(), pa.string())),
    "pyarrow, dictionaries as of Parquet": with_texts_as(pa.dictionary(pa.int32(), pa.string())),
    "duckdb": lambda f: duckdb.connect().from_arrow(pa.Table.from_pandas(f, preserve_index=False)),
}


class TestEveryKindOfTable:
    @pytest.mark.slow(keep=3)
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("act", ["release", "apply"])
    @pytest.mark.parametrize("options", [{"seed": 3}, {"key": "id"}, {"key": "id", "draw": "balanced"}], ids=str)
    def test_the_same_result_to_the_bit(self, frame, moving, kind, act, options):
        native = KINDS[kind](frame)
        found = getattr(moving, act)(native, **options)
        assert type(found) is type(native)
        expected = getattr(moving, act)(frame, **options)
        assert (expected["age"] != frame["age"]).any()
        assert text(found) == text(expected)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("kind", ["polars", "pyarrow", "pyarrow, views", "duckdb", "pandas"])
    def test_texts_are_written_in_pieces_of_any_size(self, frame, texts_move, kind, monkeypatch):
        given = frame.assign(job=frame["job"].where((frame["job"] != "?") | (frame.index % 2 == 0), None))
        expected = texts_move.release(KINDS["objects"](given), seed=3)
        assert (expected["job"] != given["job"]).sum() > 200
        monkeypatch.setattr(transforming, "in_blocks", partial(in_blocks, block=7))
        monkeypatch.setattr(writing, "PIECE", 3)
        by_number = Mock(wraps=writing._written_by_number)
        monkeypatch.setattr(writing, "_written_by_number", by_number)
        assert text(texts_move.release(KINDS.get(kind, lambda f: f)(given), seed=3)) == text(expected)
        assert by_number.call_count == 1

    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize("mode", ["moving", "mapping"])
    @pytest.mark.parametrize("act", ["release", "apply"])
    def test_the_same_result_whether_kinds_of_rows_or_rows_are_looked_up(self, request, frame, act, mode, monkeypatch):
        mapping = request.getfixturevalue(mode)
        new = pd.concat([frame, frame.head(40).assign(sex="X"), frame.head(40).assign(job="new")], ignore_index=True)
        with pytest.warns(eh.EvenhandWarning, match="80 of 1580 rows"):
            expected = getattr(mapping, act)(new, seed=3)
        monkeypatch.setattr(transforming, "FEW_KINDS", 0)
        located = transforming.locate(getattr(mapping, f"{act}_mode"), tables.read(new))
        assert len(located.kinds.rows) == len(new)
        with pytest.warns(eh.EvenhandWarning, match="80 of 1580 rows"):
            found = getattr(mapping, act)(new, seed=3)
        pd.testing.assert_frame_equal(found, expected)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("kind", KINDS)
    def test_the_same_fit(self, frame, mapping, kind):
        found = eh.fit(problem(), KINDS[kind](frame))
        assert found.objective == pytest.approx(mapping.objective, abs=1e-9)
        assert found.counts.domain.x.shape == mapping.counts.domain.x.shape

    def test_a_relation_keeps_its_types_and_its_connection(self, frame):
        duck = duckdb.connect()
        duck.execute("CREATE TYPE job AS ENUM ('clerk', 'cook', 'other')")
        plain = frame.assign(job=frame["job"].where(frame["job"].isin(["clerk", "cook"]), "other"))
        table = pa.Table.from_pandas(plain, preserve_index=False)
        given = duck.from_arrow(table).query("t", "SELECT * REPLACE (job::job AS job, age::TINYINT AS age) FROM t")
        found = eh.fit(problem(missing_values=[]), given).apply(given, seed=1)
        assert found.types == given.types
        assert found.query("u", "SELECT count(*) FROM u").fetchall() == [(len(frame),)]

    def test_a_lazy_frame_of_another_kind_says_what_to_do(self):
        class Odd:
            pass

        with pytest.raises(eh.DataError, match="expected a dataframe"):
            eh.fit(problem(), Odd())

    def test_the_index_and_the_other_columns_stay(self, frame, mapping):
        odd = frame.set_axis([f"r{i}" for i in range(len(frame))], axis=0)
        released = mapping.release(odd, seed=1)
        assert released.index.equals(odd.index)
        assert released.dtypes.equals(odd.dtypes)
        assert released["note"].equals(odd["note"])
        assert list(released.columns) == list(odd.columns)

    def test_what_a_frame_says_of_itself_stays(self, frame, texts_move):
        said = frame.copy()
        said.attrs["source"] = "a survey"
        assert texts_move.release(said, seed=1).attrs == {"source": "a survey"}

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("rows", [0, 40])
    def test_more_columns_than_an_array_has_dimensions(self, rows):
        names = [f"x{i}" for i in range(70)]
        table = pd.DataFrame({"d": ["a", "b"] * 20, **{name: ["u"] * 40 for name in names}, "y": [0, 1, 1, 1] * 10})
        stated = eh.Problem(
            protected=["d"], features=names, outcome="y", parity=[eh.PairwiseParity(0.1)],
            distortion=eh.Distortion({**dict.fromkeys(names, eh.Fixed()), "y": eh.Ordinal(1)}),
        )  # fmt: skip
        released = eh.fit(stated, table).release(table.head(rows), seed=1)
        assert len(released) == rows
        assert released[names].equals(table[names].head(rows))

    def test_a_blind_mapping_finds_its_rows_where_no_record_is_in_two_groups(self):
        """The rows of its kernel are then as many as its records, in another order."""
        x = np.repeat([1, 2, 4, 0, 3, 5], 20)
        y = np.concatenate([np.tile(np.repeat([0, 1], [15, 5]), 3), np.tile(np.repeat([0, 1], [6, 14]), 3)])
        table = pd.DataFrame({"d": np.repeat(["a", "b"], 60), "x": x, "y": y})
        stated = eh.Problem(
            protected=["d"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.1)], blind=True,
            distortion=eh.Distortion({"x": eh.Ordinal(1, max_steps=1), "y": eh.Ordinal(1)}),
        )  # fmt: skip
        released = eh.fit(stated, table).release(table, seed=1)
        assert (released["x"] != table["x"]).any()
        assert (released["x"] - table["x"]).abs().max() == 1


class TestBins:
    def test_a_value_whose_bin_stays_is_untouched_and_others_are_training_values(self, frame, moving):
        released = moving.release(frame, seed=2)
        edges = {"age": [30, 45, 60], "hours": moving.counts.domain.variable("hours").coding.edges}
        for column, inner in edges.items():
            before, after = (np.searchsorted(inner, f[column], side="right") for f in (frame, released))
            assert released[column][before == after].equals(frame[column][before == after])
            assert (before != after).any()
            assert set(released[column]) <= set(frame[column])

    def test_sampled_values_follow_the_bin(self, frame, moving):
        """Of those who come into a bin, as many get each value as have it in the fitted table."""
        many = pd.concat([frame] * 20, ignore_index=True)
        released = moving.apply(many, seed=0)
        before, after = (np.searchsorted([30, 45, 60], f["age"], side="right") for f in (many, released))
        for code in range(4):
            came = released["age"][(before != after) & (after == code)]
            own = frame["age"][np.searchsorted([30, 45, 60], frame["age"], side="right") == code]
            if len(came) > 500:
                ages = np.sort(own.unique())
                found, expected = ((part.to_numpy()[:, None] <= ages).mean(axis=0) for part in (came, own))
                assert np.abs(found - expected).max() < 1.9 / np.sqrt(len(came))
        assert (before != after).sum() > 1000

    @pytest.mark.parametrize("restore", ["midpoint", "label"])
    def test_the_other_ways_to_restore(self, frame, moving, restore):
        sampled, other = moving.release(frame, seed=2), moving.release(frame, seed=2, restore=restore)
        domain = moving.counts.domain
        for column in ("age", "hours"):
            variable = domain.variable(column)
            codes = np.searchsorted(variable.coding.edges, sampled[column], side="right")
            if restore == "label":
                assert other[column].tolist() == [variable.levels[i] for i in codes]
            else:
                assert np.array_equal(np.searchsorted(variable.coding.edges, other[column], side="right"), codes)
                assert other[column].dtype == frame[column].dtype
        assert other["hired"].equals(sampled["hired"])
        assert other["sex"].equals(frame["sex"])

    def test_values_beyond_the_fitted_range_fall_into_the_outer_bins(self, mapping):
        new = pd.DataFrame({"sex": ["F", "M"], "age": [3, 150], "hours": [-5.0, 999.0], "job": ["clerk", "cook"]})
        applied = mapping.apply(new, seed=0)
        assert len(applied) == 2

    def test_real_numbers_need_bins(self, frame):
        with pytest.raises(eh.DataError, match=r"'hours' holds real numbers.*bins=\{'hours': eh.Quantiles"):
            eh.fit(problem(bins={}), frame)

    def test_protected_columns_and_outcomes_may_be_binned(self, frame):
        stated = problem(
            protected=["age"], features=["job"], outcome="hours", budget=None, parity=[eh.TargetParity(0.2)],
            bins={"age": eh.Edges([40]), "hours": eh.Edges([40])},
            distortion=eh.Distortion({"hours": eh.Ordinal(1)}),
        )  # fmt: skip
        mapping = eh.fit(stated, frame)
        released = mapping.release(frame, seed=0)
        assert released["age"].equals(frame["age"])
        assert set(mapping.table()["hours"]) == {"<40", ">=40"}
        assert released["hours"].dtype == frame["hours"].dtype

    def test_a_rule_may_order_merged_levels(self):
        frame = pd.DataFrame({"d": ["a", "b"] * 50, "g": ["x", "y", "z", "z"] * 25, "y": [0, 1, 1, 0, 1] * 20})
        stated = eh.Problem(
            protected=["d"], features=["g"], outcome="y", parity=[eh.PairwiseParity(2)],
            bins={"g": eh.MergedLevels({"low": ["x", "y"], "high": ["z"]})},
            distortion=eh.Distortion({"g": eh.Ordinal(1, levels=["low", "high"]), "y": eh.Fixed()}),
        )  # fmt: skip
        variable = eh.fit(stated, frame).counts.domain.variable("g")
        assert variable.levels == ("low", "high")
        assert variable.coding.codes(["x", "z"]).tolist() == [0, 1]
        wrong = eh.Distortion({"g": eh.Ordinal(1, levels=["low", "top"]), "y": eh.Fixed()})
        with pytest.raises(eh.DataError, match="its bins give"):
            eh.fit(replace(stated, distortion=wrong), frame)

    def test_the_level_of_missing_values_stays_last_where_levels_are_merged(self):
        """Elsewhere it would take the number of a level that values have."""
        frame = pd.DataFrame({"d": ["a", "b"] * 50, "g": ["x", "y", "z", None] * 25, "y": [0, 1, 1, 0, 1] * 20})
        rules = {"g": eh.Ordinal(1, levels=["high", "low", "(missing)"]), "y": eh.Fixed()}
        stated = eh.Problem(
            protected=["d"], features=["g"], outcome="y", parity=[eh.PairwiseParity(2)], missing="level",
            bins={"g": eh.MergedLevels({"low": ["x", "y"], "high": ["z"]})}, distortion=eh.Distortion(rules),
        )  # fmt: skip
        counts = eh.count(stated, frame)
        assert dict(zip(counts.domain.variable("g").levels, counts.features.probability.round(9), strict=True)) == {
            "high": 0.25, "low": 0.5, "(missing)": 0.25,
        }  # fmt: skip
        rules["g"] = eh.Ordinal(1, levels=["low", "(missing)", "high"])
        with pytest.raises(eh.DataError, match="its bins give"):
            eh.count(replace(stated, distortion=eh.Distortion(rules)), frame)

    def test_pooled_levels_at_apply_time(self, frame):
        stated = problem(bins={**problem().bins, "job": eh.PooledLevels(200, into="rare")})
        mapping = eh.fit(stated, frame)
        assert "rare" in mapping.counts.domain.variable("job").levels
        new = frame.head(50).assign(job="astronaut")
        with pytest.warns(eh.EvenhandWarning, match="1 of 50 rows"):
            applied = mapping.apply(new, seed=0)
        assert set(applied["job"]) <= set(frame["job"]) | {"astronaut"}


class TestMissing:
    def test_a_level_of_its_own_that_stays(self, frame, mapping):
        variable = mapping.counts.domain.variable("job")
        assert variable.levels[-1] == MISSING
        table = mapping.table()
        assert ((table["job"] == MISSING) == (table["to_job"] == MISSING)).all()

    def test_what_stands_for_it_stays_too(self, frame, moving):
        released = moving.release(frame, seed=0)
        blank = frame["job"] == "?"
        assert (released["job"] == "?").equals(blank)
        assert (released["age"] != frame["age"])[blank].any()

    def test_null_means_the_same_as_a_listed_value(self, frame, mapping):
        nulls = frame.assign(job=frame["job"].where(frame["job"] != "?"))
        assert mapping.release(nulls, seed=0)["job"].isna().equals(nulls["job"].isna())
        assert eh.fit(problem(), nulls).objective == pytest.approx(mapping.objective, abs=1e-9)

    def test_a_rule_that_names_it_lets_it_change(self, frame):
        levels = ["clerk", "cook", 'O\'Brien, "x"', "übrig", MISSING]
        costs = {(a, b): 0.0 if MISSING in (a, b) else 5.0 for a in levels for b in levels if a != b}
        rules = dict(problem().distortion.rules) | {"job": eh.Nominal(costs)}
        mapping = eh.fit(problem(distortion=eh.Distortion(rules), tie_break=None), frame)
        table = mapping.table()
        assert ((table["job"] == MISSING) != (table["to_job"] == MISSING)).any()
        released = mapping.release(frame.assign(job=frame["job"].where(frame["job"] != "?")), seed=0)
        assert set(released["job"].dropna()) <= set(frame["job"])

    def test_the_default_is_an_error_that_names_the_row(self, frame):
        with pytest.raises(eh.DataError, match=r"column 'job' has .* missing values, the first in row"):
            eh.fit(problem(missing="error"), frame)
        complete = frame[frame["job"] != "?"]
        mapping = eh.fit(problem(missing="error"), complete)
        with pytest.raises(eh.DataError, match=r"column 'age' has a missing value in row 3; .*missing='level'"):
            mapping.apply(complete.head(9).assign(age=[30, 40, np.nan] + [50] * 6))

    def test_where_the_fitted_table_had_none_it_is_unseen(self, frame, mapping):
        new = frame.head(4).assign(age=[30.0, np.nan, 40.0, 50.0])
        with pytest.warns(eh.EvenhandWarning, match="1 of 4 rows"):
            applied = mapping.apply(new, seed=0)
        assert applied["age"].isna().tolist() == [False, True, False, False]

    def test_a_missing_outcome_is_always_an_error(self, frame):
        with pytest.raises(eh.DataError, match="without an outcome"):
            eh.fit(problem(), frame.assign(hired=frame["hired"].where(frame["age"] > 30)))

    @pytest.mark.slow
    def test_a_protected_group_of_unknown_people(self, frame):
        frame = frame.assign(sex=frame["sex"].where(frame["id"] % 5 > 0))
        mapping = eh.fit(problem(), frame)
        assert MISSING in set(mapping.audit().rates["sex"])
        assert mapping.audit().coverage.query("column == 'sex'")["rows"].item() == frame["sex"].isna().sum()

    def test_whole_numbers_that_pandas_made_real(self, frame):
        counts = eh.count(problem(features=["kids", "job"], bins={}, distortion=eh.Distortion({"hired": eh.Fixed()})),
                          frame.assign(kids=np.where(frame["id"] % 4, frame["id"] % 3, np.nan)))  # fmt: skip
        assert counts.domain.variable("kids").levels == (0, 1, 2, MISSING)

    def test_integers_with_nulls_in_other_libraries(self, frame):
        kids = [None if i % 4 == 0 else i % 3 for i in frame["id"]]
        stated = problem(features=["kids", "job"], bins={}, distortion=eh.Distortion({"hired": eh.Fixed()}))
        for native in (pl.from_pandas(frame).with_columns(kids=pl.Series(kids)),
                       pa.Table.from_pandas(frame).append_column("kids", pa.array(kids))):  # fmt: skip
            assert eh.count(stated, native).domain.variable("kids").levels == (0, 1, 2, MISSING)


class TestMovesOutOfMissing:
    """Where a rule names the level of missing values, people may come and go."""

    @pytest.fixture(scope="class")
    @classmethod
    def coming(cls, frame):
        levels = ["<30", "30 to 44", "45 to 59", ">=60", MISSING]
        rules = {"age": eh.Ordinal(0.1, levels=levels), "hired": eh.Free()}
        gaps = frame.assign(age=frame["age"].where(frame["id"] % 3 > 0).astype("Int64"))
        stated = problem(features=["age"], distortion=eh.Distortion(rules), suppress_protected="fixed", budget=None,
                         bins={"age": eh.Edges([30, 45, 60])}, parity=[eh.PairwiseParity(0.01)])  # fmt: skip
        return gaps, eh.fit(stated, gaps)

    def test_every_way_to_restore_makes_the_same_moves(self, coming):
        gaps, mapping = coming
        sampled = mapping.apply(gaps, key="id")["age"]
        named = mapping.apply(gaps, key="id", restore="label")["age"]
        assert (sampled.isna() == named.isna()).all()
        assert (gaps["age"].isna() & sampled.notna()).any()
        assert (gaps["age"].notna() & sampled.isna()).any()

    def test_whole_numbers_get_room_for_nulls(self, coming):
        gaps, mapping = coming
        full = gaps[gaps["age"].notna()].astype({"age": "int64"})
        assert mapping.apply(full, key="id")["age"].isna().any()

    @pytest.mark.slow
    def test_blanks_that_stay_keep_their_text(self, frame, moving):
        stated = problem(bins={**problem().bins, "job": eh.PooledLevels(200)})
        labelled = eh.fit(stated, frame).release(frame, seed=0, restore="label")
        assert (labelled["job"] == "?").equals(frame["job"] == "?")


class TestOddColumns:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda f: f.assign(hours=f["hours"].where(f["id"] > 1003, np.inf)), "holds inf"),
            (
                lambda f: f.assign(hours=f["hours"].astype(object).where(f["id"] > 1003, "x")),
                "'x', which is not a number",
            ),
            (lambda f: pd.concat([f, f[["age"]]], axis=1), "2 columns called 'age'"),
        ],
    )
    def test_are_refused(self, frame, change, words):
        with pytest.raises(eh.DataError, match=words):
            eh.fit(problem(), change(frame))

    @pytest.mark.slow
    def test_values_that_a_type_has_no_room_for(self, frame, moving):
        wide = frame.assign(age=frame["age"] * 3)
        mapping = eh.fit(replace(moving.problem, bins={**problem().bins, "age": eh.Edges([90, 128, 180])}), wide)
        narrow = wide[wide["age"] < 128].astype({"age": "int8"})
        with pytest.raises(eh.DataError, match=r"column 'age' is of type .* wider type"):
            mapping.apply(narrow, key="id")

    @pytest.mark.slow
    def test_coarser_types_stay_in_the_drawn_bin(self, frame, moving):
        edges = [30.8, 45.3, 60.7]
        stated = replace(moving.problem, bins={**problem().bins, "age": eh.Edges(edges)})
        real = frame.assign(age=frame["age"] + 0.49)
        mapping = eh.fit(stated, real)
        for kind in ("int64", "float32"):
            given = real.astype({"age": kind})
            found = mapping.apply(given, key="id")["age"].astype(float)
            named = mapping.apply(given, key="id", restore="label")["age"]
            levels = mapping.counts.domain.variable("age").levels
            assert [levels[i] for i in np.searchsorted(edges, found, side="right")] == named.tolist()

    @pytest.mark.slow
    def test_rows_without_weight_are_no_part_of_it(self, frame):
        stated = problem(bins={**problem().bins, "job": eh.PooledLevels(200)})
        more = pd.concat([frame.assign(w=1.0), frame.head(3).assign(job="astronaut", age=np.nan, w=0.0)])
        counts = eh.fit(stated, more, weights="w").counts
        assert np.array_equal(counts.weight, eh.fit(stated, frame).counts.weight)


class TestRelations:
    def test_labels_and_new_levels(self, frame, moving):
        duck = duckdb.connect()
        duck.execute("CREATE TABLE evenhand_result AS SELECT 1 AS wrong")
        given = duck.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
        found = moving.apply(given, key="id", restore="label")
        assert text(found) == text(moving.apply(frame, key="id", restore="label"))
        jobs = sorted(set(frame["job"]) - {"cook"})
        listed = ", ".join("'" + job.replace("'", "''") + "'" for job in jobs)
        duck.execute(f"CREATE TYPE some_job AS ENUM ({listed})")
        part = frame[frame["job"] != "cook"]
        enum = duck.from_arrow(pa.Table.from_pandas(part, preserve_index=False))
        enum = enum.query("t", "SELECT * REPLACE (job::some_job AS job) FROM t")
        assert text(moving.release(enum, key="id")) == text(moving.release(part, key="id"))


class TestKeys:
    def test_a_person_gets_the_same_in_any_order_and_company(self, frame, moving):
        whole = moving.apply(frame, key="id", seed=4).set_index("id")
        shuffled = frame.sample(frac=0.5, random_state=1)
        part = moving.apply(shuffled, key="id", seed=4).set_index("id")
        assert part.equals(whole.loc[part.index])
        one = moving.apply(frame.iloc[[77]], key="id", seed=4).set_index("id")
        assert one.equals(whole.loc[one.index])

    def test_text_and_number_are_the_same_key(self, frame, mapping):
        as_text = frame.assign(id=frame["id"].astype(str))
        found = mapping.release(as_text, key="id").drop(columns="id")
        assert found.equals(mapping.release(frame, key="id").drop(columns="id"))

    def test_rows_that_share_a_key_share_a_draw(self, frame, mapping):
        twice = pd.concat([frame, frame.iloc[::-1]], ignore_index=True)
        released = mapping.release(twice, key="id")
        assert released.iloc[: len(frame)].equals(released.iloc[: len(frame) - 1 : -1].reset_index(drop=True))

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (lambda f: f["id"].where(f["id"] > 1003), "'who' has 4 missing values, the first in row 1"),
            (lambda f: f["hours"], "real numbers are written differently"),
            (lambda f: pd.Timestamp("2020-01-01 10:00"), "a key must be text"),
        ],
    )
    def test_bad_keys(self, frame, mapping, key, words):
        with pytest.raises(eh.DataError, match=words):
            mapping.apply(frame.assign(who=key(frame)), key="who")

    def test_a_key_that_is_not_there(self, frame, mapping):
        with pytest.raises(eh.DataError, match="no column 'person'"):
            mapping.apply(frame, key="person")


class TestBalanced:
    @pytest.mark.parametrize("act", ["release", "apply"])
    @pytest.mark.parametrize("key", [None, "id"])
    def test_moves_and_outcomes_of_every_source_are_near_their_expectation(self, frame, moving, act, key):
        """In apply mode each move is within one of it; in train mode outcomes are, and moves within two."""
        source = ["sex", "age", "hours", "job"] + ["hired"] * (act == "release")
        levels = getattr(moving, act)(frame, seed=5, key=key, draw="balanced", restore="label")
        before = moving.release(frame, seed=0, restore="label").assign(**frame[["hired", "job"]])
        for column in ("age", "hours"):
            variable = moving.counts.domain.variable(column)
            code = np.searchsorted(variable.coding.edges, frame[column], side="right")
            before[column] = [variable.levels[i] for i in code]
        targets = [name for name in source if name != "sex"]
        joined = pd.concat([before[source], levels[targets].add_prefix("to_")], axis=1).replace("?", MISSING)
        found = joined.value_counts().rename("n").reset_index()
        size = joined[source].value_counts().rename("size").reset_index()
        texts = ("age", "hours", "to_age", "to_hours", "job", "to_job")
        table = moving.table(mode=act).astype(dict.fromkeys(texts, str))
        table = table.merge(found, how="outer").merge(size, on=source, how="left")
        table["off"] = table["n"].fillna(0) - table["probability"].fillna(0) * table["size"]
        assert (table["off"].abs() < (2 if act == "release" else 1) + 1e-6).all()
        if act == "release":
            assert (table.groupby([*source, "to_hired"])["off"].sum().abs() < 1 + 1e-6).all()
            assert (table.groupby(["sex", "to_hired"])["off"].sum().abs() < 1 + 1e-6).all()

    @pytest.mark.slow
    def test_a_household_is_one_person(self, frame, moving):
        """Rows that share a key and a source share a result, and everybody's probabilities stay what they are."""
        every = moving.possibilities(frame, mode="release")
        chance = np.bincount(every["row"], weights=every["weight"] * (every["hired"] == 1))
        row = int(np.argmin(np.abs(chance - 0.5)))
        home = frame.iloc[[row] * 3].assign(id=7)
        with pytest.warns(eh.EvenhandWarning, match="2 of 3 rows share their id and their cell"):
            hired = np.array([moving.release(home, key="id", draw="balanced", seed=s)["hired"] for s in range(600)])
        assert (hired == hired[:, :1]).all()
        assert abs(hired.mean() - chance[row]) < 4 * np.sqrt(0.25 / 600)

    def test_people_who_are_not_known_do_not_disturb_the_others(self, frame, moving):
        """They have no source, so they are balanced with nobody."""
        new = pd.concat([frame.assign(job="astronaut"), frame], ignore_index=True)
        with pytest.warns(eh.EvenhandWarning, match="1500 of 3000"):
            found = moving.release(new, key="id", draw="balanced")
        expected = moving.release(frame, key="id", draw="balanced")
        assert text(found.iloc[1500:]) == text(expected)

    @pytest.mark.slow
    def test_everybodys_probabilities_are_those_of_the_mapping(self, frame, mapping):
        some = frame.head(300)
        changed = np.zeros(len(some))
        seeds = 400
        for seed in range(seeds):
            changed += (mapping.release(some, seed=seed, draw="balanced")["hired"] != some["hired"]).to_numpy()
        every = mapping.possibilities(some, mode="release")
        own = some["hired"].to_numpy()[every["row"]]
        chance = np.bincount(every["row"], weights=every["weight"] * (every["hired"] != own), minlength=len(some))
        spread = np.sqrt(np.maximum(chance * (1 - chance), 1e-12) / seeds)
        assert np.all(np.abs(changed / seeds - chance) < 5 * spread + 1e-9)
        assert chance.max() > 0.05


def test_a_mode_that_changes_nothing_says_so():
    """Where features are fixed, apply mode has nothing to change."""
    fixed = shared_fit(small_problem(distortion=eh.Distortion({"hired": eh.Nominal(1)})), small_frame())
    assert fixed.apply_mode.changes_nothing
    assert not fixed.release_mode.changes_nothing
    assert not shared_fit(small_problem(), small_frame()).apply_mode.changes_nothing


def many_cells(outcomes, cells, seed):
    """Train mode of a random kernel on many small cells, of four groups by two columns; and a table of their people."""
    rng = np.random.default_rng(seed)
    levels = {"sex": ("F", "M"), "race": ("A", "B"), "age": (1, 2, 3), "place": range(cells), "y": range(outcomes)}
    roles = {"sex": Role.PROTECTED, "race": Role.PROTECTED, "y": Role.OUTCOME}
    domain = Domain.of(Variable(name, roles.get(name, Role.FEATURE), tuple(own), False) for name, own in levels.items())
    codes = np.column_stack([rng.integers(0, len(own), cells) for own in levels.values()])
    codes[:, 3] = np.arange(cells)
    codes = np.repeat(codes, rng.integers(1, 9, cells), axis=0)
    table = pd.DataFrame({name: np.array(own)[codes[:, at]] for at, (name, own) in enumerate(levels.items())})
    d, x = domain.d.ravel(codes[:, :2].T), domain.x.ravel(codes[:, 2:4].T)
    counts = Counts.of(domain, d, x, codes[:, 4])
    kernel = random_kernel(rng, len(counts), outcomes)
    nested = Nest(("race", "sex", "age"), (1, 2, 3))
    return train_mode(counts, kernel, nest=nested), table


def study(name):
    """A mode, a table, and the partitions whose outcomes must be balanced."""
    if name == "cells":
        return *many_cells(4, 3000, 1), [["race"], ["sex", "race"], ["sex", "race", "age"]]
    data = eh.datasets.load(name)
    mapping = shared_fit(data.problem, data.counts)
    return mapping.release_mode, data.frame, [list(data.problem.protected)]


def with_new_cells(outcomes, mode, people=4000):
    """A mapping of a few people, and many others, most of them in cells that none of these had."""
    rng = np.random.default_rng(outcomes)

    def drawn(number):
        frame = pd.DataFrame({"d": rng.choice(["a", "b"], number), "f": rng.integers(0, 8, number)})
        frame["g"] = rng.integers(0, 8, number)
        share = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])[:, :outcomes].cumsum(axis=1)
        share /= share[:, -1:]
        return frame.assign(y=(rng.random(number)[:, None] > share[frame["d"].eq("b").to_numpy() * 1]).sum(axis=1))

    stated = eh.Problem(
        protected=["d"],
        features=["f", "g"],
        outcome="y",
        parity=[eh.PairwiseParity({"plain": 0.3, "blind": 0.5, "suppressed": 2.0}[mode])],
        distortion=eh.Distortion({"f": eh.Ordinal(1), "y": eh.Nominal(0 if mode == "suppressed" else 1)}),
        suppress_protected="fixed" if mode == "suppressed" else None,
        blind=mode == "blind",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        return eh.fit(stated, drawn(60)), drawn(people)


def worst(off, part):
    """The most by which an outcome's total in a part is off."""
    total = np.zeros((part.max() + 1, off.shape[1]))
    np.add.at(total, part, off)
    return np.abs(total).max()


class TestDefaults:
    """Without a key releases are balanced, from a fresh seed; with one they are independent, the same everywhere."""

    def test_a_release_draws_another_seed_each_time_and_logs_it(self, frame, mapping, caplog):
        caplog.set_level("INFO", "evenhand")
        found = [mapping.release(frame) for _ in range(2)]
        assert not found[0].equals(found[1])
        seeds = [record.args[0] for record in caplog.records if "fresh seed" in record.msg]
        for released, seed in zip(found, seeds, strict=True):
            assert mapping.release(frame, seed=seed, draw="balanced").equals(released)
        off = (found[0]["hired"] - chances(mapping, frame)).groupby(frame["sex"]).sum()
        assert (off.abs() < 1).all()

    def test_a_key_makes_them_the_same_everywhere(self, frame, mapping):
        found = mapping.release(frame, key="id")
        assert found.equals(mapping.release(frame, key="id", seed=0, draw="independent"))
        assert mapping.release(frame[::-1], key="id")[::-1].equals(found)
        assert mapping.apply(frame).equals(mapping.apply(frame, seed=0, draw="independent"))


class TestFilesThatKeepTheBound:
    """Over hundreds of seeds: outcomes of groups and cells within one of their expectation, and moves within two."""

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize(("name", "seeds"), [("compas", 5), ("compas", 400), ("adult", 400), ("cells", 400)])
    def test_outcomes_and_moves(self, name, seeds):
        mode, table, partitions = study(name)
        releases = Releases(mode, table)
        parts = [np.zeros(len(releases.people), np.int64), np.arange(len(releases.people))]
        for columns in partitions:
            part = np.zeros(len(releases.people), np.int64)
            part[releases.number] = table.groupby(columns, observed=True).ngroup()
            parts.append(part)
        seen = set()
        for seed in range(seeds):
            number, entry, people = releases.allotted(seed)
            moves = people - releases.people[number] * releases.widths[entry]
            assert np.abs(moves).max() < 2
            found = releases.table(number, entry, people)
            assert np.array_equal(found.sum(axis=1), releases.people)
            for part in parts:
                off = np.zeros((part.max() + 1, found.shape[1]))
                np.add.at(off, part, found - releases.expected)
                assert np.abs(off).max() < 1
            seen.add(found.tobytes())
        assert len(seen) > 3

    def test_a_release_is_what_was_allotted(self):
        mode, table = many_cells(3, 200, 2)
        releases = Releases(mode, table)
        for seed in range(3):
            done = transforming.transform(mode, tables.read(table), How(seed, draw="balanced"))
            new = done.table.to_native()
            found = np.zeros((len(releases.people), 3), np.int64)
            np.add.at(found, (releases.number, new["y"].to_numpy()), 1)
            assert np.array_equal(found, releases.balanced(seed))

    @pytest.mark.slow
    def test_everybodys_own_probabilities_are_exact(self):
        """Of 600 seeds, as many as should be: chi-square, person by person."""
        mode, table = many_cells(4, 30, 3)
        seeds, every = 600, np.zeros((len(table), 4))
        for seed in range(seeds):
            done = transforming.transform(mode, tables.read(table), How(seed, draw="balanced"))
            every[np.arange(len(table)), done.table.to_native()["y"].to_numpy()] += 1
        releases = Releases(mode, table)
        chance = (releases.expected / np.maximum(releases.people, 1)[:, None])[releases.number]
        values = []
        for own, expected in zip(every, chance, strict=True):
            assert not own[expected == 0].any()
            likely = expected * seeds > 5
            if likely.sum() > 1:
                share = expected[likely] / expected[likely].sum()
                values.append(stats.chisquare(own[likely], share * own[likely].sum()).pvalue)
        assert len(values) > 50
        assert min(values) > 1e-3 / len(values)

    @pytest.mark.slow
    def test_segments(self, frame):
        """Where parity is asked within segments, each group's outcomes in each segment are within one."""
        stated = problem(parity=[eh.PairwiseParity(0.1, given=["age"])])
        mapping = eh.fit(stated, frame)
        assert mapping.release_mode.nest.columns == ("sex", "age")
        chance = chances(mapping, frame)
        assert ((chance > 0.01) & (chance < 0.99)).any()
        age = np.searchsorted(mapping.counts.domain.variable("age").coding.edges, frame["age"], side="right")
        for seed in range(20):
            off = mapping.release(frame, seed=seed, draw="balanced")["hired"] - chance
            assert (off.groupby(frame["sex"]).sum().abs() < 1).all()
            assert (off.groupby([frame["sex"], age]).sum().abs() < 1).all()

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("unseen", ["typical", "keep"])
    @pytest.mark.parametrize("which", ["mapping", "moving"])
    def test_people_in_new_cells_count_with_their_groups(self, frame, request, which, unseen):
        """Ordinary and suppressed mappings: typical rows, which many cells share, are balanced with all others."""
        mapping = request.getfixturevalue(which)
        new = frame.assign(age=frame["age"].sample(frac=1, random_state=1).to_numpy())
        new["hours"] = new["hours"].sample(frac=1, random_state=2).to_numpy()
        with pytest.warns(eh.EvenhandWarning, match="was not in the fitted table"):
            chance = chances(mapping, new, unseen=unseen)
        for seed in range(5):
            with pytest.warns(eh.EvenhandWarning, match="was not in the fitted table"):
                off = mapping.release(new, seed=seed, draw="balanced", unseen=unseen)["hired"] - chance
            assert (off.groupby(new["sex"]).sum().abs() < 1).all()
            assert abs(off.sum()) < 1
        assert not transforming.locate(mapping.release_mode, tables.read(new)).sourced.all()

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", ["plain", "blind", "suppressed"])
    @pytest.mark.parametrize("outcomes", [2, 3])
    def test_every_new_cell_is_within_one(self, outcomes, mode, tmp_path, monkeypatch):
        """One by one, in memory and from a file in batches; of too many of them, with all that share their row."""
        mapping, new = with_new_cells(outcomes, mode)
        monkeypatch.setattr("evenhand.engines.delimited.CHUNK", 7000)
        new.to_csv(tmp_path / "new.csv", index=False)
        chance = np.zeros((len(new), outcomes))
        cell = new.groupby(list(new.columns)[mode == "blind" :]).ngroup().to_numpy()
        group = new["d"].eq("b").to_numpy().astype(int)
        assert np.bincount(cell).max() > 9
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eh.EvenhandWarning)
            wide = mapping.possibilities(new, mode="release")
            np.add.at(chance, (wide["row"], wide["y"]), wide["weight"])
            for many in (False, True):
                if many:
                    monkeypatch.setattr("evenhand.kernel.strata.MOST_CELLS", 40)
                for seed in range(3):
                    found = mapping.release(new, seed=seed, draw="balanced")
                    off = np.eye(outcomes)[found["y"]] - chance
                    assert (worst(off, cell) < 1) != many
                    assert worst(off, group) < 1 or mode == "blind"
                    assert np.abs(off.sum(axis=0)).max() < 1
                    done = mapping.release(tmp_path / "new.csv", to=tmp_path / "old.csv", seed=seed, draw="balanced")
                    assert pd.read_csv(tmp_path / "old.csv")["y"].tolist() == found["y"].tolist()
                    assert done.pooled == many

    def test_too_many_new_cells_are_told(self, monkeypatch):
        mapping, new = with_new_cells(2, "plain")
        monkeypatch.setattr("evenhand.kernel.strata.MOST_CELLS", 40)
        with pytest.warns(eh.EvenhandWarning) as said:
            mapping.release(new, draw="balanced")
        assert "unseen cells are too many to balance each of them" in str(said[-1].message)

    @pytest.mark.parametrize("people", [40, 1500])
    def test_new_cells_are_counted_in_the_order_in_which_they_occur(self, people):
        """Where kinds are more than rows, and where they are fewer; many cells have one row."""
        mapping, new = with_new_cells(2, "plain", people)
        located = transforming.locate(mapping.release_mode, tables.read(new))
        at = np.flatnonzero(located.known & ~located.sourced)
        counted = new.iloc[at].groupby(list(new), sort=False).size().tolist()
        assert list(located.new_cells(at).values()) == counted
        assert 1 in counted

    def test_only_new_cells_that_somebody_is_in_are_counted(self, monkeypatch):
        """A table of few people has values whose combinations are nobody's."""
        mapping, new = with_new_cells(2, "plain", people=40)
        located = transforming.locate(mapping.release_mode, tables.read(new))
        cells = new[located.known & ~located.sourced].drop_duplicates()
        for most, pooled in ((len(cells), False), (len(cells) - 1, True)):
            monkeypatch.setattr("evenhand.kernel.strata.MOST_CELLS", most)
            done = transforming.transform_piece(mapping.release_mode, tables.read(new), How(0, draw="balanced"))
            assert done.tally.pooled == pooled

    def test_what_crosses_is_warned_of(self):
        data = eh.datasets.load("compas")
        parity = [eh.PairwiseParity(0.3, on=["sex"]), eh.PairwiseParity(0.3, on=["race"])]
        mapping = eh.fit(replace(data.problem, parity=parity), data.counts)
        with pytest.warns(eh.EvenhandWarning, match=r"of groups by race can be further than one person .* cross"):
            mapping.release(data.frame, draw="balanced")
        mapping.release(data.frame, draw="independent")
        mapping.apply(data.frame, draw="balanced")

    def test_by_default_it_is_logged_and_the_rest_is_balanced(self, caplog):
        data = eh.datasets.load("compas")
        parity = [eh.PairwiseParity(0.3, on=["sex"]), eh.PairwiseParity(0.3, on=["race"])]
        mapping = eh.fit(replace(data.problem, parity=parity), data.counts)
        caplog.set_level("INFO", "evenhand")
        found = mapping.release(data.frame, seed=1)
        assert "groups by race can be further than one person" in caplog.text
        with pytest.warns(eh.EvenhandWarning, match="cross"):
            assert mapping.release(data.frame, seed=1, draw="balanced").equals(found)

    def test_a_blind_mapping_says_that_groups_are_not_balanced(self, frame):
        mapping = eh.fit(problem(blind=True, parity=[eh.PairwiseParity(0.3)]), frame)
        with pytest.warns(eh.EvenhandWarning, match="train mode does not read sex"):
            found = mapping.release(frame, draw="balanced")
        assert abs((found["hired"] - chances(mapping, frame)).sum()) < 1

    def test_rows_that_share_a_key_are_one_person(self, frame, mapping):
        twice = pd.concat([frame.head(400)] * 2, ignore_index=True)
        with pytest.warns(eh.EvenhandWarning, match="400 of 800 rows share their id and their cell"):
            found = mapping.release(twice, key="id", draw="balanced")
        assert found["hired"][:400].tolist() == found["hired"][400:].tolist()
        off = (found["hired"] - chances(mapping, twice)).groupby(twice["sex"]).sum()
        assert (off.abs() < 2).all()


def chances(mapping, frame, **options):
    """Each row's own probability of being hired."""
    every = mapping.possibilities(frame, mode="release", **options)
    return np.bincount(every["row"], weights=every["weight"] * (every["hired"] == 1), minlength=len(frame))


class TestOutcomeUnread:
    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("options", [{"seed": 1}, {"key": "id"}, {"draw": "balanced"}], ids=str)
    def test_present_absent_or_shuffled(self, frame, moving, options):
        without = text(moving.apply(frame.drop(columns="hired"), **options))
        shuffled = frame.assign(hired=frame["hired"].sample(frac=1, random_state=0).to_numpy())
        for given in (frame, shuffled, frame.assign(hired="nobody knows"), frame.assign(hired=np.nan)):
            assert text(moving.apply(given, **options).drop(columns="hired")) == without


class TestWithoutALottery:
    def test_possibilities_are_the_rows_of_the_mapping(self, frame, moving):
        every = moving.possibilities(frame)
        assert np.bincount(every["row"], weights=every["weight"]) == pytest.approx(np.ones(len(frame)))
        assert (np.diff(every["row"]) >= 0).all()
        assert len(every) > len(frame)

    def test_expected_counts_are_those_of_the_audit(self, frame, mapping):
        wide = mapping.expand(frame, restore="label")
        rates = wide.groupby("sex")[["weight"]].sum()
        hired = wide[wide["hired"] == 1].groupby("sex")[["weight"]].sum() / rates
        after = mapping.audit().rates.query("hired == 1").set_index("sex")["after"]
        assert hired["weight"].to_dict() == pytest.approx(after.to_dict())

    def test_weights(self, frame, mapping):
        weighted = mapping.expand(frame.assign(w=2.5), weights="w")
        assert weighted["weight"].sum() == pytest.approx(2.5 * len(frame))

    def test_nothing_is_sampled(self, frame, mapping):
        with pytest.raises(eh.SpecError, match="restore='midpoint'"):
            mapping.expand(frame, restore="sample")

    def test_names_that_are_taken(self, frame, mapping):
        with pytest.raises(eh.DataError, match="already has a column 'row'"):
            mapping.possibilities(frame.assign(row=1))


class TestKinds:
    def test_numbers_where_levels_are_texts(self, frame, mapping):
        with pytest.raises(eh.DataError, match=r"column 'job' holds numbers.*levels are texts"):
            mapping.apply(frame.assign(job=7))
        with pytest.raises(eh.DataError, match=r"column 'age' holds texts.*are numbers"):
            mapping.apply(frame.assign(age=frame["age"].astype(str)))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"draw": "even"}, "draw must be one of"),
            ({"restore": "mean"}, "restore must be one of"),
            ({"unseen": "drop"}, "unseen must be one of"),
            ({"key": ["id"]}, "key must be the name of a column"),
            ({"seed": -1}, "seed must be a whole number"),
            ({"to": "x.csv"}, "a dataframe is returned"),
        ],
    )
    def test_bad_options(self, frame, mapping, options, words):
        with pytest.raises(eh.SpecError, match=words):
            mapping.apply(frame, **options)


@pytest.mark.parametrize(
    ("blank", "is_missing"), [("99", True), (99, True), (99.0, True), ("99.0", False), (True, False)]
)
def test_a_blank_stands_for_the_number_that_it_reads_as_at_fit_and_afterwards(blank, is_missing):
    """The same in a column with bins as in any other."""
    frame = pd.DataFrame({"d": ["a", "b"] * 50, "x": np.tile([0.5, 1.0, 2.5, 99.0], 25), "y": [0, 1, 1, 0] * 25})
    stated = eh.Problem(
        protected=["d"],
        features=["x"],
        outcome="y",
        bins={"x": eh.Edges([0.8, 2.0])},
        missing="level",
        missing_values=[blank],
        parity=[eh.PairwiseParity(9)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(1),
    )
    fitted = eh.fit(stated, frame)
    assert ("(missing)" in fitted.counts.domain.variable("x").levels) == is_missing
    assert fitted.apply(frame, key="y").equals(frame)


class TestMissingWhereTheFittedTableHadNone:
    """An error that names the row and says what to write; or, so asked, a row of an unseen kind."""

    LEVEL = re.escape("or write missing='level' to keep them as they are")

    @pytest.fixture(scope="class")
    @staticmethod
    def strict():
        return shared_fit(small_problem(), small_frame())

    @staticmethod
    def gaps():
        """People with labels of their own, one of no known group and one of no known score."""
        frame = small_frame().astype({"score": float})
        frame.loc[150, "group"], frame.loc[9, "score"] = None, np.nan
        return frame.set_axis([f"p{i}" for i in frame.index])

    def uses(self, mapping):
        return {
            "apply": mapping.apply, "release": mapping.release, "audit": mapping.audit, "realised": mapping.realised,
            "possibilities": mapping.possibilities, "expand": mapping.expand, "holdout": mapping.theory.holdout,
            "model_rates": mapping.model_rates, "predictor": mapping.predictor.predict_proba,
        }  # fmt: skip

    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize(
        "use",
        ["apply", "release", "audit", "realised", "possibilities", "expand", "holdout", "model_rates", "predictor"],
    )
    @pytest.mark.filterwarnings("ignore::evenhand.errors.EvenhandWarning")
    def test_every_use_names_the_row_and_takes_what_it_advises(self, strict, use):
        call, gaps = self.uses(strict)[use], self.gaps()
        for column, row, label in (("group", 151, "p150"), ("score", 10, "p9")):
            one = gaps.assign(**{other: small_frame()[other].to_numpy() for other in {"group", "score"} - {column}})
            with pytest.raises(
                eh.DataError,
                match=rf"column '{column}' has a missing value in row {row} \(index '{label}'\); .*{self.LEVEL}",
            ):
                call(one)
            with pytest.raises(eh.DataError, match=f"column '{column}' has a missing value in row {row};"):
                call(pl.from_pandas(one.reset_index(drop=True)))
        call(gaps, missing="level")

    @pytest.mark.parametrize("mode", ["apply", "release"])
    def test_its_row_is_kept_and_counted_and_all_others_are_drawn_as_without_it(self, strict, mode):
        gaps = self.gaps()
        whole = gaps.assign(group=small_frame()["group"].array, score=small_frame()["score"].array)
        with pytest.warns(eh.EvenhandWarning, match=r"2 of 200 rows .* first in row 10 .*, 2 of them for a missing"):
            found = getattr(strict, mode)(gaps, seed=3, missing="level")
        pd.testing.assert_frame_equal(found.loc[["p9", "p150"]], gaps.loc[["p9", "p150"]])
        expected = getattr(strict, mode)(whole, seed=3)
        others = [label for label in gaps.index if label not in ("p9", "p150")]
        pd.testing.assert_frame_equal(found.loc[others], expected.loc[others], check_dtype=False)
        assert not expected.equals(whole)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_files(self, strict, tmp_path, kind):
        gaps, path, to = self.gaps().reset_index(drop=True), tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
        gaps.to_parquet(path) if kind == "parquet" else gaps.to_csv(path, index=False)
        for column, row in (("group", 151), ("score", 10)):
            one = gaps.assign(**{other: small_frame()[other] for other in {"group", "score"} - {column}})
            one.to_parquet(path) if kind == "parquet" else one.to_csv(path, index=False)
            for call in (partial(strict.apply, to=to), partial(strict.release, to=to), strict.audit, strict.realised):
                with pytest.raises(eh.DataError, match=f"'{column}' has a missing value in row {row}; .*{self.LEVEL}"):
                    call(path)
            assert not to.exists()
        gaps.to_parquet(path) if kind == "parquet" else gaps.to_csv(path, index=False)
        with pytest.warns(eh.EvenhandWarning, match="2 of them for a missing value"):
            done = strict.apply(path, to=to, missing="level")
        assert (done.rows, done.unseen, done.missing, done.first_unseen) == (200, 2, 2, 10)
        written = pd.read_parquet(to) if kind == "parquet" else pd.read_csv(to)
        assert np.flatnonzero(written[["group", "score"]].isna().any(axis=1)).tolist() == [9, 150]
        counted = strict.audit(path, missing="level").coverage.set_index(["column", "what"])
        assert counted["rows"].xs("missing", level="what").to_dict() == {"group": 1, "score": 1, "hired": 0}
        assert counted.loc[("group", "missing"), "policy"] == "kept, left out of this audit"

    @pytest.mark.filterwarnings("ignore::evenhand.errors.EvenhandWarning")
    def test_an_audit_is_that_of_the_others(self, strict):
        gaps = self.gaps()
        others = strict.audit(gaps.dropna())
        found = strict.audit(gaps, missing="level")
        pd.testing.assert_frame_equal(found.rates, others.rates)
        pd.testing.assert_frame_equal(found.bounds, others.bounds)

    def test_a_missing_outcome_is_refused_whatever_is_said(self, strict):
        gaps = small_frame().astype({"hired": float})
        gaps.loc[4, "hired"] = np.nan
        for missing in (None, "level"):
            with pytest.raises(eh.DataError, match="'hired' has a missing value in row 5; every row needs its outcome"):
                strict.release(gaps, missing=missing)
        assert strict.apply(gaps)["hired"].isna().sum() == 1

    def test_with_unseen_error_it_is_refused_as_such(self, strict):
        with pytest.raises(
            eh.DataError, match=r"2 of 200 rows .* in row 10 \(column 'score' has a missing value\), 2 of them"
        ):
            strict.apply(self.gaps(), missing="level", unseen="error")

    def test_a_mapping_that_allows_them_can_be_told_not_to(self):
        lenient = eh.fit(small_problem(missing="level"), small_frame())
        with pytest.warns(eh.EvenhandWarning, match="2 of them for a missing value"):
            lenient.apply(self.gaps())
        with pytest.raises(eh.DataError, match=r"'group' has a missing value in row 151 "):
            lenient.apply(self.gaps(), missing="error")
        with pytest.raises(eh.SpecError, match="missing must be one of"):
            lenient.apply(self.gaps(), missing="keep")

    def test_a_level_that_was_fitted_stays_one(self):
        frame = small_frame().astype({"score": float})
        frame.loc[::20, "score"] = np.nan
        mapping = eh.fit(small_problem(missing="level"), frame)
        for missing in (None, "level", "error"):
            pd.testing.assert_frame_equal(mapping.apply(frame, missing=missing), mapping.apply(frame))

    def test_words_that_stand_for_a_missing_value(self):
        mapping = eh.fit(small_problem(missing_values=["?"]), small_frame())
        frame = small_frame()
        frame.loc[2, "group"] = "?"
        with pytest.raises(eh.DataError, match="'group' has a missing value in row 3;"):
            mapping.apply(frame)
        with pytest.warns(eh.EvenhandWarning, match=r"\(column 'group' has a missing value\), 1 of them for a missing"):
            found = mapping.apply(frame, missing="level")
        assert found["group"][2] == "?"

    def test_where_the_group_is_suppressed_an_unknown_group_gets_the_outcome_of_its_features(self):
        rules = {"score": eh.Ordinal(step=1), "hired": eh.Free()}
        suppressed = small_problem(distortion=eh.Distortion(rules), suppress_protected="fixed")
        mapping = eh.fit(suppressed, small_frame())
        many = pd.concat([small_frame().assign(group=None)] * 20, ignore_index=True)
        with pytest.warns(eh.EvenhandWarning, match="4000 of them for a missing value .* get ŷ from"):
            found = mapping.release(many, seed=0, missing="level")
        assert found["score"].equals(many["score"])
        shares = small_frame().groupby("score")["hired"].mean()
        assert found.groupby("score")["hired"].mean().to_dict() == pytest.approx(shares.to_dict(), abs=0.05)

    @pytest.mark.filterwarnings("ignore::evenhand.errors.EvenhandWarning")
    def test_a_blind_mapping_reads_no_group(self):
        mapping = eh.fit(small_problem(blind=True, parity=[eh.PairwiseParity(0.7)]), small_frame())
        gaps = self.gaps().assign(score=small_frame()["score"].to_numpy())
        assert len(mapping.apply(gaps)) == 200
        with pytest.raises(eh.DataError, match="'group' has a missing value in row 151 "):
            mapping.audit(gaps)
        assert mapping.audit(gaps, missing="level").coverage["rows"].sum() == 1


def test_a_warning_names_the_line_that_called(tmp_path):
    mapping = shared_fit(small_problem(), small_frame())
    new = small_frame().head(5).assign(group="c")
    new.to_csv(tmp_path / "in.csv", index=False)
    for call in (
        lambda: mapping.apply(new),
        lambda: mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv"),
        lambda: mapping.possibilities(new),
        lambda: mapping.predictor.predict_proba(new),
    ):
        with pytest.warns(eh.EvenhandWarning, match="5 of 5 rows") as told:
            call()
        assert [each.filename for each in told] == [__file__]


def test_keys_of_a_column_in_several_pieces():
    frame = small_frame().assign(id=[f"p{i}" for i in range(200)])
    mapping = eh.fit(small_problem(), frame)
    pieces = pd.concat([frame[:120], frame[120:]])
    for kind in ("string[pyarrow]", "str"):
        found = mapping.release(pieces.astype({"id": kind}), key="id")
        assert found["hired"].equals(mapping.release(frame, key="id")["hired"])


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("rows", [40, 4000])
def test_values_of_one_level_are_one_new_cell(frame, mapping, rows):
    """Of few kinds of rows and of many, more than there are rows."""
    young = frame.assign(age=np.arange(len(frame)) % 5 + 20, job="cook", hours=20.0, sex="F", hired=1)
    new = pd.concat([young] * 3, ignore_index=True)[:rows]
    lacking = eh.fit(mapping.problem, frame.query("not (age < 30 and job == 'cook')"))
    with pytest.warns(eh.EvenhandWarning, match=rf": {rows} with \(sex=F; age=<30, .*job=cook; hired=1\); they"):
        lacking.release(new)
