"""One mapping, one key, one seed: thirty thousand rows come out the same in memory, on DuckDB, Spark and PostgreSQL."""

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from awkward import KEY, arrow, assert_same, many, mapping, transformed
from copying import ask, load

pytestmark = [
    pytest.mark.whole,
    pytest.mark.postgres,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.parametrize("mode", ["apply", "release"]),
]

ROWS = 30_000
OPTIONS = {"seed": 20, "restore": "sample"}


@pytest.fixture(scope="module")
def people():
    return arrow(many(ROWS))


@pytest.fixture(scope="module")
def file(people, tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "people.parquet"
    pyarrow.parquet.write_table(people, path, row_group_size=3_000)
    return path


@pytest.fixture(scope="module")
def expected(people):
    """What the kernel in memory makes of the table."""
    return {mode: transformed(mapping(), mode, people, **OPTIONS) for mode in ("apply", "release")}


def query(dialect, mode):
    return mapping().to_sql(dialect, "people", KEY, mode=mode, **OPTIONS)


def check(found, expected):
    assert len(expected) == ROWS
    assert_same(found, expected)


def test_from_file_to_file(file, expected, mode):
    result = file.parent / f"{mode}.parquet"
    with pytest.warns(match="not in the fitted table"):
        getattr(mapping(), mode)(file, to=result, key=KEY, **OPTIONS)
    check(pyarrow.parquet.read_table(result), expected[mode])


def test_a_query_on_duckdb(people, expected, mode):
    with duckdb.connect() as duck:
        duck.register("people", people)
        check(duck.sql(query("duckdb", mode)).to_arrow_table(), expected[mode])


def test_spark(spark, file, expected, mode):
    given = spark.read.parquet(str(file)).repartition(4)
    result = file.parent / f"spark-{mode}"
    getattr(mapping(), mode)(given, key=KEY, **OPTIONS).write.parquet(str(result))
    check(pyarrow.dataset.dataset(result).to_table(), expected[mode])


def test_a_query_on_spark(spark, file, expected, mode):
    spark.read.parquet(str(file)).createOrReplaceTempView("people")
    check(spark.sql(query("spark", mode)).toArrow(), expected[mode])


@pytest.fixture(scope="module")
def loaded(postgres, people):
    """A server that has the table."""
    load(postgres, people)
    return postgres


def test_a_query_on_postgresql(loaded, people, expected, mode):
    check(ask(loaded, query("postgres", mode), people.schema), expected[mode])
