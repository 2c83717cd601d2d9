"""People of files explained: which row a person is, what was drawn for them in one release, and why."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evenhand.data.domain import in_words
from evenhand.engines import Columns, Row, Source, read_as, row_at, rows_where
from evenhand.errors import DataError, StorageError
from evenhand.explanation import explaining
from evenhand.findings.explaining import Drawn, Explaining, Explanation
from evenhand.findings.manifest import FileRecord, Manifest, own_paths
from evenhand.mapping import Mapping as Fitted
from evenhand.resources import Progress, silent
from evenhand.spec import Problem
from evenhand.tables.person import Placed
from evenhand.tables.transforming import Missing, Mode, Unseen, placed

Where = Mapping[str, str]

ROW = "row"
"""Who has no other name is told by the number of their row, if no column is called so."""


class Person(NamedTuple):
    """One person of a table: the row, and where a mapping has them."""

    row: Row
    place: Placed


def find_person(
    fitted: Fitted, about: Explaining, table: str | os.PathLike[str], where: Where, progress: Progress | None = None
) -> Person:
    """Find the one person whom conditions describe; nobody, or several, is an error that says how many."""
    problem, said = fitted.problem, in_words(where)
    if set(where) == {ROW} and ROW not in Source.of(table, problem.csv).columns:
        return _numbered(about, table, where[ROW], problem)
    number, rows = rows_where(table, where, read_as(about.mode.read), problem.csv, progress)
    if not number:
        raise DataError(f"nobody in {os.fspath(table)!r} has {said}")
    if number > 1:
        few = "; ".join(f"row {each.position + 1:,} ({_in_short(each, problem)})" for each in rows)
        more = f", and {number - len(rows):,} more" if number > len(rows) else ""
        raise DataError(
            f"{number:,} rows of {os.fspath(table)!r} have {said}: {few}{more}; say more of the one you mean"
        )
    return _person(about, rows[0])


def _numbered(about: Explaining, table: str | os.PathLike[str], number: str, problem: Problem) -> Person:
    """Find a person by the number of their row, counted from 1."""
    if not number.isdecimal() or not int(number):
        raise DataError(f"{os.fspath(table)!r} has no column {ROW!r}, and {number!r} is no number of a row, from 1 on")
    return _person(about, row_at(table, int(number) - 1, read_as(about.mode.read), problem.csv))


def _person(about: Explaining, row: Row) -> Person:
    (own,) = placed(about.mode, row.table, first=row.position)
    return Person(row, own)


def _in_short(row: Row, problem: Problem) -> str:
    return in_words({name: value for name, value in row.values.items() if name in problem.columns})


def explain_person(
    fitted: Fitted,
    table: str | os.PathLike[str],
    where: Where,
    *,
    beside: Where | None = None,
    mode: Mode | None = None,
    manifest: Manifest | None = None,
    mapping: str | os.PathLike[str] | None = None,
    unseen: Unseen | None = None,
    missing: Missing | None = None,
    progress: Progress | None = None,
) -> tuple[Explanation, ...]:
    """Explain one person of a file, and another; with a manifest, with what was drawn for each in that release.

    ``mapping`` is the mapping's file, whose checksum the manifest must have.
    """
    tell = progress or silent
    if manifest is not None:
        mode, unseen, missing = _of_release(manifest, mode, unseen, missing)
    if mode is None:
        has_outcome = fitted.problem.outcome in Source.of(table, fitted.problem.csv).columns
        mode = "release" if has_outcome else "apply"
    about = explaining(fitted, mode, unseen, missing)
    release = None if manifest is None else Release.of(manifest, fitted, table, mapping, tell)
    people = [find_person(fitted, about, table, each, progress) for each in (where, beside) if each is not None]
    drawn = [None if release is None else release.drawn(about, person) for person in people]
    if len(people) == 1:
        return (about.explain(people[0].place, drawn=drawn[0]),)
    one, other = people
    return about.explain(one.place, other.place, drawn[0]), about.explain(other.place, one.place, drawn[1])


def _of_release(manifest: Manifest, mode: Any, unseen: Any, missing: Any) -> tuple[Any, Any, Any]:
    """Return the mode and the policies of a release; others cannot be asked of it."""
    if manifest.mode == "expand":
        raise DataError("the manifest is of an expanded file, in which nothing was drawn for anybody")
    if mode not in (None, manifest.mode):
        raise DataError(f"the manifest is of a file in {manifest.mode} mode, not in {mode} mode")
    own = manifest.options["unseen"]
    return manifest.mode, unseen or (None if own == "error" else own), missing or manifest.options["missing"]


@dataclass(frozen=True, eq=False)
class Release:
    """One release, whose files were found to be those of its manifest."""

    manifest: Manifest
    problem: Problem
    same_input: bool

    @classmethod
    def of(cls, manifest: Manifest, fitted: Fitted, table: Any, mapping: Any, tell: Progress) -> Release:
        """Check that a manifest is of this mapping and of the output that is there."""
        tell("hashing", 0.0)
        (output,) = own_paths(manifest, "output") or ("",)
        if not os.path.isfile(output):
            raise StorageError(
                f"the output {manifest.output.name!r} of the manifest is no regular file in its folder or below; keep "
                f"the manifest beside it"
            )
        if mapping is not None and not manifest.mapping.has_bytes_of(mapping):
            raise StorageError(f"the manifest is not of the mapping {os.fspath(mapping)!r}: its SHA-256 is another")
        if not manifest.output.has_bytes_of(output):
            raise StorageError(f"{output!r} is not the output that the manifest is of: its SHA-256 is another")
        paths = Source.of(table, fitted.problem.csv).paths
        inputs = manifest.inputs
        same = len(paths) == len(inputs) and all(map(FileRecord.has_bytes_of, inputs, paths))
        if not same and manifest.options["key"] is None:
            raise StorageError(
                f"{os.fspath(table)!r} is not the table that was read for {manifest.output.name!r}: its SHA-256 is "
                f"another, and no key tells who is who there"
            )
        return cls(manifest, fitted.problem, same)

    def drawn(self, about: Explaining, person: Person) -> Drawn:
        """Return what was drawn for a person: in the same row, or in the row of the same key."""
        manifest, written = self.manifest, [v.name for v in about.mode.written]
        output = manifest.output.path(manifest.folder)
        columns = read_as(about.mode.read)
        if self.same_input:
            row = row_at(output, person.row.position, columns, self.problem.csv)
        else:
            row = self._by_key(output, columns, person)
        options = {name: manifest.options[name] for name in ("seed", "key", "draw")}
        options = {name: value for name, value in options.items() if value is not None}
        values = {name: value for name, value in row.values.items() if name in written}
        return Drawn(manifest.output.name, row.position + 1, options, self._result(about, person, row), values)

    def _by_key(self, output: str, columns: Columns, person: Person) -> Row:
        key = self.manifest.options["key"]
        value = person.row.values.get(key)
        if value is None:
            raise DataError(f"say who is meant by the key {key!r}: this table is not the one that was read")
        number, rows = rows_where(output, {key: str(value)}, columns, self.problem.csv)
        if number != 1:
            raise DataError(f"{number:,} people of {output!r} have {key}={value}: who is meant cannot be told")
        return rows[0]

    def _result(self, about: Explaining, person: Person, row: Row) -> Any:
        """Return the possible result that a row shows; None where its values are names of bins, which are no values."""
        if self.manifest.options["restore"] == "label" and self.problem.bins:
            return None
        (now,) = placed(about.mode, row.table, first=row.position)
        return about.result_of(person.place, now.levels[about.mode.lookup.first_written :])
