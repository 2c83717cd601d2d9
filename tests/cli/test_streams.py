"""Streams that are full, closed, of few letters or read by nobody: a command ends with a code that says so."""

import json
import os
import subprocess
import sys

import pytest
from cli.test_exits import ANSWERS
from commands import document

from evenhand.cli.exits import Exit

COMMANDS = {command: arguments for command, (arguments, _) in ANSWERS.items()}
LINES = [
    *([command, *arguments, *more] for command, arguments in COMMANDS.items() for more in ([], ["--json"])),
    ["sql", *COMMANDS["sql"][:-2]],
    ["fit", "tight.toml", "people.csv"],
    ["fit", "tight.toml", "people.csv", "--json"],
    ["diagnose", "tight.toml", "people.csv"],
    ["--help"],
    ["--verbose", "--version"],
    [],
]
QUICK = [["fit", "--nope"], ["fit", "--help"], ["--version"], ["fit", "--nope", "--json"]]
"""Lines that end before they load a library."""


def some_lines(every):
    """One in so many of the lines that take their time: an odd number, for every other of them asks for JSON."""
    cases = [pytest.param(line, marks=pytest.mark.slow) for line in LINES[::every]] + QUICK
    return pytest.mark.parametrize("line", cases, ids=" ".join)


def ended(folder, line, redirected, **environment):
    """A process of its own whose streams a shell redirects."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirected}', "bash", sys.executable, "-m", "evenhand", *line],
        capture_output=True, text=True, cwd=folder, timeout=120, check=False, errors="surrogateescape",
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **environment},
    )  # fmt: skip


def expected(line):
    """How the line ends where nothing is wrong with the streams."""
    if "tight.toml" in line:
        return Exit.NO
    return Exit.USAGE if line == [] or "--nope" in line else Exit.DONE


def speaks_on_output(line):
    return "--json" in line or not (line[1:2] == ["--nope"] or line[:2] == ["fit", "tight.toml"])


@pytest.mark.slow
@some_lines(7)
@pytest.mark.parametrize("stream", [1, 2], ids=["output", "errors"])
def test_nobody_reads(fitted, line, stream):
    """The reader is gone before a word is said: 141, without one."""
    read, write = os.pipe()
    os.close(read)
    taken = (
        {"stdout": write, "stderr": subprocess.PIPE} if stream == 1 else {"stdout": subprocess.PIPE, "stderr": write}
    )
    run = subprocess.Popen([sys.executable, "-m", "evenhand", *line], cwd=fitted, text=True, **taken)
    os.close(write)
    out, err = run.communicate(timeout=120)
    speaks = speaks_on_output(line) == (stream == 1)
    assert run.returncode == (Exit.UNREAD if speaks else expected(line)), (out, err)
    if speaks:
        assert not (err if stream == 1 else out)


@pytest.mark.slow
@some_lines(7)
def test_a_full_disk(fitted, line):
    result = ended(fitted, line, ">/dev/full")
    if speaks_on_output(line):
        assert result.returncode == Exit.INPUT
        assert result.stderr.startswith("Error: ")
        assert result.stderr.endswith(": No space left on device\n")
        assert result.stderr.count("\n") == 1
    else:
        assert result.returncode == expected(line)
        assert "Error: " in result.stderr


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("line", QUICK, ids=" ".join)
def test_an_output_stream_that_is_closed(fitted, line):
    result = ended(fitted, line, ">&-")
    assert result.returncode == Exit.INPUT
    assert result.stderr == "Error: cannot write to the output stream: it is closed\n"
    assert ended(fitted, line, "<&- >&- 2>&-").returncode == Exit.INPUT


@pytest.mark.slow
@some_lines(11)
def test_an_error_stream_that_is_closed(fitted, line):
    result = ended(fitted, line, "2>&-")
    assert result.returncode == expected(line)
    assert bool(result.stdout) == speaks_on_output(line)
    if "--json" in line:
        document(result)


@pytest.mark.slow
def test_an_error_stream_that_is_full(fitted):
    assert ended(fitted, ["fit", "--nope"], "2>/dev/full").returncode == Exit.INPUT


@pytest.mark.slow
@some_lines(7)
@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["ascii", "C"],
)
def test_streams_of_few_letters(fitted, line, environment):
    result = ended(fitted, line, "", **environment)
    assert result.returncode == expected(line), result.stderr
    assert (result.stdout + result.stderr).isascii()
    if "--json" in line:
        document(result)


@pytest.mark.slow
def test_json_is_ascii(fitted, inside):
    """A terminal that a document is printed on does not obey it either."""
    (fitted / "é\x9b.csv").write_bytes((fitted / "people.csv").read_bytes())
    result = inside("audit", "fine.mapping", "é\x9b.csv", "--json")
    assert result.stdout.isascii()
    assert document(result)["table"] == "é\x9b.csv"
    assert json.loads(inside("fit", "nö.toml", "--json").stdout)["error"]["message"].count("nö.toml") == 1
