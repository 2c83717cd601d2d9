"""Every engine that needs no server, once: the same keyed draws from frames, files and SQL."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh

KEYED = {"seed": 3, "key": "person"}


@pytest.fixture(scope="module")
def people():
    frame = small_frame()
    return frame.assign(person=range(1000, 1000 + len(frame)))


@pytest.fixture(scope="module")
def mapping(people):
    return shared_fit(small_problem(), people)


@pytest.fixture(scope="module", params=["release", "apply"])
def mode(request):
    return request.param


@pytest.fixture(scope="module")
def expected(mapping, people, mode):
    return getattr(mapping, mode)(people, **KEYED)


@pytest.mark.parametrize("library", [pl.DataFrame, pa.Table.from_pandas])
def test_frames(mapping, people, mode, expected, library):
    found = getattr(mapping, mode)(library(people), **KEYED)
    assert type(found) is type(library(people))
    pd.testing.assert_frame_equal(found.to_pandas(), expected, check_dtype=False)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files(mapping, people, mode, expected, ending, tmp_path):
    before, after = tmp_path / f"people.{ending}", tmp_path / f"out.{ending}"
    people.to_csv(before, index=False) if ending == "csv" else people.to_parquet(before, index=False)
    getattr(mapping, mode)(before, to=after, **KEYED)
    found = pd.read_csv(after) if ending == "csv" else pyarrow.parquet.read_table(after).to_pandas()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_a_file_is_fitted_as_its_frame(people, mapping, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    assert eh.fit(small_problem(), tmp_path / "people.csv").objective == pytest.approx(mapping.objective, abs=1e-12)


def test_a_query(mapping, people, mode, expected):
    with duckdb.connect() as connection:
        connection.register("people", people)
        query = mapping.to_sql("duckdb", "people", "person", mode=mode, seed=3)
        found = connection.execute(query).df().sort_values("person", ignore_index=True)
    pd.testing.assert_frame_equal(found[expected.columns], expected, check_dtype=False)


@pytest.mark.parametrize("draw", ["independent", "balanced"])
def test_draws_by_position_do_not_depend_on_the_engine(mapping, people, tmp_path, draw):
    people.to_csv(tmp_path / "people.csv", index=False)
    mapping.release(tmp_path / "people.csv", to=tmp_path / "out.csv", seed=5, draw=draw)
    expected = mapping.release(people, seed=5, draw=draw)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out.csv"), expected, check_dtype=False)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_says_that_it_was_altered(mapping, people, ending, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    mapping.release(tmp_path / "people.csv", to=tmp_path / f"out.{ending}", mark="altered", manifest="out.json")
    if ending == "csv":
        assert pd.read_csv(tmp_path / "out.csv")["altered"].unique()[0].startswith("altered by evenhand release")
    else:
        said = pyarrow.parquet.read_metadata(tmp_path / "out.parquet").metadata
        assert (said[b"evenhand.altered"], said[b"evenhand.manifest"]) == (b"true", b"out.json")
