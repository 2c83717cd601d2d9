"""How a written file says that it was altered, and what becomes of cells that a spreadsheet would take for formulas.

Parquet says it in its metadata. CSV has none, so that only a column can say it there. It is the same in every row: it
must not reveal which rows changed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from evenhand import check
from evenhand.engines.duck import literal
from evenhand.engines.files import Source, is_parquet, reading
from evenhand.errors import DataError, Option, SpecError
from evenhand.resources import Progress
from evenhand.spec import CsvFormat
from evenhand.tables import quoted, refuse_taken
from evenhand.text import counted

Formulas = Literal["keep", "escape", "refuse"]

METADATA = "evenhand"
"""The entry of a Parquet file's metadata that says it."""

DIGITS = 12
"""So many digits of a mapping's digest distinguish it from others."""

FORMULA = r"[=+\-@\t\r\n＝＋－＠][\s\S]+"
NUMBER = r"[+\-]?([0-9][0-9.,]*|[.,][0-9]+)([eE][+\-]?[0-9]+)?%?"
"""What a spreadsheet takes for a formula, unless it is a number; a sign alone is neither."""


@dataclass(frozen=True)
class Marking:
    """What a written file says of itself.

    Attributes
    ----------
    about : mapping
        What its metadata says, as text by name; nothing if it is empty.
    column : str or None
        The column that says it in every row.
    words : str
        What it says there.
    formulas : {"keep", "escape", "refuse"}
        What becomes of cells of a CSV file that begin like a formula.
    """

    about: Mapping[str, str] = field(default_factory=dict)
    column: str | None = None
    words: str = ""
    formulas: Formulas = "keep"

    @classmethod
    def of(cls, mode: str, digest: str, *, column: Any, formulas: Any, manifest: Any) -> Marking:
        """Return what a file says that a mapping of some digest wrote; with a manifest, also the manifest's name."""
        if column is not None:
            check.text("mark", column)
        check.one_of("formulas", formulas, get_args(Formulas))
        about = {"altered": "true", "mode": mode, "mapping": digest}
        if manifest is not None:
            about["manifest"] = os.path.basename(check.path("manifest", manifest))
        return cls(about, column, f"altered by evenhand {mode} with mapping {digest[:DIGITS]}", formulas)

    @property
    def options(self) -> dict[str, Any]:
        """What was asked for, as whoever wants to do the same again needs it."""
        return {"mark": self.column, "formulas": self.formulas, "manifest": self.about.get("manifest")}

    @property
    def names(self) -> tuple[str, ...]:
        """The column that is added, if any is."""
        return () if self.column is None else (self.column,)

    @property
    def metadata(self) -> dict[str, str]:
        """What a Parquet file's metadata says, by entry."""
        return {f"{METADATA}.{name}": value for name, value in self.about.items()}

    @property
    def parquet_option(self) -> str:
        """The same as an option of DuckDB's COPY."""
        entries = ", ".join(f"{literal(name)}: {literal(value)}" for name, value in self.metadata.items())
        return f", KV_METADATA {{{entries}}}" if entries else ""

    def check(self, source: Source, columns: Iterable[str], levels: Mapping[str, Iterable[Any]], target: str) -> None:
        """Refuse what cannot be written: a column that is there already, formulas that would change what is read.

        ``columns`` are those of the result, ``levels`` the values that the mapping knows, by column.
        """
        names = tuple(columns)
        if self.column is not None:
            refuse_taken("mark", self.column, (*names, *source.columns))
            if source.format is not None and source.format.names is not None:
                raise SpecError(
                    f"mark adds a column, and {source.name!r} has no line that names its columns; leave out ",
                    Option("mark"),
                )
        if self.formulas == "keep":
            return
        if is_parquet(target):
            raise SpecError("only a .csv file has cells that a spreadsheet takes for formulas; leave out ", _OPTION)
        for name in filter(is_formula, names):
            raise DataError(f"the column {name!r} begins like a formula of a spreadsheet; rename it")
        for name, known in levels.items() if self.formulas == "escape" else ():
            if found := next((level for level in known if isinstance(level, str) and is_formula(level)), None):
                raise DataError(
                    f"the level {found!r} of column {name!r} begins like a formula of a spreadsheet, and the mapping "
                    f"would not know it escaped; rename the level before you fit, or leave out ",
                    _OPTION,
                )

    def written(self, rows: str, *, parquet: bool) -> str:
        """Return the query of the rows as they are written."""
        if self.formulas == "escape" and not parquet:
            text = "CAST(COLUMNS(*) AS VARCHAR)"
            rows = f"SELECT CASE WHEN {_is_formula(text)} THEN '''' || {text} ELSE {text} END FROM ({rows})"
        return (
            rows if self.column is None else f"SELECT *, {literal(self.words)} AS {quoted(self.column)} FROM ({rows})"
        )

    def refuse_formulas(self, path: str, format: CsvFormat, progress: Progress) -> None:
        """Refuse a CSV file that holds a formula, where that was asked for."""
        if self.formulas != "refuse":
            return
        source = Source.of(path, format)
        found = np.zeros(len(source.columns), dtype=np.int64)
        with reading(source, path, progress) as reader:
            for batch in reader.batches({}, "looking for formulas"):
                assert batch.records is not None
                for place in range(len(found)):
                    codes, texts = batch.records.numbered(place)
                    odd = np.array([text is not None and is_formula(text) for text in texts], dtype=bool)
                    found[place] += int(np.count_nonzero(odd[codes]))
        for name, cells in zip(source.columns, found.tolist(), strict=True):
            if cells:
                raise DataError(
                    f"{counted(cells, 'cell')} of column {name!r} {'begins' if cells == 1 else 'begin'} like a "
                    f"formula of a spreadsheet (= + - @); nothing was written: change them, or write an apostrophe "
                    f"before each with ",
                    Option("formulas", "escape"),
                )


_OPTION = Option("formulas")


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula.

    Examples
    --------
    >>> [is_formula(text) for text in ("=1+1", "@sum", "-2.5", "-1,5e3", "-", "-1+cmd", "a=b")]
    [True, True, False, False, False, True, False]
    """
    return bool(re.fullmatch(FORMULA, text)) and not re.fullmatch(NUMBER, text)


def _is_formula(column: str) -> str:
    """Return the same as an expression of DuckDB's."""
    return f"(regexp_full_match({column}, {literal(FORMULA)}) AND NOT regexp_full_match({column}, {literal(NUMBER)}))"
