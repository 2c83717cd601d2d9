"""What commands read and write: problems, tables, folders, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand import screen
from evenhand.domain import Domain
from evenhand.errors import EvenhandError, SpecError
from evenhand.spec import Ordinal, Problem
from evenhand.storage import replace_file
from evenhand.tables import read_csv

STUDIES = ("compas", "adult")


def problem_and_table(problem: str, table: Path | None) -> tuple[Problem, Any]:
    """Read a problem (a TOML file, or the name of an embedded study) and its table (a CSV file, or the study's own)."""
    from evenhand.datasets import load

    if problem in STUDIES and not Path(problem).exists():
        data = load(problem)
        if table is None:
            return data.problem, data.frame
        return _with_orders(data.problem, data.counts.domain), read_csv(table)
    stated = read_problem(Path(problem))
    if table is None:
        raise SpecError(f"{problem!r} needs a table: give the path of a CSV file after it")
    return stated, read_csv(table)


def _with_orders(problem: Problem, domain: Domain) -> Problem:
    """Return a study's problem with the order of its levels written out, which a CSV file does not carry."""
    levels = {v.name: v.levels for v in (*domain.x.variables, domain.outcome) if isinstance(v.levels[0], str)}
    rules = {
        column: replace(rule, levels=levels[column]) if isinstance(rule, Ordinal) and column in levels else rule
        for column, rule in problem.distortion.rules.items()
    }
    return replace(problem, distortion=replace(problem.distortion, rules=rules))


def read_problem(path: Path) -> Problem:
    """Read a problem from a TOML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(
            f"cannot read the problem {str(path)!r}: {error.strerror}; give a TOML file, or one of {list(STUDIES)}"
        ) from None
    except UnicodeDecodeError:
        raise SpecError(
            f"the problem {str(path)!r} is not text; a problem is written in TOML (is this a mapping?)"
        ) from None
    try:
        return Problem.from_toml(text)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None


def write_csv(frame: Any, path: Path, what: str) -> None:
    """Write a frame as CSV in one step, and say so."""
    replace_file(path, frame.to_csv(index=False, lineterminator="\n").encode())
    screen.written(path, what)


def make_folder(path: Path) -> None:
    """Make a folder that may exist already."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvenhandError(f"cannot make the folder {str(path)!r}: {error.strerror}") from None


def check_outputs(force: bool, *paths: Path | None) -> None:
    """Refuse, before any work is done, what could not be written after it; and to overwrite files unless asked to."""
    given = [path for path in paths if path is not None]
    for path in given:
        if path.is_dir():
            raise EvenhandError(f"{str(path)!r} is a folder; give the name of a file")
        if not path.resolve().parent.is_dir():
            raise EvenhandError(f"there is no folder {str(path.resolve().parent)!r} to write {path.name!r} into")
        if path.exists() and not force:
            raise EvenhandError(f"{str(path)!r} exists already; --force overwrites it")
    if len({path.resolve() for path in given}) < len(given):
        raise EvenhandError(f"{str(given[0])!r} is to be written twice; give every output a name of its own")
