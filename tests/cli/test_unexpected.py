"""An error that nobody thought of is one line and a code of its own, never a traceback."""

import pytest
from commands import complained, document

from evenhand.cli import problems
from evenhand.cli.exits import Exit


class OddError(Exception):
    """An error of another library."""


@pytest.fixture(
    params=[OddError("three\n\x1b[31mlines\nof it"), MemoryError(), RecursionError("too deep"), KeyError("x")]
)
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
