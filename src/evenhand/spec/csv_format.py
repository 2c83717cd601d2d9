"""How a CSV file is written, where it is not the usual way."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand import check, records
from evenhand.errors import SpecError

LONGEST = 4
"""A delimiter has at most so many characters."""


@dataclass(frozen=True)
class CsvFormat:
    """The delimiter of CSV files, and the columns' names where a file has no header.

    Parameters
    ----------
    delimiter : str
        What stands between two fields: ``","``, ``";"``, ``", "``.
    names : sequence of str, optional
        The names of all columns, in order, of files without a header. What is written then has none either.

    Examples
    --------
    >>> CsvFormat(delimiter=";").delimiter
    ';'
    """

    delimiter: str = ","
    names: check.Columns | None = None

    def __post_init__(self) -> None:
        records.check(self)
        if not 0 < len(self.delimiter) <= LONGEST:
            raise check.refused("delimiter of CsvFormat", f"one to {LONGEST} characters", self.delimiter)
        if any(character in '"\r\n' for character in self.delimiter):
            raise SpecError(f"delimiter of CsvFormat cannot hold quotes or line ends: {self.delimiter!r}")
        names = list(self.names or ())
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SpecError(f"names of CsvFormat list {twice!r} twice")
