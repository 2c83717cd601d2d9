"""The command line as a process, and what is expected of its complaints."""

import json
import os
import subprocess
import sys


def evenhand(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "evenhand", *map(str, arguments)],
        capture_output=True, text=True, cwd=cwd, check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1", **environment},
    )  # fmt: skip


def flat(text):
    return " ".join(text.split())


def complained(result, *words, code=3):
    """The command ended with a code and one explanation, on the error stream."""
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    for said in words:
        # A path that is longer than a line is broken anywhere in it.
        assert said in flat(result.stderr) or said in result.stderr.replace("\n", "")


def misused(result, *words):
    """The command line was wrong: the usage and what is not taken, on the error stream, and nothing done."""
    assert result.returncode == 2, (result.returncode, result.stdout, result.stderr)
    assert "Traceback" not in result.stderr
    said = flat(result.stderr.replace("│", " "))
    for each in words:
        assert each in said, said


def document(result):
    """The one JSON document that is all of a command's output."""
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found
