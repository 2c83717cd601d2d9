"""Queries on a real PostgreSQL server."""

import pyarrow
import pytest
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
from copying import ask, load

import evenhand as eh

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.postgres

TYPES = {
    "note": "text",
    KEY: "varchar(80)",
    "sex": "char(2)",
    "age": "smallint",
    "balance": "double precision",
    TITLE: "text",
    "grade": "numeric(3, 0)",
    "local": "boolean",
    "hired": "varchar",
    "extra": "double precision",
}


def given(postgres, frame, **types):
    load(postgres, arrow(frame), **{**TYPES, **types})


@pytest.mark.parametrize("mode", ["apply", "release"])
@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_query_gives_the_rows_of_the_kernel(postgres, variant, restore, mode):
    fitted, new = mapping(**VARIANTS[variant]), awkward(3000, seed=1)
    new = complete(new) if variant == "complete" else new
    given(postgres, new)
    options = {"mode": mode, "seed": 3, "restore": restore}
    listed = list(new.columns) if restore == "label" else None
    expected = arrow(transformed(fitted, mode, new, seed=3, restore=restore))
    found = ask(postgres, fitted.to_sql("postgres", "people", KEY, columns=listed, **options), expected.schema)
    assert_same(found, expected)


def test_types_stay_what_they_are(postgres):
    given(postgres, awkward(500), balance="real")
    postgres.execute("DROP VIEW IF EXISTS new")
    postgres.execute("CREATE VIEW new AS " + mapping().to_sql("postgres", "public.people", KEY, mode="release"))
    described = (
        "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = '{}'::regclass AND attnum > 0 ORDER BY attnum"
    )
    before, after = (postgres.execute(described.format(table)).fetchall() for table in ("people", "new"))
    assert after == before
    postgres.execute("DROP VIEW new")


def test_a_query_refuses_what_the_kernel_refuses(postgres):
    new = awkward(300, seed=1)
    given(postgres, new.assign(**{KEY: None}))
    with pytest.raises(psycopg.Error, match=r"evenhand: column .* has a missing value"):
        postgres.execute(mapping().to_sql("postgres", "people", KEY))
    given(postgres, new)
    with pytest.raises(psycopg.Error, match=r"must be text, whole numbers"):
        postgres.execute(mapping().to_sql("postgres", "people", "extra"))
    with pytest.raises(psycopg.Error, match=r"evenhand: column 'balance' has a missing value; .*in the row of key"):
        postgres.execute(mapping(missing="error", missing_values=()).to_sql("postgres", "people", KEY))
    strict = mapping(missing="error", missing_values=())
    kept = arrow(transformed(strict, "apply", new, missing="level"))
    assert_same(ask(postgres, strict.to_sql("postgres", "people", KEY, missing="level"), kept.schema), kept)
    with pytest.raises(psycopg.Error, match=r"evenhand: a row has a combination of sex, age, .* not in the fitted"):
        postgres.execute(mapping().to_sql("postgres", "people", KEY, unseen="error"))
    known = awkward(endless=False)
    given(postgres, known)
    expected = arrow(transformed(mapping(), "apply", known))
    assert_same(ask(postgres, mapping().to_sql("postgres", "people", KEY, unseen="error"), expected.schema), expected)


def test_dates_are_keys_in_the_one_style_that_is_the_same_everywhere(postgres):
    given(postgres, awkward(50))
    postgres.execute("ALTER TABLE people ADD COLUMN born date DEFAULT '1999-12-31'")
    text = mapping().to_sql("postgres", "people", "born")
    assert len(postgres.execute(text).fetchall()) == 50
    postgres.execute("SET DateStyle = 'German'")
    with pytest.raises(psycopg.Error, match="dates"):
        postgres.execute(text)
    postgres.execute("SET DateStyle = 'ISO'")


@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
@pytest.mark.parametrize("types", NARROW)
def test_numbers_with_blanks_in_columns_of_every_width(postgres, types, restore):
    fitted, new = mapping_of_numbers(), numbers(seed=1, new=True, **types)
    expected = transformed(fitted, "release", new, key="note", restore=restore)
    load(postgres, new)
    text = fitted.to_sql("postgres", "people", "note", mode="release", restore=restore, columns=new.column_names)
    assert_same(ask(postgres, text, expected.schema), expected)


@pytest.mark.parametrize("conforming", ["on", "off"])
def test_names_and_values_stay_between_their_quotes(postgres, conforming):
    """Also where a setting makes an escape of every backslash."""
    key, new, fitted = hostile()
    load(postgres, new, HOSTILE[-4])
    expected = transformed(fitted, "release", new, key=key)
    postgres.execute(f"SET standard_conforming_strings = {conforming}")
    found = ask(postgres, fitted.to_sql("postgres", [HOSTILE[-4]], key, mode="release"), expected.schema)
    postgres.execute("RESET standard_conforming_strings")
    assert_same(found, expected)


def test_names_that_differ_in_case_alone(postgres):
    new = pyarrow.table({"note": range(40), "x": ["a", "b"] * 20, "X": ["u", "v", "v", "u"] * 10, "y": [0, 1] * 20})
    rules = eh.Distortion(dict.fromkeys(["X", "y"], eh.Nominal(1)))
    stated = problem(protected=["x"], features=["X"], outcome="y", bins={}, missing_values=(), distortion=rules)
    fitted = scattered(eh.fit(stated, new))
    load(postgres, new)
    found = ask(postgres, fitted.to_sql("postgres", "people", "note"), new.schema)
    assert_same(found, transformed(fitted, "apply", new, key="note"))
    for dialect in ("duckdb", "spark"):
        with pytest.raises(eh.SpecError, match="'x' and 'X' differ in upper and lower case alone"):
            fitted.to_sql(dialect, "people", "note")
