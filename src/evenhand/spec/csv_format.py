"""How a CSV file is written, where it is not the usual way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.delimiter, str) or not 0 < len(self.delimiter) <= LONGEST:
            raise SpecError(f"the delimiter of CsvFormat must be one to {LONGEST} characters, not {self.delimiter!r}")
        if any(character in '"\r\n' for character in self.delimiter):
            raise SpecError(f"the delimiter of CsvFormat cannot hold quotes or line ends: {self.delimiter!r}")
        if self.names is not None:
            if isinstance(self.names, str) or not isinstance(self.names, Iterable) or not tuple(self.names):
                raise SpecError(f"the names of CsvFormat must list every column, not {self.names!r}")
            names = tuple(str(name) for name in self.names)
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise SpecError(f"the names of CsvFormat list {twice!r} twice")
            object.__setattr__(self, "names", names)
