"""Queries against the kernel in memory, here on DuckDB: the same rows, value for value."""

import re
import sys
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pytest
import sqlglot
from awkward import (
    HOSTILE,
    KEY,
    NARROW,
    TITLE,
    VARIANTS,
    arrow,
    assert_same,
    awkward,
    complete,
    hostile,
    mapping,
    mapping_of_numbers,
    numbers,
    problem,
    scattered,
    transformed,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.cli import queries
from evenhand.engines.sql import DIALECTS, query
from evenhand.engines.sql.dialects import dialect_of
from evenhand.engines.sql.dialects.duckdb import DuckDB
from evenhand.engines.sql.moves import moves_of
from evenhand.kernel import identity


@pytest.fixture
def duck():
    with duckdb.connect() as connection:
        yield connection


def run(duck, text, frame, table="people"):
    duck.register(table, arrow(frame))
    return duck.sql(text).to_arrow_table()


@pytest.mark.parametrize("mode", ["apply", "release"])
@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_query_gives_the_rows_of_the_kernel(duck, variant, restore, mode):
    fitted, new = mapping(**VARIANTS[variant]), awkward(4000, seed=1)
    new = complete(new) if variant == "complete" else new
    expected = transformed(fitted, mode, new, seed=3, restore=restore)
    options = {"mode": mode, "seed": 3, "restore": restore}
    assert_same(run(duck, fitted.to_sql("duckdb", "people", KEY, **options), new), arrow(expected))
    listed = fitted.to_sql("duckdb", "people", KEY, columns=list(new.columns[::-1]), **options)
    assert_same(run(duck, listed, new), arrow(expected[new.columns[::-1]]))
    changed = {name for name in new if not expected[name].equals(new[name])}
    assert {"age", "balance", TITLE, "local"} <= changed
    assert ("hired" in changed) == (mode == "release")


def test_a_dialect_is_one_line(duck, monkeypatch):
    """One that nobody here knows writes a query that runs, in its own words; users are told of it."""

    class Quack(DuckDB):
        def draw(self, text):
            return f"/* quack */ {super().draw(text)}"

    monkeypatch.setitem(DIALECTS, "quack", Quack)
    new = awkward(800, seed=1)
    text = mapping().to_sql("quack", "people", KEY, mode="release", seed=3)
    assert "/* quack */" in text
    assert_same(run(duck, text, new), arrow(transformed(mapping(), "release", new, seed=3)))
    with pytest.raises(eh.SpecError, match=r"'postgres', 'quack'\], not 'quak'. Did you mean 'quack'"):
        mapping().to_sql("quak", "people", KEY)


def test_the_command_offers_every_dialect():
    assert sorted(DIALECTS) == queries.DIALECTS


def test_the_moves_are_those_that_change_something():
    mode = mapping().release_mode.with_unseen("keep")
    moves = moves_of(mode)
    assert np.all(moves.low < moves.high)
    assert np.all(np.any([codes >= 0 for codes in moves.to], axis=0))
    stays = mode.kernel.targets == np.repeat(
        mode.sources % (mode.domain.x.size * mode.domain.y.size), np.diff(mode.kernel.starts)
    )
    assert len(moves.source) == np.sum(~stays)
    typical = moves_of(mode.with_unseen("typical"))
    new = typical.source < 0
    assert np.array_equal(typical.source[~new], moves.source)
    # Of strangers the outcome changes alone.
    changing = {v.name for v, codes in zip(typical.variables, typical.to, strict=True) if np.any(codes[new] >= 0)}
    assert changing == {mode.domain.outcome.name}


def test_types_stay_what_they_are(duck):
    duck.execute("CREATE TYPE sexes AS ENUM ('M''', 'F\"')")
    duck.register("given", arrow(awkward(500)))
    duck.execute(
        "CREATE TABLE people AS SELECT * REPLACE (CAST(age AS TINYINT) AS age, CAST(sex AS sexes) AS sex, "
        "CAST(balance AS FLOAT) AS balance, CAST(grade AS DECIMAL(4, 1)) AS grade) FROM given"
    )
    before = duck.table("people")
    after = duck.sql(mapping().to_sql("duckdb", "people", KEY, mode="release"))
    assert after.columns == before.columns
    assert after.types == before.types


def test_texts_are_compared_by_their_characters(duck):
    """Also where a column's collation says that "m'" is the same as "M'"."""
    new = awkward(500)
    new["sex"] = np.where(new["grade"] > 0, new["sex"].str.lower(), new["sex"])
    duck.register("given", arrow(new))
    duck.execute("PRAGMA default_collation = nocase")
    duck.execute("CREATE TABLE people AS FROM given")
    found = duck.sql(mapping().to_sql("duckdb", "people", KEY)).to_arrow_table()
    assert_same(found, arrow(transformed(mapping(), "apply", new)))


def test_a_mapping_that_changes_nobody(duck):
    fitted = eh.fit(mapping().problem, mapping().counts)
    assert not len(moves_of(fitted.release_mode).source)
    new = awkward(500, seed=2)
    assert_same(run(duck, fitted.to_sql("duckdb", "people", KEY, mode="release"), new), arrow(new))


def test_names_are_quoted_and_may_have_parts(duck):
    new = awkward(300)
    duck.execute('CREATE SCHEMA "my ""schema"""')
    duck.register("given", arrow(new))
    duck.execute('CREATE TABLE "my ""schema"""."the.table; drop" AS FROM given')
    text = mapping().to_sql("duckdb", ['my "schema"', "the.table; drop"], KEY)
    assert_same(duck.sql(text).to_arrow_table(), arrow(transformed(mapping(), "apply", new)))
    assert "CREATE" not in text
    dotted = mapping().to_sql("duckdb", "memory.main.people", KEY)
    assert '"memory"."main"."people"' in dotted


@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "VARCHAR", "DATE", "UUID", "BOOLEAN"])
def test_keys_of_every_kind_are_written_as_in_memory(duck, kind):
    frame = awkward(60).drop(columns=KEY)
    duck.register("given", arrow(frame.assign(place=np.arange(60))))
    made = {
        "DATE": "DATE '1999-12-01' + CAST(place AS INTEGER)",
        "UUID": "CAST(md5(CAST(place AS VARCHAR)) AS UUID)",
        "BOOLEAN": "place % 2 = 0",
    }
    key = made.get(kind, f"CAST(place AS {kind})")
    duck.execute(f'CREATE TABLE people AS SELECT {key} AS "the key", * EXCLUDE place FROM given')
    found = duck.sql(mapping().to_sql("duckdb", "people", "the key")).to_arrow_table()
    people = duck.table("people")
    expected = transformed(mapping(), "apply", people, key="the key")
    assert_same(found.drop_columns("the key"), expected.to_arrow_table().drop_columns("the key"))


def refused(duck, text, frame, words):
    with pytest.raises(duckdb.Error, match=words):
        run(duck, text, frame)


def test_a_query_refuses_what_the_kernel_refuses(duck):
    new = awkward(300, seed=1)
    text = mapping().to_sql("duckdb", "people", KEY)
    refused(duck, text, new.assign(**{KEY: None}), "evenhand: column .* has a missing value")
    refused(duck, text, new.assign(**{KEY: np.arange(300) / 2}), "must be text, whole numbers")
    strict = mapping(missing="error", missing_values=()).to_sql("duckdb", "people", KEY)
    missing = r"evenhand: column 'balance' has a missing value; .*missing='level' .*\(in the row of key .*\)"
    refused(duck, strict, new, missing)


@pytest.mark.parametrize("mode", ["apply", "release"])
@pytest.mark.parametrize("restore", ["sample", "label"])
@pytest.mark.parametrize("changes", [{}, {"suppress_protected": "fixed"}, {"blind": True}])
def test_missing_values_of_no_level_are_kept_where_asked(duck, changes, restore, mode):
    fitted, new = mapping(missing="error", missing_values=(), **changes), awkward(400, seed=1, endless=False)
    text = fitted.to_sql("duckdb", "people", KEY, mode=mode, restore=restore, missing="level")
    expected = arrow(transformed(fitted, mode, new, restore=restore, missing="level"))
    assert_same(run(duck, text, new), expected)
    kept = new[["balance", TITLE]].isna().any(axis=1)
    assert 5 < kept.sum() < 50
    if mode == "apply" and restore == "sample":
        assert expected.to_pandas()[kept.to_numpy()]["balance"].equals(new[kept]["balance"])
    strict = fitted.to_sql("duckdb", "people", KEY, mode=mode, restore=restore, missing="level", unseen="error")
    refused(duck, strict, new, "evenhand: a row has a combination")


@pytest.mark.parametrize("changes", [{}, {"suppress_protected": "fixed"}])
@pytest.mark.parametrize("mode", ["apply", "release"])
def test_unknown_sources_are_refused_where_asked(duck, mode, changes):
    fitted, known = mapping(**changes), awkward(endless=False)
    text = fitted.to_sql("duckdb", "people", KEY, mode=mode, unseen="error")
    assert_same(run(duck, text, known), arrow(transformed(fitted, mode, known)))
    refused(duck, text, known.assign(sex="X"), "evenhand: a row has a combination of sex, age, .* not in the fitted")


def test_missing_levels_of_every_kind(duck):
    """Columns of integers and truths with missing values, and one that was always missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "note": [str(i) for i in range(400)],
            "id": np.arange(400),
            "group": pd.array(rng.integers(0, 2, 400), dtype="Int8"),
            "steps": pd.array(rng.integers(0, 4, 400), dtype="Int16").copy(),
            "vote": pd.array(rng.random(400) < 0.5, dtype="boolean"),
            "empty": np.array([None] * 400, dtype=object),
            "y": rng.integers(0, 2, 400),
        }
    )
    frame.loc[::7, "steps"] = pd.NA
    frame.loc[::5, "vote"] = pd.NA
    frame.loc[::9, "steps"] = -9
    rules = {"steps": eh.Nominal(1), "vote": eh.Nominal(1), "y": eh.Nominal(1)}
    problem = eh.Problem(
        protected=["group"], features=["steps", "vote", "empty"], outcome="y", missing="level", missing_values=[-9],
        distortion=eh.Distortion(rules), budget=eh.ExpectedDistortion(9), parity=[eh.PairwiseParity(9)],
    )  # fmt: skip
    table = arrow(frame)
    fitted = eh.fit(problem, table)
    cells = fitted.counts.domain.xy(fitted.counts.x, fitted.counts.y)
    fitted = replace(fitted, kernel=identity(np.roll(cells, 1)))
    text = fitted.to_sql("duckdb", "people", "id", mode="release")
    assert_same(run(duck, text, frame), fitted.release(table, key="id"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sqlglot_reads_what_was_written(dialect):
    """Nothing in a name or value has become part of the statement."""
    text = mapping().to_sql(dialect, "people", KEY, columns=list(awkward(1).columns))
    (statement,) = sqlglot.parse(text, read=dialect)
    tables = {table.name for table in statement.find_all(sqlglot.exp.Table)}
    assert {name for name in tables if not name.startswith("evenhand_")} == {"people"}


def test_texts_and_numbers():
    duck, spark, postgres = map(dialect_of, ("duckdb", "spark", "postgres"))
    assert duck.text("it's \\ \n") == "'it''s \\ \n'"
    assert postgres.text("it's \\ \n") == "E'it''s \\\\ \n'"
    assert spark.text("plain ü") == "'plain ü'"
    assert spark.text("${x}") == "CAST(X'247b787d' AS STRING)"
    assert [duck.number(value) for value in (True, 3, -4.0, 0.1, 1e300)] == ["TRUE", "3", "-4", "0.1e0", "1e+300"]
    assert [spark.written(value) for value in (-5, 200, 40000, 0.5, "a")] == ["-5Y", "200S", "40000", "0.5D", "'a'"]
    for value in (0.1, 1 / 3, 1e-320, 123456789.123456789):
        assert duckdb.sql(f"SELECT {duck.number(value)}").fetchall() == [(value,)]


def test_what_cannot_be_written_is_refused(monkeypatch):
    fitted = mapping()
    with pytest.raises(eh.SpecError, match=r"dialect must be one of .* Did you mean 'postgres'"):
        fitted.to_sql("postgresql", "people", KEY)
    with pytest.raises(eh.SpecError, match="is empty"):
        fitted.to_sql("duckdb", "", KEY)
    with pytest.raises(eh.SpecError, match=r"take .* for a variable"):
        fitted.to_sql("spark", "${people}", KEY)
    with pytest.raises(eh.SpecError, match="PostgreSQL then needs columns="):
        fitted.to_sql("postgres", "people", KEY, restore="label")
    with pytest.raises(eh.SpecError, match=r"columns must list every column of the table; \['sex', 'balance'"):
        fitted.to_sql("duckdb", "people", KEY, columns=["age"])
    with pytest.raises(eh.SpecError, match="mode must be"):
        fitted.to_sql("duckdb", "people", KEY, mode="train")
    with pytest.raises(eh.SpecError, match="NUL"):
        dialect_of("duckdb").text("a\0b")
    monkeypatch.setattr(query, "MOST_BYTES", 1000)
    with pytest.raises(eh.SpecError, match=r"the query would have .* changes"):
        fitted.to_sql("duckdb", "people", KEY)


@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
@pytest.mark.parametrize("types", NARROW)
def test_numbers_with_blanks_in_columns_of_every_width(duck, types, restore):
    fitted, new = mapping_of_numbers(), numbers(seed=1, new=True, **types)
    duck.register("people", new)
    for mode in ("apply", "release"):
        text = fitted.to_sql("duckdb", "people", "note", mode=mode, restore=restore)
        found = duck.sql(text).to_arrow_table()
        assert_same(found, transformed(fitted, mode, new, key="note", restore=restore))
        if restore != "label":
            assert found.schema.types == new.schema.types


def test_whole_numbers_where_bins_were_fitted_on_real_ones(duck):
    """A value that is written into a column of whole numbers is rounded, and stays in its bin."""
    new = numbers(seed=1, share=pyarrow.int64())
    duck.register("people", new)
    found = duck.sql(mapping_of_numbers().to_sql("duckdb", "people", "note")).to_arrow_table()
    assert_same(found, transformed(mapping_of_numbers(), "apply", new, key="note"))


def test_a_number_that_engines_write_differently_has_no_label(duck):
    new = numbers(20, seed=1, steps=pyarrow.float64())
    odd = pyarrow.array([0.1] * 20)
    duck.register("people", new.set_column(2, "steps", odd))
    text = mapping_of_numbers().to_sql("duckdb", "people", "note", restore="label")
    with pytest.raises(duckdb.Error, match="column 'steps' has a real number of no level"):
        duck.sql(text).to_arrow_table()


@pytest.mark.parametrize(("column", "kind"), [("sex", "INTEGER"), ("sex", "BOOLEAN"), ("age", "VARCHAR")])
def test_columns_of_another_kind_are_refused(duck, column, kind):
    value = "'1'" if kind == "VARCHAR" else "1"
    duck.register("given", arrow(awkward(20)))
    duck.execute(f"CREATE TABLE people AS SELECT * REPLACE (CAST({value} AS {kind}) AS {column}) FROM given")
    with pytest.raises(duckdb.Error, match=f"evenhand: column '{column}' must hold"):
        duck.sql(mapping().to_sql("duckdb", "people", KEY)).to_arrow_table()


def test_names_and_values_stay_between_their_quotes(duck):
    key, new, fitted = hostile()
    for table in HOSTILE:
        duck.register(table, new)
        found = duck.sql(fitted.to_sql("duckdb", [table], key, mode="release")).to_arrow_table()
        assert_same(found, transformed(fitted, "release", new, key=key))


anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@settings(max_examples=25)
@given(st.lists(anything, min_size=4, max_size=4, unique_by=str.lower), st.lists(anything, min_size=3, unique=True))
def test_names_and_values_may_be_anything(names, values):
    """Each dialect reads back as one statement, and DuckDB gives the rows of the kernel."""
    key, d, x, y = names
    n = 4 * len(values)
    new = pyarrow.table(
        {
            "note": np.arange(n),
            key: [f"{i}{v}" for i, v in enumerate(values * 4)],
            d: (values[:2] * n)[:n],
            x: values * 4,
            y: (values[1:3] * n)[:n],
        }
    )
    rules = eh.Distortion({x: eh.Nominal(1), y: eh.Nominal(1)})
    stated = problem(protected=[d], features=[x], outcome=y, bins={}, missing_values=(), distortion=rules)
    fitted = scattered(eh.fit(stated, new))
    with duckdb.connect() as duck:
        duck.register(key, new)
        found = duck.sql(fitted.to_sql("duckdb", [key], key, mode="release")).to_arrow_table()
    assert_same(found, transformed(fitted, "release", new, key=key))
    if not any("${" in name for name in names):
        (statement,) = sqlglot.parse(fitted.to_sql("spark", [key], key, columns=new.column_names), read="spark")
        assert {t.name for t in statement.find_all(sqlglot.exp.Table) if not t.name.startswith("evenhand_")} == {key}


@pytest.mark.parametrize(
    ("dialect", "table", "key", "words"),
    [
        ("postgres", "t" * 64, "id", "has 64 bytes, and PostgreSQL cuts names off after 63"),
        ("postgres", "people", "ü" * 32, "has 64 bytes"),
        ("duckdb", "pe\0ple", "id", "holds NUL"),
        ("spark", "people", "i\ud800d", "half a character"),
        ("duckdb", 7, "id", "table must be a name such as 'people'"),
        ("duckdb", [], "id", "table must be a name"),
        ("duckdb", ["a", 3], "id", "table must be a name"),
        ("duckdb", "sales..people", "id", "is empty"),
        ("duckdb", "people", "", "is empty"),
        ("duckdb", "people", 3, "key must be the name of a column"),
        ("duckdb", "people", None, "give key="),
        ("oracle", "people", "id", "dialect must be one of"),
        (None, "people", "id", "dialect must be one of"),
    ],
)
def test_names_that_cannot_be_written(dialect, table, key, words):
    with pytest.raises(eh.SpecError, match=words):
        mapping().to_sql(dialect, table, key)


@pytest.mark.parametrize("listed", [True, False])
def test_columns_may_be_called_like_what_a_query_computes(duck, listed):
    """Also like the names of another query for the same table."""
    fitted, plain = mapping(), awkward(300, seed=1)
    own = [f"evenhand_5f0d_{name}" for name in ("key", "source", "draw", "to_0", "text_0", "rows", "table")]
    own += sorted(set(re.findall(r"evenhand_[0-9a-f]+_\w+", fitted.to_sql("duckdb", "people", KEY))))
    new = plain.assign(**{name: [f"{place} {i}" for i in range(len(plain))] for place, name in enumerate(own)})
    text = fitted.to_sql("duckdb", "people", KEY, columns=list(new.columns) if listed else None, restore="label")
    assert_same(run(duck, text, new), arrow(transformed(fitted, "apply", new, restore="label")))


@pytest.mark.parametrize("columns", ["age", [], ["age", "age"], [1], 5])
def test_columns_must_be_listed_by_name(columns):
    with pytest.raises(eh.SpecError, match=r"columns must (list|be a list|name at least one column)"):
        mapping().to_sql("duckdb", "people", KEY, columns=columns)


def test_balanced_draws_are_refused():
    with pytest.raises(eh.SpecError, match="balanced draws need every row"):
        mapping().to_sql("duckdb", "people", KEY, draw="balanced")


def test_a_missing_sqlglot_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(eh.EvenhandError, match=r"pip install 'evenhand\[sql\]'"):
        mapping().to_sql("duckdb", "people", KEY)
