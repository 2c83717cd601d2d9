"""Frames in, frames of the same type out."""

import datetime
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand import tables
from evenhand.tables.keys import key_texts

FRAMES = {
    "pandas": lambda frame: frame,
    "pandas, odd index": lambda frame: frame.set_axis(np.arange(len(frame))[::-1] * 3, axis=0),
    "pandas, object strings": lambda frame: frame.astype({"group": object}),
    "pandas, nullable": lambda frame: frame.astype({"hired": "Int64", "group": "string"}),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pyarrow, views": lambda frame: pa.table(pl.from_pandas(frame)),
}


def as_pandas(frame):
    if isinstance(frame, pd.DataFrame):
        return frame.reset_index(drop=True)
    return frame.to_pandas()


@pytest.fixture(params=FRAMES, ids=str)
def native(request):
    return FRAMES[request.param](small_frame().assign(note=[f"n{i}" for i in range(200)]))


def same_dtypes(a, b):
    if isinstance(a, pd.DataFrame):
        return a.dtypes.equals(b.dtypes) and a.index.equals(b.index)
    return a.schema == b.schema


@pytest.mark.slow(keep=3)
def test_every_frame_gives_the_same_mapping_and_draws(native):
    mapping = eh.fit(small_problem(), native)
    plain = shared_fit(small_problem(), small_frame())
    assert mapping.objective == pytest.approx(plain.objective, abs=1e-12)
    released = mapping.release(native, seed=3)
    assert type(released) is type(native)
    assert same_dtypes(native, released)
    expected = plain.release(small_frame(), seed=3)
    found = as_pandas(released)
    assert found[["score", "hired"]].astype(int).equals(expected[["score", "hired"]].astype(int))
    assert found["note"].tolist() == [f"n{i}" for i in range(200)]
    assert (found["hired"].astype(int) != small_frame()["hired"]).any()


def test_apply_keeps_type_and_passes_the_outcome_through(native):
    mapping = eh.fit(small_problem(), native)
    applied = mapping.apply(native, seed=1)
    assert type(applied) is type(native)
    assert same_dtypes(native, applied)
    assert as_pandas(applied)["hired"].astype(int).tolist() == small_frame()["hired"].tolist()
    assert (as_pandas(applied)["score"].astype(int) != small_frame()["score"]).any()


@pytest.mark.slow(keep=4)
def test_expand_keeps_the_other_columns_and_sums_to_the_rows(native):
    mapping = eh.fit(small_problem(), native)
    wide = mapping.expand(native)
    assert type(wide) is type(native)
    frame = as_pandas(wide)
    assert frame["weight"].sum() == pytest.approx(200)
    assert list(frame.columns) == ["group", "score", "hired", "note", "weight"]
    assert frame.groupby("note")["weight"].sum().to_numpy() == pytest.approx(np.ones(200))
    assert not frame.drop(columns="weight").duplicated().any()


def test_ordered_categories_give_the_order():
    frame = small_frame().assign(score=pd.Categorical.from_codes(small_frame()["score"], ["low", "high"], ordered=True))
    for native in (frame, pl.from_pandas(frame).with_columns(pl.col("score").cast(pl.Enum(["low", "high"])))):
        mapping = eh.fit(small_problem(), native)
        assert mapping.counts.domain.variable("score").levels == ("low", "high")
        released = mapping.release(native, seed=0)
        assert same_dtypes(native, released)
        table = mapping.table()
        assert table["score"].cat.ordered
        assert list(table["to_score"].cat.categories) == ["low", "high"]


@pytest.mark.parametrize("act", ["release", "apply", "expand"])
def test_a_frame_whose_categories_lack_a_level_gets_it(act):
    """After remove_unused_categories a test set may lack levels that people are moved to: no NaN, ever."""
    score = pd.Categorical.from_codes(small_frame()["score"], ["low", "high"], ordered=True)
    frame = small_frame().assign(score=score)
    mapping = eh.fit(small_problem(), frame)
    part = frame[frame["score"] == "high"].copy()
    part["score"] = part["score"].cat.remove_unused_categories()
    enum = pl.from_pandas(part.astype({"score": str})).with_columns(pl.col("score").cast(pl.Enum(["high"])))
    seed = {} if act == "expand" else {"seed": 0}
    for native in (part, enum):
        scores = list(getattr(mapping, act)(native, **seed)["score"])
        assert set(scores) == {"low", "high"}
    moved = getattr(mapping, act)(part, **seed)["score"]
    assert moved.cat.ordered
    assert list(moved.cat.categories) == ["low", "high"]


def test_arrow_dictionaries_keep_their_type():
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    names = pa.array(small_frame()["score"].map({0: "low", 1: "high"})).cast(pa.string()).dictionary_encode()
    table = pa.Table.from_pandas(small_frame()).set_column(1, "score", names.cast(kind))
    rules = eh.Distortion({"score": eh.Ordinal(1, levels=["low", "high"]), "hired": eh.Ordinal(1, up=False)})
    released = eh.fit(small_problem(distortion=rules), table).release(table, seed=1)
    assert released.schema == table.schema
    assert set(released["score"].to_pylist()) == {"low", "high"}


def test_booleans_are_ordered():
    frame = small_frame().assign(hired=small_frame()["hired"].astype(bool))
    mapping = eh.fit(small_problem(), frame)
    assert mapping.release(frame)["hired"].dtype == bool
    assert mapping.table()["to_hired"].dtype == bool


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.rename(columns={"score": "scor"}), "no column 'score'.*Did you mean 'scor'"),
        (lambda f: f.assign(score=f["score"].astype(float)), "'score' holds real numbers.*whole.*astype"),
        (
            lambda f: f.assign(score=f["score"].where(f["score"] > 0)),
            "'score' has 100 missing values, the first in row 1",
        ),
        (lambda f: f.assign(group=f["group"].where(f["group"] == "a")), "'group' has 100 missing"),
        (
            lambda f: f.assign(score=f["score"].map({0: "lo", 1: "hi"})),
            "Ordinal needs an order for column 'score'",
        ),
        (
            lambda f: f.assign(score=pd.Categorical(f["score"].map({0: "lo", 1: "hi"}))),
            "needs an order for column 'score'",
        ),
        (lambda f: f.iloc[:0], "empty"),
        (lambda f: f[f["group"] == "a"], "single group.*group=a"),
        (lambda f: f.assign(hired=1), "outcome 'hired' has a single value"),
        (lambda f: f.assign(score=pd.Timestamp("2020-01-01")), "'score' is of type Datetime"),
    ],
)
def test_bad_tables(change, words):
    with pytest.raises((eh.DataError, eh.SpecError), match=words):
        eh.fit(small_problem(), change(small_frame()))


@pytest.mark.parametrize("short", ["columns.numbered", "writing._written"])
def test_too_little_memory_is_no_fault_of_a_column(monkeypatch, short):
    frame = small_frame()
    mapping = shared_fit(small_problem(), frame)

    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(f"evenhand.tables.{short}", full)
    with pytest.raises(MemoryError):
        mapping.release(frame, seed=0)


def test_a_level_that_the_rule_does_not_know():
    rules = eh.Distortion({"score": eh.Ordinal(1, levels=[1, 2]), "hired": eh.Ordinal(1)})
    with pytest.raises(eh.DataError, match="'score' has the value 0 in row 1, which is not among the levels"):
        eh.fit(small_problem(distortion=rules), small_frame())


@pytest.mark.parametrize("frame", [None, [1, 2], {"a": [1]}])
def test_not_a_frame(frame):
    with pytest.raises(eh.DataError, match="expected a dataframe"):
        eh.fit(small_problem(), frame)


def test_typical_slips():
    with pytest.raises(eh.DataError, match=r"there is no file 'people\.csv'"):
        eh.fit(small_problem(), "people.csv")
    with pytest.raises(eh.SpecError, match="the problem comes first"):
        eh.fit(small_frame(), small_problem())


@pytest.mark.slow
def test_levels_that_nobody_has_are_levels_all_the_same():
    rules = eh.Distortion({"score": eh.Ordinal(1, levels=[0, 1, 2]), "hired": eh.Ordinal(1)})
    observed = eh.fit(small_problem(distortion=rules), small_frame())
    assert set(observed.table()["to_score"]) <= {0, 1}
    anywhere = eh.fit(small_problem(distortion=rules, targets="all"), small_frame())
    assert anywhere.objective <= observed.objective + 1e-9


KEYS = {
    "whole": ([0, -1, 2**63 - 1, -(2**63)], ["0", "-1", "9223372036854775807", "-9223372036854775808"]),
    "text": (["", "né", "x" * 200, "a\0"], ["", "né", "x" * 200, "a\0"]),
    "boolean": ([True, False, True, True], ["true", "false", "true", "true"]),
    "date": (
        [datetime.date(2020, 1, day) for day in (1, 2, 3, 31)],
        [f"2020-01-{day}" for day in ("01", "02", "03", 31)],
    ),
}


@pytest.mark.parametrize("arrow", [True, False], ids=["with Arrow", "without"])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_have_one_text_in_every_library(kind, arrow, monkeypatch):
    """By hand: what stands here is what is hashed, whoever writes it out."""
    values, texts = KEYS[kind]
    frames = [
        pd.DataFrame({"k": values}),
        pd.DataFrame({"k": pd.Series(values, dtype=object)}),
        pl.DataFrame({"k": values}),
    ]
    if arrow:
        whole = pa.table({"k": pa.chunked_array([values[:1], values[1:]])})
        frames += [whole, pa.concat_tables([whole, whole]).slice(4)]
    else:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    for frame in frames:
        found = key_texts(tables.read(frame), "k")
        assert [found[place].decode() for place in range(len(found))] == texts


def test_a_key_that_is_no_unicode():
    with pytest.raises(eh.DataError, match=r"the key 'k' holds .* not Unicode"):
        key_texts(tables.read(pd.DataFrame({"k": pd.Series(["\ud800", "b"], dtype=object)})), "k")


class TestWhatLibrariesKeep:
    """Columns that libraries keep in ways of their own."""

    @staticmethod
    def problem(**more):
        return eh.Problem(
            **{
                "protected": ["g"], "features": ["x"], "outcome": "y", "parity": [eh.PairwiseParity(0.5)],
                "distortion": eh.Distortion({"x": eh.Nominal(1), "y": eh.Nominal(1)}),
                "budget": eh.ExpectedDistortion(0.9), **more,
            }
        )  # fmt: skip

    @staticmethod
    def frame(x):
        return pd.DataFrame({"g": ["m", "m", "f", "f"] * 5, "x": x, "y": [0, 1, 1, 0, 1] * 4})

    @pytest.mark.parametrize(
        ("x", "plain", "bins"),
        [
            (pd.Categorical([f"c{i % 100:02d}" for i in range(6000)]), object, eh.PooledLevels(61)),
            (np.arange(6000, dtype=np.int16) % 3000, float, eh.Quantiles(3)),
        ],
        ids=["categories", "whole numbers"],
    )
    def test_values_times_outcomes_may_be_more_than_their_codes_hold(self, x, plain, bins):
        people = pd.DataFrame({"g": ["m", "f", "f"] * 2000, "x": x, "y": np.arange(6000) % 13})
        stated = self.problem(bins={"x": bins})
        found, expected = (tables.count(stated, f).domain.variable("x") for f in (people, people.astype({"x": plain})))
        assert found.levels == expected.levels
        assert [sum(s.weights) for s in found.coding.stock] == [sum(s.weights) for s in expected.coding.stock]

    @pytest.mark.parametrize(
        "kept",
        [
            lambda x: pl.Series(x, dtype=pl.Categorical),
            lambda x: pl.Series(x, dtype=pl.Enum(["b", "a"])),
            lambda x: pa.array(x).dictionary_encode().cast(pa.dictionary(pa.uint8(), pa.string())),
            lambda x: pa.DictionaryArray.from_arrays(
                pa.array([{"a": 0, "b": 3, None: 2}[v] for v in x], pa.int8()), pa.array(["a", "b", None, "b"])
            ),
        ],
        ids=["categorical", "enum", "unsigned", "a null and a value twice"],
    )
    def test_dictionaries_with_nulls(self, kept):
        x = ["a", "b", None, "a"] * 5
        plain, column = self.frame(x), kept(x)
        library = pl.DataFrame if isinstance(column, pl.Series) else pa.table
        table = library({"g": plain["g"].tolist(), "x": column, "y": plain["y"].tolist()})
        problem = self.problem(missing="level")
        counted, expected = eh.count(problem, table), eh.count(problem, plain)
        assert sorted(counted.weight) == sorted(expected.weight)
        assert set(counted.domain.variable("x").levels) == set(expected.domain.variable("x").levels)
        with pytest.raises(eh.DataError, match="5 missing values"):
            eh.count(self.problem(), table)
        with pytest.raises(eh.DataError, match="5 missing values"):
            eh.fit(self.problem(), plain.fillna("a")).apply(table)

    def test_nulls_of_an_arrow_dictionary_in_pandas_stay(self):
        kind = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
        plain = self.frame(["a", "b", None, "a"] * 5)
        mapping = eh.fit(self.problem(missing="level", parity=[eh.PairwiseParity(0.1)]), plain)
        released = mapping.release(plain.astype({"x": kind}), seed=3)
        assert released["x"].dtype == kind
        assert released["x"].astype(object).where(released["x"].notna(), None).tolist() == [
            None if v is None or v != v else v for v in mapping.release(plain, seed=3)["x"]
        ]
        assert eh.count(mapping.problem, plain.astype({"x": kind})).domain.variable("x").levels[:2] == ("a", "b")

    def test_whole_numbers_that_no_real_one_equals_are_binned(self):
        plain = self.frame(2**53 + np.arange(20) % 8 + 1)
        mapping = eh.fit(self.problem(bins={"x": eh.Quantiles(2)}), plain)
        applied = mapping.apply(pa.Table.from_pandas(plain), seed=1)
        assert applied["x"].to_pylist() == mapping.apply(plain, seed=1)["x"].tolist()

    @pytest.mark.parametrize("bins", [{}, {"x": eh.Quantiles(2)}])
    def test_decimal_numbers_are_refused(self, bins):
        x = pa.array([Decimal(1), Decimal(2)] * 10, pa.decimal128(9, 0))
        plain = self.frame(0)
        table = pa.table({"g": plain["g"].tolist(), "x": x, "y": plain["y"].tolist()})
        with pytest.raises(eh.DataError, match=r"column 'x' .*whole"):
            eh.fit(self.problem(bins=bins), table)

    def test_a_truth_and_a_one_are_two_keys(self):
        mapping = eh.fit(self.problem(), self.frame(["a", "b"] * 10))
        table = self.frame(["a", "b"] * 10)
        keys = [True, 1, 0, False] * 5
        mixed = mapping.apply(table.assign(key=pd.Series(keys, dtype=object)), key="key")
        texts = mapping.apply(table.assign(key=[str(k).lower() for k in keys]), key="key")
        assert mixed["x"].tolist() == texts["x"].tolist()
        wide = pl.from_pandas(table).with_columns(key=pl.Series(range(20), dtype=pl.Int128))
        narrow = table.assign(key=range(20))
        assert mapping.apply(wide, key="key")["x"].to_list() == mapping.apply(narrow, key="key")["x"].tolist()

    def test_rows_of_no_weight_are_no_part_of_the_coverage(self, tmp_path):
        plain = self.frame(["a", "b"] * 10).assign(w=1.0)
        mapping = eh.fit(self.problem(), plain)
        more = pd.concat([plain, pd.DataFrame({"g": ["m"], "x": ["zzz"], "y": [1], "w": [0.0]})])
        more.to_parquet(tmp_path / "more.parquet")
        for table in (more, tmp_path / "more.parquet"):
            assert mapping.audit(table, weights="w").coverage["rows"].sum() == 0

    @pytest.mark.slow
    def test_a_blank_number_is_blank_however_a_file_writes_it(self, tmp_path):
        plain = self.frame([-9.0, 1.0, 2.5, 7.0] * 5)
        plain.to_csv(tmp_path / "people.csv", index=False)
        problem = self.problem(
            bins={"x": eh.Edges([2, 5])}, missing="level", missing_values=[-9], parity=[eh.PairwiseParity(0.1)],
            distortion=eh.Distortion({"x": eh.Ordinal(1, max_steps=1), "y": eh.Ordinal(1)}),
        )  # fmt: skip
        mapping = eh.fit(problem, tmp_path / "people.csv")
        assert mapping.audit(tmp_path / "people.csv").coverage.equals(mapping.audit(plain).coverage)
        for restore in ("sample", "label"):
            mapping.release(tmp_path / "people.csv", to=tmp_path / "out.csv", seed=1, restore=restore)
            expected = mapping.release(plain, seed=1, restore=restore)
            found = pd.read_csv(tmp_path / "out.csv", dtype={"x": str})
            assert found["y"].tolist() == expected["y"].tolist()
            assert found["x"].tolist() == [str(value) for value in expected["x"]]


@pytest.mark.parametrize(
    "values",
    [pd.cut(range(200), 3), pd.Categorical(pd.date_range("2020-01-01", periods=2)[np.arange(200) % 2])],
    ids=["intervals", "times"],
)
def test_categories_that_no_file_could_keep(values, tmp_path):
    frame, problem = small_frame(), small_problem(distortion=eh.Distortion({"hired": eh.Ordinal(step=1, up=False)}))
    frame["score"] = values
    with pytest.raises(eh.DataError, match=r"'score' has categories of type .*rename_categories\(str\)"):
        eh.fit(problem, frame)
    frame["score"] = frame["score"].cat.rename_categories(str)
    eh.fit(problem, frame).save(tmp_path / "m.mapping")
    assert eh.Mapping.load(tmp_path / "m.mapping").counts.domain.x.size > 1


class TestAGroupWithoutWeight:
    """Nobody of it counts, so nothing is bounded for it: that is said, wherever rows are counted."""

    @pytest.fixture
    def frame(self):
        frame = pd.concat([small_frame(), small_frame().tail(20).assign(group="c")], ignore_index=True)
        return frame.assign(w=np.where(frame["group"] == "c", 0.0, 1.0))

    @pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
    def test_it_is_named(self, frame, kind, tmp_path):
        table = frame
        if kind == "polars":
            table = pl.from_pandas(frame)
        elif kind == "csv":
            table = tmp_path / "people.csv"
            frame.to_csv(table, index=False)
        with pytest.warns(
            eh.EvenhandWarning,
            match=r"all rows of these groups have a weight of zero: \(group=c\); they are not fitted",
        ):
            mapping = eh.fit(small_problem(), table, weights="w")
        assert mapping.counts.people == 200
        with pytest.warns(eh.EvenhandWarning, match="20 of 220 rows .* they are left unchanged"):
            released = mapping.release(frame, seed=0)
        assert released[200:].equals(frame[200:])

    def test_single_rows_without_weight_are_nothing_special(self, frame):
        frame["w"] = np.arange(len(frame)) % 2
        assert eh.count(small_problem(), frame, weights="w").people == 110

    def test_a_group_by_bins_is_lost_only_if_the_bin_is(self):
        frame = pd.DataFrame({"age": [20, 30, 40, 50] * 25, "x": 0, "y": [0, 1] * 50})
        frame["w"] = np.where(frame["age"] == 30, 0.0, 1.0)
        rules = eh.Distortion({"y": eh.Ordinal(1)})
        problem = eh.Problem(
            protected=["age"], features=["x"], outcome="y", distortion=rules, bins={"age": eh.Edges([35])}
        )
        assert eh.count(problem, frame, weights="w").people == 75
        with pytest.warns(eh.EvenhandWarning, match=r"have a weight of zero: \(age=20\), \(age=30\);"):
            eh.count(problem, frame.assign(w=frame["age"] > 35), weights="w")
