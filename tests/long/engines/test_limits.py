"""Little memory, full disks, killed processes: a complete result, or a clear error and no result."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import complained, flat
from families import small_frame, small_problem
from people import people, problem

import evenhand as eh
from evenhand.engines import counts_of, delimited, files, grouping, streaming
from evenhand.engines import duck as duck_
from evenhand.engines.duck import connection

pytestmark = pytest.mark.turns(2)

FORMATS = ["csv", "parquet"]


@pytest.fixture(scope="module")
def mapping():
    rules = dict(problem().distortion.rules) | {"hired": eh.Free()}
    stated = problem(distortion=eh.Distortion(rules), suppress_protected="fixed", parity=[eh.PairwiseParity(0.1)])
    return eh.fit(stated, people())


@pytest.fixture
def folder(mapping, tmp_path):
    """A mapping and a table of 60,000 rows, which is a few megabytes, in both formats."""
    mapping.save(tmp_path / "a.mapping")
    many = pd.concat([people()] * 40, ignore_index=True).assign(id=np.arange(60_000))
    many["note"] = np.random.default_rng(0).random(len(many)).astype(str)
    many.to_csv(tmp_path / "in.csv", index=False)
    many.to_parquet(tmp_path / "in.parquet", index=False)
    return tmp_path


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    if mounted:
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not mounted:
        pytest.skip("a file system can be mounted by the superuser alone")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def small_files():
    """Let no file grow beyond a megabyte."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))


def evenhand(*arguments, limit=None, **options):
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **options.pop("env", {})}
    command = [sys.executable, "-m", "evenhand", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, preexec_fn=limit, **options
    )


class TestMemory:
    def test_the_setting_reaches_duckdb(self, tmp_path):
        with eh.using(memory="200MB", threads=1, spill=tmp_path), connection("x") as duck:
            asked = (
                "SELECT current_setting('memory_limit'), current_setting('threads'), current_setting('temp_directory')"
            )
            memory, threads, spill = duck.sql(asked).fetchall()[0]
        assert memory.startswith("171.6 MiB")  # nine tenths
        assert threads == 1
        assert Path(spill).parent == tmp_path

    def test_what_does_not_fit_is_spilled_and_taken_away(self, tmp_path):
        with eh.using(memory="64MB", spill=tmp_path), connection("x") as duck:
            duck.execute("CREATE TEMP TABLE t AS SELECT range AS n, hash(range)::VARCHAR AS text FROM range(4000000)")
            assert [path.name[:10] for path in tmp_path.iterdir()] == [".evenhand-"]
            assert duck.sql("SELECT count(DISTINCT text) FROM t").fetchall()[0][0] == 4_000_000
        assert not list(tmp_path.iterdir())

    @pytest.fixture
    def wide(self, tmp_path):
        """A row group of columns that are all needed at once, and do not fit into the least memory."""
        table = pd.concat([people()] * 20, ignore_index=True)
        rng = np.random.default_rng(0)
        more = {f"c{i}": rng.random(len(table)) for i in range(400)}
        pd.concat([table, pd.DataFrame(more)], axis=1).to_parquet(tmp_path / "wide.parquet")
        return tmp_path / "wide.parquet"

    def test_too_little_says_how_much_to_try(self, mapping, wide, tmp_path):
        with eh.using(memory="64MB"), pytest.raises(eh.DataError, match=r"within 64MB of memory; try memory='128MB'"):
            mapping.apply(wide, to=tmp_path / "out.parquet")
        assert sorted(os.listdir(tmp_path)) == ["wide.parquet"]
        with eh.using(memory="1GB"):
            assert mapping.apply(wide, to=tmp_path / "out.parquet").rows == 30_000

    def test_too_little_on_the_command_line(self, mapping, wide, tmp_path):
        mapping.save(tmp_path / "a.mapping")
        done = evenhand("apply", "a.mapping", wide, "--out", "out.parquet", "--memory", "64MB", cwd=tmp_path)
        complained(done, "within 64MB of memory; try --memory 128MB")
        assert sorted(os.listdir(tmp_path)) == ["a.mapping", "wide.parquet"]

    @pytest.mark.parametrize("value", ["lots", "1MB"])
    def test_a_wrong_value_is_a_wrong_command_line(self, folder, value):
        done = evenhand("audit", "a.mapping", "in.csv", "--memory", value, cwd=folder)
        assert done.returncode == 2
        assert "--memory" in done.stderr
        assert "Traceback" not in done.stderr

    def test_many_values_are_counted_by_level(self, tmp_path):
        """What comes out of DuckDB is as large as the domain, not as the number of values."""
        rng = np.random.default_rng(1)
        table = pd.concat([people()] * 10, ignore_index=True)
        table["hours"] = rng.normal(40, 9, len(table))
        for name, write in {"t.parquet": table.to_parquet, "t.csv": table.to_csv}.items():
            write(tmp_path / name, index=False)
            with eh.using(memory="64MB"):
                found = counts_of(problem(), tmp_path / name)
            expected = eh.count(problem(), table)
            assert np.array_equal(found.sources, expected.sources)
            assert np.array_equal(found.weight, expected.weight)
            assert found.people == expected.people
            assert [v.coding for v in found.domain.variables] == [v.coding for v in expected.domain.variables]

    def test_too_many_values_for_bins(self, tmp_path, monkeypatch):
        monkeypatch.setattr(grouping, "BYTES_PER_VALUE", 10**6)
        people().to_parquet(tmp_path / "t.parquet")
        words = r"'(age|hours)' has [\d,]+ distinct values, .* within 64MB of memory; round it .* memory='[\d.]+MB'"
        with eh.using(memory="64MB"), pytest.raises(eh.DataError, match=words):
            eh.fit(problem(), tmp_path / "t.parquet")

    def test_long_rows_come_in_smaller_batches(self, mapping, folder, monkeypatch):
        sizes = []
        piece = streaming.transform_piece
        monkeypatch.setattr(
            streaming,
            "transform_piece",
            lambda mode, table, *more, **rest: sizes.append(len(table)) or piece(mode, table, *more, **rest),
        )
        monkeypatch.setattr(files, "STEP", 2048)
        monkeypatch.setattr(files, "BATCH_SHARE", 1 / 8192)
        mapping.apply(folder / "in.parquet", to=folder / "out.parquet", key="note")
        assert max(sizes) <= 4 * 2048
        assert sum(sizes) == 60_000


@pytest.mark.parametrize("kind", FORMATS)
class TestFullDisk:
    def test_the_library(self, mapping, folder, small_disk, kind):
        (small_disk / f"out.{kind}").write_text("what was there before")
        with pytest.raises(eh.StorageError, match=rf"cannot write '.*out.{kind}': the disk is full"):
            mapping.apply(folder / f"in.{kind}", to=small_disk / f"out.{kind}")
        assert (small_disk / f"out.{kind}").read_text() == "what was there before"
        assert os.listdir(small_disk) == [f"out.{kind}"]

    def test_the_command_line(self, folder, small_disk, kind):
        arguments = ("release", "a.mapping", f"in.{kind}", "--out", small_disk / f"out.{kind}")
        complained(evenhand(*arguments, cwd=folder), "cannot write", "the disk is full")
        assert not os.listdir(small_disk)

    def test_files_that_may_not_grow(self, folder, kind):
        """For everybody: the system refuses to write on, as it does on a full disk."""
        (folder / f"out.{kind}").write_text("what was there before")
        before = sorted(os.listdir(folder))
        arguments = ("apply", "a.mapping", f"in.{kind}", "--out", f"out.{kind}", "--force")
        complained(evenhand(*arguments, cwd=folder, limit=small_files), "cannot write", f"out.{kind}", "too large")
        assert sorted(os.listdir(folder)) == before
        assert (folder / f"out.{kind}").read_text() == "what was there before"


def test_no_room_to_spill(small_disk, tmp_path):
    many = pd.concat([people()] * 200, ignore_index=True)
    many["hours"] = np.random.default_rng(2).normal(40, 9, len(many))
    many.to_parquet(tmp_path / "t.parquet")
    asked = f"SELECT count(*) FROM (SELECT DISTINCT hours, range FROM '{tmp_path}/t.parquet', range(20))"
    full = pytest.raises(eh.StorageError, match=r"the disk is full: .*small' has no room for what does not fit")
    with eh.using(memory="64MB", spill=small_disk), full, connection("t.parquet") as duck:
        duck.sql(asked).fetchall()
    assert not os.listdir(small_disk)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_room_for_an_expanded_table(mapping, folder, small_disk, kind):
    (small_disk / f"out.{kind}").write_text("what was there before")
    with pytest.raises(eh.StorageError, match=rf"cannot write '.*out.{kind}': the disk is full"):
        mapping.expand(folder / f"in.{kind}", to=small_disk / f"out.{kind}")
    assert (small_disk / f"out.{kind}").read_text() == "what was there before"
    assert os.listdir(small_disk) == [f"out.{kind}"]


@pytest.mark.parametrize("kind", FORMATS)
def test_missing_values_of_a_file_have_a_row_wherever_it_is_read(tmp_path, kind):
    table, path = small_frame(), tmp_path / f"gaps.{kind}"
    strict = eh.fit(small_problem(), table)
    table.loc[[50, 51], "group"] = None
    table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    for call in (strict.audit, strict.realised, partial(strict.apply, to=tmp_path / "out.parquet")):
        with pytest.raises(eh.DataError, match=r"column 'group' has 2 missing values, the first in row 51; "):
            call(path)


def test_a_fit_blames_the_text_that_is_no_number(tmp_path):
    people().astype({"age": str}).replace({"age": {"30": "old"}}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(eh.DataError, match="it holds 'old', which is not a number"):
        eh.fit(problem(), tmp_path / "t.csv")


@pytest.mark.parametrize("command", ["audit", "release", "fit"])
def test_mixed_line_ends_on_the_command_line(mapping, tmp_path, command):
    mapping.save(tmp_path / "a.mapping")
    (tmp_path / "p.toml").write_text(problem().to_toml())
    lines = people().to_csv(index=False).splitlines()
    (tmp_path / "in.csv").write_bytes(("\n".join(lines[:50]) + "\r\n" + "\n".join(lines[50:])).encode())
    arguments = {
        "audit": ("a.mapping", "in.csv"),
        "release": ("a.mapping", "in.csv", "--out", "out.csv"),
        "fit": ("p.toml", "in.csv", "--out", "b.mapping"),
    }
    before = sorted(os.listdir(tmp_path))
    done = evenhand(command, *arguments[command], cwd=tmp_path)
    complained(done, "'in.csv' has mixed line ends", "line 50", r"convert the line ends to \n, for example with perl")
    assert sorted(os.listdir(tmp_path)) == before


SLOW = """
import signal, sys, time
from evenhand import cli
from evenhand.engines import delimited, files, streaming
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may have been started without it
whole, files.BATCH, delimited.CHUNK = streaming.transform_piece, 2048, 100_000
streaming.transform_piece = lambda *arguments, **rest: time.sleep(0.1) or whole(*arguments, **rest)
sys.argv = ["evenhand", *sys.argv[1:]]
cli.main()
"""


def begun(folder, *arguments):
    """Start the command line, slowly; return when its result is being written."""
    command = [sys.executable, "-c", SLOW, *map(str, arguments)]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(600):
        # Of a Parquet file what changed is kept beside the result first.
        if any(path.stat().st_size > 0 for path in folder.glob(".evenhand-*/*")):
            return process
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("kind", FORMATS)
class TestEnding:
    def arguments(self, kind):
        # Parquet is written when many rows are together; a CSV file grows from the first.
        return ("apply", "a.mapping", f"in.{kind}", "--out", "out.csv")

    def test_killed(self, mapping, folder, kind):
        process = begun(folder, *self.arguments(kind))
        process.kill()
        process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL
        left = [name for name in os.listdir(folder) if name not in ("a.mapping", "in.csv", "in.parquet")]
        assert len(left) == 1
        assert left[0].startswith(".evenhand-")
        # What is left lies beside, and disturbs nothing; it is not found by patterns either.
        mapping.apply(folder / f"in.{kind}", to=folder / "out.csv")
        mapping.apply(pd.read_parquet(folder / "in.parquet")).to_csv(folder / "expected.csv", index=False)
        assert (folder / "out.csv").read_bytes() == (folder / "expected.csv").read_bytes()
        assert left[0] in os.listdir(folder)

    @pytest.mark.parametrize(
        ("number", "code", "word"), [(signal.SIGINT, 130, "Interrupted"), (signal.SIGTERM, 143, "Stopped")]
    )
    def test_interrupted(self, folder, kind, number, code, word):
        before = sorted(os.listdir(folder))
        process = begun(folder, *self.arguments(kind))
        process.send_signal(number)
        said, errors = process.communicate(timeout=60)
        assert process.returncode == code, (said, errors)
        assert flat(errors) == f"{word}; no file was left half-written."
        assert sorted(os.listdir(folder)) == before


def test_a_file_that_changes_while_it_is_read(mapping, folder):
    def grow(stage, share):
        with open(folder / "in.csv", "a") as file:
            file.write("")
        os.utime(folder / "in.csv")

    with pytest.raises(eh.DataError, match="was changed while it was read; nothing was written"):
        mapping.apply(folder / "in.csv", to=folder / "out.csv", progress=grow)
    assert not (folder / "out.csv").exists()


def test_counting_says_how_far_it_is(mapping, folder, monkeypatch):
    monkeypatch.setattr(duck_, "GLANCE", 0.001)
    monkeypatch.setattr(delimited, "CHUNK", 100_000)
    said = []
    mapping.audit(folder / "in.csv", progress=lambda *stage: said.append(stage))
    eh.fit(problem(), folder / "in.csv", progress=lambda *stage: said.append(stage))
    counted = [share for stage, share in said if stage.startswith("counting")]
    assert len(counted) > 2
    assert all(0 <= share <= 1 for share in counted)
