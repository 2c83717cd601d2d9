"""Queries on a real PostgreSQL server."""

import pyarrow
import pytest
from awkward import KEY, TITLE, VARIANTS, arrow, assert_same, awkward, complete, mapping, transformed

from evenhand.engines.sql.dialects import dialect_of

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


def load(postgres, frame, **types):
    """Make a table of a frame."""
    name = dialect_of("postgres").name
    kinds = TYPES | types
    postgres.execute("DROP TABLE IF EXISTS people")
    postgres.execute(f"CREATE TABLE people ({', '.join(f'{name(column)} {kinds[column]}' for column in frame)})")
    with postgres.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
        for row in zip(*(_column(frame[column]) for column in frame), strict=True):
            copy.write_row(row)


def _column(series):
    if series.dtype.kind == "f":
        return series.tolist()
    return series.astype(object).where(series.notna(), None).tolist()


def ask(postgres, text):
    with postgres.cursor() as cursor:
        cursor.execute(text)
        names = [column.name for column in cursor.description]
        columns = zip(*cursor.fetchall(), strict=True)
        return pyarrow.table({name: _array(values) for name, values in zip(names, columns, strict=True)})


def _array(values):
    return pyarrow.array([int(v) if type(v).__name__ == "Decimal" else v for v in values])


@pytest.mark.parametrize("mode", ["apply", "release"])
@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_query_gives_the_rows_of_the_kernel(postgres, variant, restore, mode):
    fitted, new = mapping(**VARIANTS[variant]), awkward(3000, seed=1)
    new = complete(new) if variant == "complete" else new
    load(postgres, new)
    options = {"mode": mode, "seed": 3, "restore": restore}
    listed = list(new.columns) if restore == "label" else None
    found = ask(postgres, fitted.to_sql("postgres", "people", KEY, columns=listed, **options))
    assert_same(found, arrow(transformed(fitted, mode, new, seed=3, restore=restore)))


def test_types_stay_what_they_are(postgres):
    load(postgres, awkward(500), balance="real")
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
    load(postgres, new.assign(**{KEY: None}))
    with pytest.raises(psycopg.Error, match=r"evenhand: column .* has a missing value"):
        ask(postgres, mapping().to_sql("postgres", "people", KEY))
    load(postgres, new)
    with pytest.raises(psycopg.Error, match=r"must be text, whole numbers"):
        ask(postgres, mapping().to_sql("postgres", "people", "extra"))
    with pytest.raises(psycopg.Error, match=r"evenhand: column 'balance' has a missing value"):
        ask(postgres, mapping(missing="error", missing_values=()).to_sql("postgres", "people", KEY))
    with pytest.raises(psycopg.Error, match=r"evenhand: a row has a combination of sex, age, .* not in the fitted"):
        ask(postgres, mapping().to_sql("postgres", "people", KEY, unseen="error"))
    known = awkward(endless=False)
    load(postgres, known)
    found = ask(postgres, mapping().to_sql("postgres", "people", KEY, unseen="error"))
    assert_same(found, arrow(transformed(mapping(), "apply", known)))


def test_dates_are_keys_in_the_one_style_that_is_the_same_everywhere(postgres):
    load(postgres, awkward(50))
    postgres.execute("ALTER TABLE people ADD COLUMN born date DEFAULT '1999-12-31'")
    text = mapping().to_sql("postgres", "people", "born")
    assert len(ask(postgres, text)) == 50
    postgres.execute("SET DateStyle = 'German'")
    with pytest.raises(psycopg.Error, match="dates"):
        ask(postgres, text)
    postgres.execute("SET DateStyle = 'ISO'")
