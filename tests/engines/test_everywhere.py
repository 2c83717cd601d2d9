"""One mapping, one key, one seed: a million rows come out the same in memory, on DuckDB, Spark and PostgreSQL."""

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from awkward import KEY, arrow, assert_same, many, mapping, transformed

from evenhand.engines.sql.dialects import dialect_of

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
]

ROWS = 1_000_000
OPTIONS = {"seed": 20, "restore": "sample"}
TYPES = {"large_string": "text", "string": "text", "int64": "bigint", "double": "double precision", "bool": "boolean"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table as a Parquet file, and what the kernel in memory makes of it."""
    folder, people = tmp_path_factory.mktemp("many"), many(ROWS)
    pyarrow.parquet.write_table(arrow(people), folder / "people.parquet", row_group_size=100_000)
    pyarrow.parquet.write_table(arrow(transformed(mapping(), "release", people, **OPTIONS)), folder / "memory.parquet")
    return folder


def check(folder, found):
    expected = pyarrow.parquet.read_table(folder / "memory.parquet")
    assert len(expected) == ROWS
    assert_same(found, expected)


def query(dialect):
    return mapping().to_sql(dialect, "people", KEY, mode="release", **OPTIONS)


def test_from_file_to_file(folder):
    with pytest.warns(match="not in the fitted table"):
        mapping().release(folder / "people.parquet", to=folder / "file.parquet", key=KEY, **OPTIONS)
    check(folder, pyarrow.parquet.read_table(folder / "file.parquet"))


def test_a_query_on_duckdb(folder):
    with duckdb.connect() as duck:
        duck.execute(f"CREATE VIEW people AS FROM '{folder / 'people.parquet'}'")
        check(folder, duck.sql(query("duckdb")).to_arrow_table())


def test_spark(folder, spark):
    people = spark.read.parquet(str(folder / "people.parquet")).repartition(7)
    mapping().release(people, key=KEY, **OPTIONS).write.parquet(str(folder / "spark"))
    check(folder, pyarrow.dataset.dataset(folder / "spark").to_table())


def test_a_query_on_spark(folder, spark):
    spark.read.parquet(str(folder / "people.parquet")).createOrReplaceTempView("people")
    spark.sql(query("spark")).write.parquet(str(folder / "spark-sql"))
    check(folder, pyarrow.dataset.dataset(folder / "spark-sql").to_table())


def test_a_query_on_postgresql(folder, postgres):
    name, people = dialect_of("postgres").name, pyarrow.parquet.ParquetFile(folder / "people.parquet")
    columns = ", ".join(f"{name(field.name)} {TYPES[str(field.type)]}" for field in people.schema_arrow)
    postgres.execute("DROP TABLE IF EXISTS people")
    postgres.execute(f"CREATE UNLOGGED TABLE people ({columns})")
    with postgres.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
        for batch in people.iter_batches(50_000):
            for row in zip(*batch.to_pydict().values(), strict=True):
                copy.write_row(row)
    check(folder, _asked(postgres, query("postgres"), people.schema_arrow))


def _asked(postgres, text, schema):
    """The answer, in pieces."""
    with postgres.transaction(), postgres.cursor(name="answer") as cursor:
        cursor.execute(text)
        pieces = []
        while rows := cursor.fetchmany(50_000):
            columns = [
                pyarrow.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            pieces.append(pyarrow.record_batch(columns, schema=schema))
    return pyarrow.Table.from_batches(pieces)
