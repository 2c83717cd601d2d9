"""Outputs: what a command may replace, and what it leaves alone whatever was asked."""

import os
import stat
import subprocess
import sys

import pytest
from commands import complained, document, flat

from evenhand.errors import StorageError
from evenhand.mapping import Mapping

INIT = ("init", "people.csv", "--protected", "group", "--outcome", "hired")
SQL = ("sql", "fine.mapping", "--dialect", "duckdb", "--table", "people", "--key", "id")
FRONTIER = ("frontier", "fine.toml", "people.csv", "--bounds", "0.2,0.3")
WRITING = {
    "fit": (("fit", "fine.toml", "people.csv", "--out"), ""),
    "fit --proof": (("fit", "fine.toml", "people.csv", "--out", "m", "--proof"), ""),
    "shield": (("shield", "shield.toml", "people.csv", "--out"), ""),
    "diagnose --proof": (("diagnose", "fine.toml", "people.csv", "--proof"), ""),
    "frontier": ((*FRONTIER, "--out"), ""),
    "frontier --chart": ((*FRONTIER, "--out", "f", "--chart"), ".svg"),
    "release": (("release", "fine.mapping", "people.csv", "--out"), ".csv"),
    "release parquet": (("release", "fine.mapping", "people.csv", "--out"), ".parquet"),
    "apply": (("apply", "fine.mapping", "people.csv", "--out"), ".csv"),
    "expand": (("expand", "fine.mapping", "people.csv", "--out"), ".csv"),
    "sql": ((*SQL, "--out"), ""),
    "init": ((*INIT, "--out"), ""),
    "schema": (("schema", "--out"), ""),
    "report": (("report", "fine.mapping", "--no-frontier", "--out"), ".html"),
}
every_output = pytest.mark.parametrize("writing", WRITING)


def _device(path):
    """The null device under another name: what is done to it is not done to the one that the system needs."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only the superuser makes devices")


@pytest.mark.slow(keep=4)
@every_output
@pytest.mark.parametrize(("kind", "make"), [("a device", _device), ("a pipe", os.mkfifo), ("a folder", os.mkdir)])
def test_what_is_no_file_is_never_replaced(fitted, inside, writing, kind, make):
    """Before any work is done, and whether or not it may be overwritten."""
    line, ending = WRITING[writing]
    make(fitted / f"out{ending}")
    before, names = os.lstat(fitted / f"out{ending}"), sorted(os.listdir(fitted))
    for more in ((), ("--force",)):
        complained(inside(*line, f"out{ending}", *more), f"'out{ending}' is {kind}; give the name of a file")
    assert os.lstat(fitted / f"out{ending}").st_mode == before.st_mode
    assert os.lstat(fitted / f"out{ending}").st_ino == before.st_ino
    assert sorted(os.listdir(fitted)) == names


@pytest.mark.slow(keep=2)
@every_output
def test_a_file_that_appeared_meanwhile_is_not_replaced(fitted, inside, monkeypatch, writing):
    """As if another process wrote it after the first look; and of several outputs none is left."""
    line, ending = WRITING[writing]
    (fitted / f"out{ending}").write_text("theirs")
    names = sorted(os.listdir(fitted))
    monkeypatch.setattr("evenhand.cli.files._check_outputs", lambda *_, **__: None)
    complained(inside(*line, f"out{ending}"), f"out{ending}' exists already; --force overwrites it")
    assert (fitted / f"out{ending}").read_text() == "theirs"
    assert sorted(os.listdir(fitted)) == names


@pytest.mark.slow
def test_of_several_writers_at_once_one_succeeds(folder):
    command = [sys.executable, "-m", "evenhand", "schema", "--out", "out.json"]
    writers = [subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    said = [writer.communicate()[1] for writer in writers]
    assert sorted(writer.returncode for writer in writers) == [0, 3, 3, 3]
    assert sum(b"exists already" in each for each in said) == 3


@pytest.mark.slow
def test_a_fit_whose_proof_fails_leaves_no_mapping(folder, inside, monkeypatch):
    def full(*_):
        raise StorageError("cannot write 'p': the disk is full")

    monkeypatch.setattr(Mapping, "proof", full)
    names = sorted(os.listdir(folder))
    complained(inside("fit", "fine.toml", "people.csv", "--out", "m", "--proof", "p"), "the disk is full")
    assert sorted(os.listdir(folder)) == names


@pytest.mark.slow
@every_output
def test_a_link_is_followed_and_a_mode_is_kept(fitted, inside, writing):
    line, ending = WRITING[writing]
    (fitted / "away").mkdir()
    away, link = fitted / "away" / "real", fitted / f"out{ending}"
    away.write_text("old")
    away.chmod(0o600)
    link.symlink_to(away)
    assert inside(*line, link.name).returncode == 3
    result = inside(*line, link.name, "--force")
    assert result.returncode == 0, result.stderr
    assert link.is_symlink()
    assert away.read_bytes() != b"old"
    assert away.stat().st_mode & 0o777 == 0o600
    assert os.listdir(fitted / "away") == ["real"]


def test_the_numbers_of_a_report_are_an_output_too(fitted, inside):
    os.mkfifo(fitted / "r.json")
    complained(inside("report", "fine.mapping", "--out", "r.html", "--force"), "'r.json' is a pipe")
    assert not (fitted / "r.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_output_is_not_what_the_command_prints_into(fitted, stream):
    with (fitted / "printed").open("w") as file:
        more = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: file}
        line = [sys.executable, "-m", "evenhand", "fit", "fine.toml", "people.csv", "--force", "--out", "printed"]
        assert subprocess.run([*line], cwd=fitted, check=False, **more).returncode == 3
    assert stream == "stdout" or "is where the command prints" in flat((fitted / "printed").read_text())


LOOP, LONG = "loop", "x" * 300
NOT_UTF8 = os.fsdecode(b"bad\xff")


@pytest.mark.slow
@pytest.mark.parametrize("name", [LOOP, LONG, "x" * 5000], ids=["loop", "long", "very long"])
@pytest.mark.parametrize("ending", [".csv", ""])
def test_names_that_no_file_can_have(fitted, inside, name, ending):
    """As any input and any output: one sentence, in words and as a document."""
    name += ending
    if name.startswith(LOOP):
        (fitted / name).symlink_to(name)
    before = sorted(os.listdir(fitted))
    for line in (
        ("fit", "fine.toml", name),
        ("fit", name, "people.csv"),
        ("diagnose", "fine.toml", name),
        ("shield", "shield.toml", "people.csv", "--scores", name),
        ("apply", name, "people.csv", "--out", "a.csv"),
        ("apply", "fine.mapping", name, "--out", "a.csv"),
        *([("apply", "fine.mapping", "people.csv", "--out", name)] if ending else []),
        ("audit", name),
        ("audit", "fine.mapping", name),
        ("theory", "fine.mapping", "--holdout", name),
        ("report", "fine.mapping", "--table", name),
        ("init", name, *INIT[2:]),
        ("verify", name),
        *((*line, name) for line, kind in WRITING.values() if not kind),
    ):
        complained(inside(*line))
        error = document(inside(*line, "--json"))["error"]
        assert error["exit_code"] == 3
    assert sorted(os.listdir(fitted)) == before


@pytest.mark.slow
def test_names_that_are_not_text(fitted, inside):
    """Whatever can be read and written under such a name is; of a table it is said why not."""
    (fitted / f"{NOT_UTF8}.mapping").write_bytes((fitted / "fine.mapping").read_bytes())
    (fitted / f"{NOT_UTF8}.toml").write_bytes((fitted / "fine.toml").read_bytes())
    (fitted / f"{NOT_UTF8}.csv").write_bytes((fitted / "people.csv").read_bytes())
    assert inside("audit", f"{NOT_UTF8}.mapping").returncode == 0
    assert document(inside("audit", f"{NOT_UTF8}.mapping", "--json"))["mapping"] == f"{NOT_UTF8}.mapping"
    assert inside("fit", f"{NOT_UTF8}.toml", "people.csv", "--out", NOT_UTF8).returncode == 0
    assert (fitted / NOT_UTF8).exists()
    assert inside("apply", "fine.mapping", "people.csv", "--out", f"{NOT_UTF8}-out.csv").returncode == 0
    for line in (
        ("fit", "fine.toml", f"{NOT_UTF8}.csv"),
        ("apply", "fine.mapping", f"{NOT_UTF8}.csv", "--out", "a.csv"),
        ("audit", "fine.mapping", f"{NOT_UTF8}.csv"),
        ("init", f"{NOT_UTF8}.csv", *INIT[2:]),
        ("theory", "fine.mapping", "--holdout", f"{NOT_UTF8}.csv"),
    ):
        complained(inside(*line), r"'bad\udcff.csv' is not text in UTF-8")


@pytest.mark.slow
def test_the_report_of_a_mapping_whose_name_is_not_text(fitted, inside):
    (fitted / f"{NOT_UTF8}.mapping").write_bytes((fitted / "fine.mapping").read_bytes())
    result = inside("report", f"{NOT_UTF8}.mapping", "--no-frontier")
    assert result.returncode == 0, result.stderr
    assert r"bad\udcff.mapping" in (fitted / "report.json").read_text(encoding="utf-8")
