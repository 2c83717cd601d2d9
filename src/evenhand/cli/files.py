"""What commands read and write: problems, tables, folders, files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli.wording import worded
from evenhand.errors import EvenhandError, SpecError, warn
from evenhand.files import existing, together

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.data.domain import Domain
    from evenhand.render.chart import Picture
    from evenhand.spec import Problem

STUDIES = ("compas", "adult")


def problem_and_table(problem: str, table: Path | None) -> tuple[Problem, Path | pd.DataFrame]:
    """Read a problem, a TOML file or the name of a study, and return it with its table: a path, or the study's own."""
    from evenhand.datasets import load

    if problem in STUDIES and not Path(problem).exists():
        data = load(problem)
        if table is None:
            return data.problem, data.frame
        return _with_orders(data.problem, data.counts.domain), table
    stated = read_problem(Path(problem))
    if table is None:
        raise SpecError(f"{problem!r} needs a table: give the path of a CSV or Parquet file after it")
    return stated, table


def read_table(
    path: Path, problem: Problem | None = None, progress: Callable[[str, float], None] | None = None
) -> pd.DataFrame:
    """Read a whole table into memory, in the form that a problem says its files have."""
    from evenhand.engines import read_file

    if problem is None:
        return read_file(path, progress=progress)
    return read_file(path, problem.csv, blanks=problem.missing_values, progress=progress)


def columns_of(table: str | Path | pd.DataFrame, problem: Problem) -> list[str]:
    """Return the names of a table's columns: of a file, or of a frame."""
    from evenhand.engines import Source

    return list(Source.of(table, problem.csv).columns if isinstance(table, str | Path) else table.columns)


def _with_orders(problem: Problem, domain: Domain) -> Problem:
    """Return a study's problem with the order of its levels written out, which a CSV file does not carry."""
    from evenhand.spec import Ordinal

    levels = {v.name: v.levels for v in (*domain.x.variables, domain.outcome) if isinstance(v.levels[0], str)}
    rules = {
        column: replace(rule, levels=levels[column]) if isinstance(rule, Ordinal) and column in levels else rule
        for column, rule in problem.distortion.rules.items()
    }
    return replace(problem, distortion=replace(problem.distortion, rules=rules))


def read_problem(path: Path) -> Problem:
    """Read a problem file; the name of a study is meant where there is none."""
    from evenhand.spec import Problem

    if not path.exists():
        raise SpecError(f"there is no problem {str(path)!r}; give a TOML file, or one of {list(STUDIES)}")
    return Problem.from_toml(path)


def csv_text(frame: pd.DataFrame) -> bytes:
    text: str = frame.to_csv(index=False, lineterminator="\n")
    return text.encode()


def check_chart(path: Path | None) -> None:
    """Refuse, before any work is done, a file that no chart can be written to."""
    from evenhand.render.chart import check_ending

    try:
        check_ending(path)
    except SpecError as error:
        raise typer.BadParameter(worded(error), param_hint="--chart") from None


def draw_chart(made: Callable[[], Picture], path: Path | None) -> Path | None:
    """Write a chart of results that are written already; warn where it cannot be, and return where it is."""
    if path is None:
        return None
    try:
        made().save(path)
    except EvenhandError as error:
        warn("no chart was written: ", *error.pieces)
        return None
    except MemoryError:
        warn("no chart was written: there is not enough memory to draw it")
        return None
    return path


def make_folder(path: Path) -> None:
    """Make a folder that may exist already."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EvenhandError(f"cannot make the folder {str(path)!r}: {error.strerror}") from None


@contextmanager
def writing(force: bool, *paths: Path | None, inputs: Sequence[Path | None] = ()) -> Iterator[None]:
    """Write the files of a command in the ``with`` block: all of them appear at its end, or none does.

    What could not be written is refused before any work is done, and so are files that exist, unless it is forced.
    """
    _check_outputs(force, *paths, inputs=inputs)
    with together(force=force):
        yield


def _check_outputs(force: bool, *paths: Path | None, inputs: Sequence[Path | None]) -> None:
    given = [path for path in paths if path is not None]
    read = {os.path.realpath(path) for path in inputs if path is not None}
    for path in given:
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            raise EvenhandError(f"there is no folder {folder!r} to write {path.name!r} into")
        found = existing(path)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise EvenhandError(f"cannot write into {folder!r}: permission denied")
        if os.path.realpath(path) in read:
            raise EvenhandError(f"{str(path)!r} is to be read and written; give the output a name of its own")
        if found is not None and not force:
            raise EvenhandError(f"{str(path)!r} exists already; --force overwrites it")
        if found is not None and any(map(partial(os.path.samestat, found), _printed_to())):
            raise EvenhandError(f"{str(path)!r} is where the command prints; give the output a name of its own")
    if len({os.path.realpath(path) for path in given}) < len(given):
        raise EvenhandError(f"{str(given[0])!r} is to be written twice; give every output a name of its own")


def _printed_to() -> Iterator[os.stat_result]:
    """Give what is known of the files, if they are any, that the output and the error stream lead to."""
    for stream in (sys.stdout, sys.stderr):
        # A stream in memory has no number.
        with suppress(OSError):
            yield os.fstat(stream.fileno())
