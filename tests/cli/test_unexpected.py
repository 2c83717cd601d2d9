"""An error that nobody thought of is one line and a code of its own, never a traceback."""

import errno

import pytest
from commands import complained, document

from evenhand.cli import problems
from evenhand.cli.exits import Exit


class OddError(Exception):
    """An error of another library."""


@pytest.fixture(params=[OddError("three\n\x1b[31mlines\nof it"), RecursionError("too deep"), KeyError("x")])
def surprise(request, monkeypatch):
    def fail(*given, **more):
        raise request.param

    monkeypatch.setattr(problems, "problem_and_table", fail)
    return request.param


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("command", ["fit", "diagnose", "frontier"])
def test_it_is_one_line_that_asks_to_report_it(folder, inside, surprise, command):
    result = inside(command, "fine.toml", "people.csv")
    complained(result, "please report it", type(surprise).__name__, code=70)
    assert result.stderr.count("\n") == 1
    assert "\x1b" not in result.stderr
    assert result.stdout == ""
    assert not (folder / "evenhand.mapping").exists()


def test_it_is_a_document(folder, inside, surprise):
    result = inside("fit", "fine.toml", "people.csv", "--json")
    assert (result.returncode, result.stderr) == (Exit.UNEXPECTED, "")
    error = document(result)["error"]
    assert (error["kind"], error["exit_code"]) == ("UnexpectedError", 70)
    assert type(surprise).__name__ in error["message"]


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (MemoryError(), "DataError", "not enough memory for this. Raise the limit"),
        (RuntimeError("can't start new thread"), "DataError", "not enough memory for this. Raise the limit"),
        (OSError(errno.EIO, "Input/output error"), "StorageError", "refused to read or write: Input/output error"),
        (OSError(errno.EIO, "Input/output error", "t.csv"), "StorageError", "write of 't.csv': Input/output error"),
    ],
)
def test_what_the_machine_lacks_is_no_bug(folder, inside, monkeypatch, error, kind, said):
    def fail(*given, **more):
        raise error

    # After the fit: what follows it is worked out before anything is written.
    monkeypatch.setattr("evenhand.findings.theory.Theory.one_draw", fail)
    complained(inside("fit", "fine.toml", "people.csv"), said, code=Exit.INPUT)
    assert not list(folder.glob("*.mapping"))
    monkeypatch.setattr(problems, "problem_and_table", fail)
    result = inside("fit", "fine.toml", "people.csv", "--json")
    assert (result.returncode, document(result)["error"]["kind"]) == (Exit.INPUT, kind)


def test_a_file_that_cannot_be_read(inside):
    complained(inside("verify", "/proc/self/mem"), "the file '/proc/self/mem' is empty", code=Exit.INPUT)
    complained(inside("verify", "."), "cannot read the file '.': Is a directory", code=Exit.INPUT)


@pytest.mark.slow
def test_a_long_one_is_cut(folder, inside, monkeypatch):
    def fail(*given):
        raise OddError("x" * 100_000)

    monkeypatch.setattr(problems, "problem_and_table", fail)
    assert len(inside("fit", "fine.toml", "people.csv").stderr) < 1000


def test_where_it_happened_is_told_to_those_who_ask(folder, inside, monkeypatch, caplog):
    def fail(*given):
        raise OddError("\x1b[31m")

    monkeypatch.setattr(problems, "problem_and_table", fail)
    assert inside("--verbose", "fit", "fine.toml", "people.csv").returncode == Exit.UNEXPECTED
    assert "in fail" in caplog.text
