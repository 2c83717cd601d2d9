"""Run the blocks of a page, one after another, as a reader would: in one folder, with one Python session.

``run`` starts a process of its own for that, which is this file as a script. A warning of evenhand's is an error: a
page that is meant to show one catches it.
"""

import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

WIDTH = 80


class PageError(RuntimeError):
    """A block of a page failed."""


def run(page, chosen, folder):
    """Run blocks of a page in a folder; return what each of them shows.

    Parameters
    ----------
    page : str
        What an error calls the page.
    chosen : list of Block
        Python's share their names; those of the console are run by bash.
    folder : Path
        Where they are run.

    Raises
    ------
    PageError
        If one fails: with its text and what it said.
    """
    given = json.dumps([[block.language, block.text] for block in chosen])
    settings = {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as kept:
        answer = Path(kept) / "shown.json"
        ended = subprocess.run(
            [sys.executable, Path(__file__).resolve(), answer], input=given, cwd=folder, text=True, capture_output=True,
            env=os.environ | settings | {"PATH": search}, check=False,
        )  # fmt: skip
        if ended.returncode:
            raise PageError(f"{page}: {ended.stderr.strip()}")
        return json.loads(answer.read_text(encoding="utf-8"))


def _python(text, names):
    """Run Python; return what it printed and, as a notebook does, the value of a last expression."""
    tree = ast.parse(text)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<page>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names) if last else None
    return printed.getvalue() + ("" if value is None else f"{_shown(value)}\n")


def _shown(value):
    """Return a value in words: all rows and columns of a frame, no more digits than are read."""
    import pandas as pd

    with pd.option_context("display.width", WIDTH, "display.max_columns", 20, "display.precision", 3):
        return repr(value)


def _console(text):
    """Run a script of bash; return what it wrote to either stream."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise PageError(f"it ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def _main(answer):
    from evenhand.errors import EvenhandWarning

    warnings.filterwarnings("error", category=EvenhandWarning)
    # Most examples take the favourable outcome from somebody; the pages about it show the warning.
    for usual in ("levelled down", ".*Say which outcome is good for a person"):
        warnings.filterwarnings("ignore", usual, EvenhandWarning)
    names = {"__name__": "__main__"}
    shown = []
    for language, text in json.load(sys.stdin):
        try:
            shown.append(_python(text, names) if language == "python" else _console(text))
        except Exception as error:
            sys.exit(f"{text}\n{type(error).__name__}: {error}")
    Path(answer).write_text(json.dumps(shown), encoding="utf-8")


if __name__ == "__main__":
    _main(sys.argv[1])
