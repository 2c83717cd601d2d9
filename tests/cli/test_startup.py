"""Help, complaints and the version come at once: what takes long to import is imported by the commands that need it."""

import subprocess
import sys

import pytest
from commands import evenhand

import evenhand as eh
from evenhand import cli
from evenhand.cli.commands import COMMANDS

HEAVY = {"numpy", "scipy", "pandas", "narwhals", "duckdb", "pyarrow", "sklearn", "highspy"}
SCRIPT = """
import contextlib, io, sys
from evenhand.cli import main
for words in sys.argv[1:]:
    sys.argv = ["evenhand", *words.split()]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main()
print(*{name.split(".")[0] for name in sys.modules})
"""


def imported(*lines):
    """The packages that are there after these command lines."""
    run = subprocess.run([sys.executable, "-c", SCRIPT, *lines], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_the_version_needs_nothing():
    assert not imported("--version") & (HEAVY | {"typer", "rich"})


@pytest.mark.slow
@pytest.mark.parametrize("line", ["--help", "fit --help", "--nope", "nope", "fit --nope", "fit a.toml b.csv --out"])
def test_help_and_complaints_need_no_numbers(line):
    found = imported(line)
    assert "typer" in found
    assert not found & HEAVY


@pytest.mark.slow
def test_no_help_needs_numbers():
    assert not imported(*(f"{command.__name__} --help" for command in COMMANDS)) & HEAVY


@pytest.mark.slow
def test_the_version_is_the_same_in_company():
    """Among other words the version is an option like others."""
    for words in (("--version",), ("--version", "fit"), ("--verbose", "--version")):
        result = evenhand(*words)
        assert (result.returncode, result.stdout, result.stderr) == (0, f"evenhand {eh.__version__}\n", "")


@pytest.mark.slow
def test_a_version_that_nobody_reads():
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(0.5); from evenhand.cli import main; main()", "--version"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_words_of_options_are_those_of_the_library():
    """Help must not wait for numpy, so the command line has lists of its own."""
    from typing import get_args

    from evenhand.cli import queries
    from evenhand.cli import transforming as options
    from evenhand.cli.options import Missing, Unseen
    from evenhand.tables import Restore, Restoring, transforming

    assert get_args(transforming.Draw) == tuple(options.Draw)
    assert get_args(transforming.Unseen) == tuple(Unseen)
    assert get_args(transforming.Missing) == tuple(Missing)
    assert get_args(Restore) == tuple(options.Restore) == tuple(Restoring)
    assert set(get_args(transforming.Mode)) == set(queries.Mode)


def test_an_interrupt_before_anything_is_loaded_is_no_traceback(monkeypatch):
    class Interrupted:
        def find_spec(self, name, *more):
            if name == "evenhand.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "evenhand.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
