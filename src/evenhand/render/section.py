"""What was found, as data: sections of facts, charts, tables and notes, before anything is written.

A finding returns sections. They hold numbers and keys, no sentences: ``render.sentences`` has the words for a key, and
a module for each medium writes them. ``about`` names the parts of a table that a row or a note reveals, by which small
groups are hidden before anything is rendered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

Kind = Literal[
    "people", "weight", "rate", "share", "chance", "ratio", "points", "distance", "cost", "loss", "number", "violation",
    "fraction", "interval", "text", "group", "cut", "code", "flag",
]  # fmt: skip
"""What a value is, which decides how it is written (``render.numbers``); ``weight`` is of people by survey weight,
``chance`` a probability (only what is certain is 0% or 100%), ``fraction`` of one in three digits, ``interval`` two
rates, ``group`` a mapping of columns to levels, ``cut`` a text that may be too long to be read, ``code`` one that a
program reads."""

Mark = Literal["dots", "bars", "lines", "heat"]
"""How a chart is drawn: dots before and after, bars, curves, or a grid of shades."""

Form = Literal["open", "folded", "card"]
"""How a page shows a section: as it is, folded below its title, or as a card: its ``answer`` large, in its ``tone``."""

Where = Mapping[str, Any]
"""Part of a table of people: categories of some of its columns."""

ANYBODY: Where | None = None
"""In place of a part, where a row or a note may reveal any."""

About = Any
"""What a row or a note reveals: a part, anybody, or something else that ``findings.discretion`` can judge."""

NUMBERS = frozenset(get_args(Kind)) - {"text", "group", "cut", "code", "flag"}
"""The kinds that are aligned to the right."""


@dataclass(frozen=True)
class Note:
    """A sentence that is not written yet: its key in the catalogue, and what is filled in.

    A field may be a number, a text, another note, or a list of these.

    Examples
    --------
    >>> Note("hidden.rows", {"hidden": 2, "total": 5, "least": 20}).about
    ()
    """

    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    about: tuple[About, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column of a table: what it is called, what its values are.

    Attributes
    ----------
    name : str
        Its name in JSON, and the key of its heading.
    kind : str
        What its values are.
    own : bool
        Whether it is a column of the user's table, which is headed by its own name.
    detail : bool
        Whether a terminal leaves it out, which has no room for it.
    data : bool
        Whether JSON alone has it, and charts.
    """

    name: str
    kind: Kind = "text"
    own: bool = False
    detail: bool = False
    data: bool = False


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of values. ``about`` has, for each row, what it reveals: parts of the table of people.

    Attributes
    ----------
    key : str
        Its name in JSON, and the key of its caption.
    columns : tuple of Column
    rows : tuple of tuples
        In the order of the columns.
    about : tuple
        One entry per row, or none where no row reveals anybody.
    fields : mapping
        What is filled in the caption.
    most : int or None
        How many rows are shown to people; JSON has all.
    implied : set of int
        Rows that people are not shown, since they follow from others or say nothing; JSON has them.
    totals : tuple of tuples of str
        What rows add up to, where that is known: those that agree in the columns of an entry. A row that is hidden
        alone would be the total less the others.
    """

    key: str
    columns: tuple[Column, ...]
    rows: tuple[Sequence[Any], ...]
    about: tuple[tuple[About, ...], ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None
    implied: frozenset[int] = frozenset()
    totals: tuple[tuple[str, ...], ...] = ()

    @property
    def shown(self) -> list[Sequence[Any]]:
        """The rows that people are shown, of which ``more`` are left out."""
        return [row for at, row in enumerate(self.rows) if at not in self.implied][: self.most]

    @property
    def visible(self) -> list[tuple[int, Column]]:
        """The columns that people are shown, with their places."""
        return [(at, column) for at, column in enumerate(self.columns) if not column.data]

    @property
    def more(self) -> int:
        """How many rows are left out for their number."""
        return len(self.rows) - len(self.implied) - len(self.shown)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows, each by the names of the columns."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def values(self, name: str) -> list[Any]:
        """Return one column."""
        at = [column.name for column in self.columns].index(name)
        return [row[at] for row in self.rows]

    def kept(self, rows: Iterable[int]) -> Table:
        """Return the same table with these rows alone."""
        chosen = list(rows)
        about = tuple(self.about[at] for at in chosen) if self.about else ()
        implied = frozenset(place for place, at in enumerate(chosen) if at in self.implied)
        return replace(self, rows=tuple(self.rows[at] for at in chosen), about=about, implied=implied)

    @classmethod
    def of(
        cls,
        key: str,
        frame: Any,
        kinds: Mapping[str, Kind],
        *,
        about: Iterable[tuple[About, ...]] = (),
        detail: Iterable[str] = (),
        data: Iterable[str] = (),
        fields: Mapping[str, Any] | None = None,
        most: int | None = None,
        implied: Iterable[int] = (),
        totals: tuple[tuple[str, ...], ...] = (),
    ) -> Table:
        """Return a dataframe as a table; columns that ``kinds`` does not name are the user's own."""
        hidden, unseen = set(detail), set(data)
        columns = tuple(
            Column(name, kinds.get(name, "text"), name not in kinds, name in hidden, name in unseen)
            for name in map(str, frame.columns)
        )
        rows = tuple(tuple(row) for row in frame.itertuples(index=False, name=None))
        return cls(key, columns, rows, tuple(about), fields or {}, most, frozenset(implied), totals)


@dataclass(frozen=True)
class Line:
    """A value that a chart marks on an axis: a bound, a required rate, the four-fifths line.

    ``key`` is that of its name in the catalogue, in which ``value`` is filled in. It is drawn in one panel, or in all.
    Of curves, ``shade`` says on which side of it nothing is feasible.
    """

    key: str
    value: float
    fields: Mapping[str, Any] = field(default_factory=dict)
    axis: Literal["x", "y"] = "x"
    panel: Any = None
    shade: Literal["below", "above"] | None = None


@dataclass(frozen=True)
class Point:
    """A place that a chart of curves marks: this mapping. ``key`` is that of its name in the catalogue."""

    key: str
    x: float
    y: float
    fields: Mapping[str, Any] = field(default_factory=dict)
    panel: Any = None


@dataclass(frozen=True, eq=False)
class Chart:
    """A table with a way to draw it.

    The catalogue has its title under ``key``, and the titles of its axes under ``key.x`` and ``key.y`` (of a grid, of
    the columns and of the rows; of curves with several ``y``, under ``key.`` and the column); else a column's heading
    is the title.

    Attributes
    ----------
    key : str
        The key of its title.
    mark : str
        How it is drawn.
    table : Table
        What is drawn.
    label : tuple of str
        The columns that name a mark: a row of dots or bars, a curve, a row of the grid.
    x : tuple of str
        The columns along the axis: before and after of dots, the length of bars, the abscissa of curves (texts are
        batches in their order), a column of the grid.
    y : tuple of str
        The columns of the other axis: the heights of curves, one panel each; the shade of a grid.
    low, high : str, optional
        The columns of an interval around the last of ``x``, or around the height of curves.
    tone : str, optional
        The column that says whether a mark is ``better``, ``worse`` or neither for people.
    panel : str, optional
        The column by which rows are drawn apart, each with a heading.
    inner : str, optional
        The column that names a part of the bar above it; without a value a row is no part.
    lines : tuple of Line
        What is marked on the axes.
    points : tuple of Point
        What is marked among curves.
    band : tuple of two numbers or columns, optional
        Where values must lie: everywhere, or for each row.
    own_scale : bool
        Whether the panels of curves have scales of their own upwards.
    notes : tuple of Note
        What has to be said with the picture: who is left out.
    fields : mapping
        What is filled in the titles; ``title`` is one in place of the catalogue's.
    """

    key: str
    mark: Mark
    table: Table
    label: tuple[str, ...]
    x: tuple[str, ...]
    y: tuple[str, ...] = ()
    low: str | None = None
    high: str | None = None
    tone: str | None = None
    panel: str | None = None
    inner: str | None = None
    lines: tuple[Line, ...] = ()
    points: tuple[Point, ...] = ()
    band: tuple[float, float] | tuple[str, str] | None = None
    own_scale: bool = False
    notes: tuple[Note, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fact:
    """One value under its name: what was asked, a status, an objective. It may be a note, or a tuple of notes."""

    key: str
    value: Any
    kind: Kind = "text"
    detail: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """What is true, under one heading: facts, then charts, tables and notes, and ``parts`` with headings of their own.

    ``fields`` are filled in the heading.
    """

    key: str
    facts: tuple[Fact, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Section, ...] = ()
    form: Form = "open"

    @property
    def shown(self) -> tuple[Fact, ...]:
        """The facts that people are shown; JSON has all."""
        return tuple(fact for fact in self.facts if not fact.detail)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        own = self.shown or self.charts or self.notes or any(table.shown for table in self.tables)
        return not own and all(part.empty for part in self.parts)

    def value(self, key: str) -> Any:
        """Return a fact."""
        return next(fact.value for fact in self.facts if fact.key == key)

    def table(self, key: str) -> Table:
        """Return a table, or that of a chart."""
        every = (*self.tables, *(chart.table for chart in self.charts))
        return next(table for table in every if table.key == key)

    def part(self, key: str) -> Section:
        """Return a part."""
        return next(part for part in self.parts if part.key == key)


def notes_of(sections: Iterable[Section], *keys: str) -> tuple[Note, ...]:
    """Return the notes of the sections with these keys, or of all."""
    return tuple(note for section in sections if not keys or section.key in keys for note in section.notes)
