"""Parquet files that Arrow reads and writes give what DuckDB gives; all others are left to it."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people import people, problem

import evenhand as eh
from evenhand.engines import Source, files
from evenhand.engines.parquet import Straight

OWN = ["sex", "age", "hours", "job"]
TIME = datetime(2020, 2, 3, 4, 5, 6, 789)
NAIVE, AWARE = pa.timestamp("us"), pa.timestamp("us", "Europe/Berlin")
CATEGORIES = pa.dictionary(pa.int8(), pa.string())

ALIKE = {
    "texts": pa.array(["a", None, "é" * 90], pa.string()),
    "large texts": pa.array(["a", None, ""], pa.large_string()),
    "categories": pa.array(["a", None, "b"]).dictionary_encode().cast(CATEGORIES),
    "bytes": pa.array([b"\0", None, b"\xff"]),
    "truths": pa.array([True, None, False]),
    "small": pa.array([1, None, -128], pa.int8()),
    "without a sign": pa.array([1, None, 2**64 - 1], pa.uint64()),
    "single": pa.array([1.5, None, float("nan")], pa.float32()),
    "double": pa.array([-0.0, None, float("inf")]),
    "decimal": pa.array([Decimal("1.50"), None, Decimal("-9.99")], pa.decimal128(20, 2)),
    "dates": pa.array([date(2020, 2, 29), None, date(1, 1, 1)]),
    "times": pa.array([TIME, None, datetime(1900, 1, 1)], NAIVE),
    "times of a zone": pa.array([TIME.replace(tzinfo=UTC), None, datetime(1970, 1, 1, tzinfo=UTC)], AWARE),
    "nothing": pa.array([None] * 3, pa.string()),
}
UNLIKE = {
    "list": pa.array([[1], None, []]),
    "struct": pa.array([{"a": 1, "b": 2}, None, {"a": 1, "b": 2}]),
    "struct of one": pa.array([{"a": 1}, None, {"a": 2}]),
    "milliseconds": pa.array([TIME, None, TIME], pa.timestamp("ms")),
    "nanoseconds": pa.array([1, None, 2], pa.timestamp("ns")),
    "time of day": pa.array([1, None, 2], pa.time32("ms")),
    "half": pa.array([1.5, None, 2.5], pa.float16()),
    "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "long decimal": pa.array([Decimal(1), None, Decimal(2)], pa.decimal256(50, 0)),
    "null": pa.nulls(3),
}


@pytest.fixture(scope="module")
def mapping():
    return eh.fit(problem(), people())


def table(extra, columns=None):
    """People, each with a value of every given column."""
    found = pa.Table.from_pandas(people() if columns is None else people()[columns], preserve_index=False)
    for name, values in extra.items():
        found = found.append_column(name, values.take(pa.array([i % 3 for i in range(len(found))])))
    return found


def write(given, path, *, extra=False, **options):
    """Write a file in which texts that nobody shares have no dictionary."""
    names = [name for name in given.schema.names if name != "note" and (extra or name not in ALIKE)]
    pq.write_table(given, path, use_dictionary=names, dictionary_pagesize_limit=1 << 24, **options)


def straight(*paths):
    return Straight.of(Source(tuple(map(str, paths)), tuple(pq.read_schema(paths[0]).names), None), OWN)


@pytest.mark.parametrize(
    "options", [{"draw": "independent"}, {"key": "note"}, {"draw": "balanced"}, {"restore": "label"}], ids=str
)
def test_the_values_and_types_of_duckdb(mapping, tmp_path, monkeypatch, options):
    write(table(ALIKE), tmp_path / "in.parquet", extra=options.get("draw") == "independent", row_group_size=400)
    assert straight(tmp_path / "in.parquet") is not None
    monkeypatch.setattr(files, "BATCH", 300)
    options = {"seed": 1} | options
    done = mapping.release(tmp_path / "in.parquet", to=tmp_path / "out.parquet", **options)
    monkeypatch.setattr(Straight, "of", lambda *given: None)
    again = mapping.release(tmp_path / "in.parquet", to=tmp_path / "duckdb.parquet", **options)
    unlike = {"path": "", "sections": ()}  # The path is a fact of a section, too.
    assert vars(done) | unlike == vars(again) | unlike
    assert [section.key for section in done.sections] == [section.key for section in again.sections]
    found, expected = pq.read_table(tmp_path / "out.parquet"), pq.read_table(tmp_path / "duckdb.parquet")
    assert done.changed > 0
    assert found.schema.equals(expected.schema, check_metadata=True)
    pd.testing.assert_frame_equal(found.to_pandas(), expected.to_pandas(), check_exact=True)


@pytest.mark.parametrize("kind", UNLIKE)
def test_other_types_are_duckdbs(tmp_path, kind):
    write(table({"extra": UNLIKE[kind]}), tmp_path / "in.parquet")
    assert straight(tmp_path / "in.parquet") is None


def test_old_times_are_duckdbs(tmp_path):
    write(table(ALIKE), tmp_path / "in.parquet", use_deprecated_int96_timestamps=True)
    assert straight(tmp_path / "in.parquet") is None


def test_files_of_different_types_are_duckdbs(tmp_path):
    for name, kind in {"a": pa.int32(), "b": pa.int64()}.items():
        write(table({"extra": pa.array([1, 2, 3], kind)}), tmp_path / f"{name}.parquet")
    assert straight(tmp_path / "a.parquet", tmp_path / "a.parquet") is not None
    assert straight(tmp_path / "a.parquet", tmp_path / "b.parquet") is None


def test_large_row_groups_are_duckdbs(tmp_path):
    long = pa.array([b"x" * 40_000, b"y", b"z"])
    pq.write_table(table({"extra": long}), tmp_path / "in.parquet", use_dictionary=False)
    assert straight(tmp_path / "in.parquet") is not None
    with eh.using(memory="64MB"):
        assert straight(tmp_path / "in.parquet") is None


def test_long_rows_are_duckdbs(tmp_path):
    write(table({f"c{i}": pa.array([1, 2, 3]) for i in range(200)}), tmp_path / "in.parquet")
    with eh.using(memory="64MB"):
        assert straight(tmp_path / "in.parquet") is None


def test_a_column_that_said_it_has_no_nulls_may_get_some(tmp_path):
    given = table({})
    schema = pa.schema([field.with_nullable(False) for field in given.schema])
    write(given.cast(schema), tmp_path / "in.parquet")
    found = straight(tmp_path / "in.parquet")
    (batch,) = found.batches(given.column_names)
    kind = batch["job"].type
    batch = batch.set_column(batch.schema.names.index("job"), "job", pa.nulls(1500, kind))
    writer = found.writer(tmp_path / "out.parquet", batch.schema, added=(), metadata={})
    writer.write(batch)
    writer.close()
    assert pq.read_table(tmp_path / "out.parquet")["job"].null_count == 1500


def test_dictionaries_are_no_longer_than_needed(mapping, tmp_path, monkeypatch):
    """That of a large row group is not written again with each of the small ones that are made of it."""
    many = pa.concat_tables([table({})] * 20)
    many = many.append_column("long", pa.array([f"{i // 10:020}" for i in range(len(many))]))
    write(many, tmp_path / "in.parquet")
    monkeypatch.setattr(files, "BATCH", 1500)
    mapping.apply(tmp_path / "in.parquet", to=tmp_path / "out.parquet", seed=1)
    written = pq.ParquetFile(tmp_path / "out.parquet").metadata
    place = many.schema.names.index("long")
    sizes = [written.row_group(i).column(place).total_uncompressed_size for i in range(written.num_row_groups)]
    assert written.num_row_groups == 20
    assert max(sizes) < 2 * 150 * 24
    assert pq.read_table(tmp_path / "out.parquet")["long"].equals(many["long"])


@pytest.mark.parametrize("long", ["x" * 10**6, "x"])
def test_long_texts_of_dictionaries_are_duckdbs(tmp_path, long):
    """Texts of a megabyte that thousands of rows share: written out, a batch of them would take any memory."""
    extra = pa.array([0, 1, 0]).cast(pa.string()).dictionary_encode()
    extra = pa.DictionaryArray.from_arrays(extra.indices, [long, "y"])
    write(table({"extra": extra.cast(pa.string())}), tmp_path / "in.parquet", extra=True)
    assert (straight(tmp_path / "in.parquet") is None) == (len(long) > 1)


def test_texts_that_share_beginnings_are_duckdbs(tmp_path):
    encoded = {"use_dictionary": False, "column_encoding": {"note": "DELTA_BYTE_ARRAY"}}
    pq.write_table(table({}), tmp_path / "in.parquet", **encoded)
    assert straight(tmp_path / "in.parquet") is None


def test_a_broken_file_leaves_nothing_behind(mapping, tmp_path):
    write(table({}), tmp_path / "in.parquet", row_group_size=500)
    content = bytearray((tmp_path / "in.parquet").read_bytes())
    start = pq.ParquetFile(tmp_path / "in.parquet").metadata.row_group(2).column(1).data_page_offset
    content[start : start + 40] = b"\xff" * 40
    (tmp_path / "in.parquet").write_bytes(content)
    assert straight(tmp_path / "in.parquet") is not None
    with pytest.raises(eh.DataError, match=r"in\.parquet' cannot be read"):
        mapping.apply(tmp_path / "in.parquet", to=tmp_path / "out.parquet", seed=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_what_was_read_is_let_go(tmp_path, monkeypatch):
    """A file of many row groups is read with the memory of a few of them."""
    path, groups, rows = tmp_path / "long.parquet", 40, 20_000
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.integers(0, 3, groups * rows), "noise": rng.random(groups * rows)})
    pq.write_table(table, path, row_group_size=rows)
    size = table.nbytes
    del table
    straight = Straight.of(Source.of(path), ["a"])
    before, most = pa.total_allocated_bytes(), 0
    monkeypatch.setattr(files, "BATCH", rows)
    for _ in straight.batches(["a", "noise"]):
        most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < size / 8
