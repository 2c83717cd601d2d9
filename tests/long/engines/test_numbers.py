"""Numbers at the ends of their types: a query gives the rows of the kernel in memory, bit for bit, or is refused."""

import duckdb
import numpy as np
import pandas as pd
import pyarrow
import pytest
from awkward import arrow
from copying import ask, load

import evenhand as eh

LEAST, TINY, LARGEST = 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308
WHOLE = [2**63 - 1, 2**63 - 2, 2**53 + 1, 0, -1, -(2**63), 1 - 2**63]
REAL = [1e300, -1e300, LARGEST, -LARGEST, 1e19, -(2.0**63), 1.5, 0.1, 0.0, -0.0, LEAST, -LEAST, TINY]
CASES = {
    "whole": (WHOLE, "int64", None),
    "whole bins": (WHOLE, "int64", eh.Edges([-(2**62), 0, 2**62])),
    "signed": ([2**31 - 1, -(2**31), 7], "int32", None),
    "real bins": (REAL, "float64", eh.Edges([-1e299, 0.0, 1e299])),
    "tiny bins": ([0.0, -0.0, LEAST, -LEAST, TINY, 1.0], "float64", eh.Edges([-TINY, 0.0, LEAST, 0.5])),
    "single bins": ([3.4e38, -3.4e38, 1e-45, -0.0, 0.1, 2.5], "float32", eh.Edges([-1.0, 0.0, 1e38])),
    "large": ([2**64 - 1, 2**63, 2**63 - 1, 5], "uint64", None),
    "large bins": ([2**64 - 1, 2**63, 2**63 - 1, 5], "uint64", eh.Edges([10.0, 2.0**63])),
}
SIGNED = [name for name in CASES if not name.startswith("large")]
RESTORES = ["sample", "midpoint", "label"]


def people(case, rows=300):
    values, kind, _ = CASES[case]
    rng = np.random.default_rng(0)
    place, group = rng.integers(0, len(values), rows), rng.random(rows) < 0.5
    hired = rng.random(rows) < 0.2 + 0.4 * group + 0.2 * (place == 0)
    column = np.array(values, dtype=kind)[place]
    return pd.DataFrame({"id": np.arange(rows), "sex": np.where(group, "m", "f"), "n": column, "hired": hired * 1})


def fitted(case):
    bins = {} if CASES[case][2] is None else {"n": CASES[case][2]}
    stated = eh.Problem(
        protected=["sex"], features=["n"], outcome="hired", bins=bins, parity=[eh.PairwiseParity(0.02)],
        distortion=eh.Distortion({"n": eh.Free(), "hired": eh.Free()}), utility=eh.L1(),
    )  # fmt: skip
    return eh.fit(stated, people(case))


def bits(table):
    """Rows in the order of their keys, real numbers as their bits, in the widest type: 0 and -0 differ."""
    table = table.sort_by("id")
    column = table["n"].combine_chunks()
    real = pyarrow.types.is_floating(column.type)
    values = column.to_numpy().astype(float).view(np.int64).tolist() if real else column.to_pylist()
    return real, values, table["hired"].to_pylist()


def check(case, dialect, run):
    mapping, given = fitted(case), people(case)
    for mode in ("apply", "release"):
        for restore in RESTORES:
            expected = arrow(getattr(mapping, mode)(given, key="id", restore=restore))
            text = mapping.to_sql(dialect, "people", "id", mode=mode, restore=restore, columns=list(given.columns))
            assert bits(run(text, expected.schema)) == bits(expected), (mode, restore)


@pytest.mark.parametrize("case", list(CASES))
def test_duckdb(case):
    with duckdb.connect() as duck:
        duck.register("people", arrow(people(case)))
        check(case, "duckdb", lambda text, schema: duck.sql(text).to_arrow_table())


@pytest.mark.spark
@pytest.mark.parametrize("case", SIGNED)
def test_spark(spark, case):
    spark.createDataFrame(arrow(people(case))).createOrReplaceTempView("people")
    check(case, "spark", lambda text, schema: spark.sql(text).toArrow())


@pytest.mark.postgres
@pytest.mark.parametrize("case", SIGNED)
def test_postgresql(postgres, case):
    load(postgres, arrow(people(case)))
    check(case, "postgres", lambda text, schema: ask(postgres, text, schema))
