"""Train mode and apply mode on the rows of a table (figure 1): find each row's source, draw its target, write it.

One value says what a mode reads, what it writes and which row of the kernel each source has; another how draws are
made. Frames, streams of batches and estimators all use these. Knows nothing of problems or of how a mapping was found.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand import check, tables
from evenhand.arrays import Cells, Flags, positions
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, Variable
from evenhand.data.levels import UNSEEN as NO_LEVEL
from evenhand.errors import DataError, Option, SpecError, warn
from evenhand.kernel import Kernel, look_up
from evenhand.kernel.draws import balanced_draws, keyed_draws, seeded_draws
from evenhand.resources import each_of, in_blocks
from evenhand.tables import FEW_ROWS, Coded, Encoded, Lookup, Reader, Record, Restore, Restoring, Table

Mode = Literal["release", "apply"]
Unseen = Literal["keep", "error"]
Missing = Literal["level", "error"]
Draw = Literal["independent", "balanced"]
Levels = Callable[[str], Cells]
"""The level of each kind of rows in a column."""

Draws = Callable[[slice], Cells]
"""The draws of a block of rows: what is never held for all rows at once need not be."""


def domain_with(domain: Domain, missing: Missing | None) -> Domain:
    """Return a domain that allows or refuses missing values for which it has no level; None leaves it as it is."""
    if missing is None:
        return domain
    check.one_of("missing", missing, get_args(Missing))
    return domain.allowing_missing(missing == "level")


LARGEST_INDEX = 1 << 22
"""Of more sources that could be, those that are known are searched for instead."""

LARGEST_SMALL = (1 << 31) - 1
"""So many kinds are numbered in 32 bits."""

FEW_KINDS = 1 << 12
"""So many kinds of rows are told apart whatever the size of a table; more only where a table has many rows for each."""


@dataclass(frozen=True)
class How:
    """How results are drawn and written: the options that release and apply share."""

    seed: int
    key: str | None = None
    draw: Draw = "independent"
    unseen: Unseen = "keep"
    restore: Restoring = Restoring.SAMPLE

    def __post_init__(self) -> None:
        check.one_of("draw", self.draw, get_args(Draw))
        check.one_of("unseen", self.unseen, get_args(Unseen))
        check.one_of("restore", self.restore, get_args(Restore))
        object.__setattr__(self, "restore", Restoring(self.restore))
        if self.key is not None and not isinstance(self.key, str):
            raise check.refused("key", "the name of a column", self.key)

    @property
    def balanced(self) -> bool:
        """Whether the rows of a source are drawn together."""
        return self.draw == "balanced"

    @classmethod
    def of(cls, seed: int | None, **options: Any) -> How:
        """Take a seed as users give it: None is fresh randomness."""
        if seed is None:
            return cls(secrets.randbits(128), **options)
        return cls(check.seed("seed", seed, or_none=True), **options)


@dataclass(frozen=True, eq=False)
class Transformer:
    """One mode of a mapping: train mode reads (d, x, y) and writes (x̂, ŷ), apply mode reads (d, x) and writes x̂.

    Attributes
    ----------
    name : {"release", "apply"}
        Its name, which draws depend on.
    domain : Domain
        The axes.
    reads : tuple of Axis
        The axes whose columns are read.
    kernel : Kernel
        Rows of targets: cells of X × Y in train mode, of X in apply mode.
    sources, rows : array
        The known sources as numbers over the axes that are read, ascending, and the kernel's row of each.
    fallback : Cells or None
        Where D is suppressed: the x whose own row draws ŷ for people of an unknown source, ascending; their rows are
        the kernel's last.
    """

    name: Mode
    domain: Domain
    reads: tuple[Axis, ...]
    kernel: Kernel
    sources: Cells
    rows: Cells
    fallback: Cells | None = None

    @property
    def writes_outcome(self) -> bool:
        """Whether targets have an outcome."""
        return self.name == "release"

    @property
    def writes(self) -> tuple[Axis, ...]:
        """The axes whose columns may change."""
        return (self.domain.x, self.domain.y) if self.writes_outcome else (self.domain.x,)

    @property
    def read(self) -> tuple[Variable, ...]:
        """The variables whose columns are read."""
        return tuple(variable for axis in self.reads for variable in axis.variables)

    @property
    def written(self) -> tuple[Variable, ...]:
        """The variables whose columns may change."""
        return tuple(variable for axis in self.writes for variable in axis.variables)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(variable.name for variable in self.read)

    def with_missing(self, missing: Missing | None) -> Transformer:
        """Return the mode that keeps or refuses rows with a missing value for which there is no level.

        ``"level"`` takes such a value for a level that nobody had, so that its row is of an unseen kind; ``"error"``
        refuses it; None does what the mapping's problem says.
        """
        if missing is None:
            return self
        check.one_of("missing", missing, get_args(Missing))
        return self._allowing_missing if missing == "level" else self._refusing_missing

    # Kept, so that what either of them looks up is prepared once.
    @cached_property
    def _allowing_missing(self) -> Transformer:
        return self._over(domain_with(self.domain, "level"))

    @cached_property
    def _refusing_missing(self) -> Transformer:
        return self._over(domain_with(self.domain, "error"))

    def _over(self, domain: Domain) -> Transformer:
        new = {self.domain.d: domain.d, self.domain.x: domain.x, self.domain.y: domain.y}
        return replace(self, domain=domain, reads=tuple(new[axis] for axis in self.reads))

    @cached_property
    def _places(self) -> Cells | None:
        """For every number over the axes that are read, its place among the sources; None where they are too many."""
        size = math.prod(axis.size for axis in self.reads)
        if size > LARGEST_INDEX:
            return None
        places = np.full(size, -1, dtype=np.int64)
        places[self.sources] = np.arange(len(self.sources))
        return places

    def place(self, number: Cells) -> Cells:
        """Return the place of each number among the sources, -1 where it is none."""
        found = np.empty(len(number), dtype=np.int64)

        def look(block: slice) -> None:
            asked = number[block]
            if self._places is None:
                there, at = positions(self.sources, asked)
                found[block] = np.where(there, at, -1)
            else:
                found[block] = np.where(asked < 0, -1, self._places[np.maximum(asked, 0)])

        in_blocks(len(number), look)
        return found

    def join(self, *cells: Cells) -> Cells:
        """Return the target that has the given cell on each axis that is written."""
        return self.domain.xy(*cells) if self.writes_outcome else cells[0]

    @cached_property
    def targets(self) -> tuple[Cells, ...]:
        """The targets of the kernel: for each axis that is written, the cell of every entry."""
        targets = self.kernel.targets
        return self.domain.split_xy(targets) if self.writes_outcome else (targets,)

    @cached_property
    def lookup(self) -> Lookup:
        """The mode for one person at a time."""
        outcomes = self.domain.y.size if self.writes_outcome else 1
        return Lookup(self.name, self.read, self.written, self.kernel, self.sources, self.rows, self.fallback, outcomes)


def train_mode(counts: Counts, kernel: Kernel, *, blind: bool = False, fallback: Cells | None = None) -> Transformer:
    """Return train mode on the sources of counts; a blind mapping has one row for everybody with the same (x, y)."""
    domain = counts.domain
    if blind:
        rows = np.unique(counts.records.of_source, return_index=True)[1]
        return Transformer("release", domain, (domain.x, domain.y), kernel, counts.records.cells, rows, fallback)
    reads = (domain.d, domain.x, domain.y)
    return Transformer("release", domain, reads, kernel, counts.sources, np.arange(len(counts)), fallback)


def apply_mode(counts: Counts, kernel: Kernel, *, blind: bool = False) -> Transformer:
    """Return apply mode on what is known before the outcome; a blind mapping needs no group."""
    domain = counts.domain
    known = counts.features if blind else counts.people_before_outcome
    reads = (domain.x,) if blind else (domain.d, domain.x)
    return Transformer("apply", domain, reads, kernel, known.cells, np.arange(len(known.cells)))


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of rows in one mode: rows that agree in every column that is read are of one kind.

    Attributes
    ----------
    cells : mapping of Axis to array
        The cell of each kind on each axis that is read; negative where a value is not a level.
    rows : array
        The kernel's row of each; any row where it has none.
    known, sourced : array of bool
        Whether it has a row of the kernel, and whether it is one of the sources.
    """

    cells: Mapping[Axis, Cells]
    rows: Cells
    known: Flags
    sourced: Flags


@dataclass(frozen=True, eq=False)
class Located:
    """The rows of a table in one mode.

    Attributes
    ----------
    mode, kinds : Transformer, Kinds
        The mode, and the kinds of rows that there can be.
    digits : sequence of (array, int)
        By which each row's kind is numbered: codes, and how many there are, a null among them.
    encoded : mapping of str to Encoded
        The columns that may be written, with their values numbered.
    """

    mode: Transformer
    kinds: Kinds
    digits: Sequence[tuple[NDArray[Any], int]]
    encoded: Mapping[str, Encoded]

    def kind(self, at: Any = slice(None)) -> Cells:
        """Return the kind of rows."""
        (codes, number), *others = self.digits
        small = number * math.prod(number for _, number in others) <= LARGEST_SMALL
        kind = codes[at].astype(np.int32 if small else np.int64)
        first = -tables.NULL
        for codes, number in others:
            kind *= number
            kind += codes[at]
            first = first * number - tables.NULL
        # A null is one less than the first code, and comes first.
        return np.asarray(kind + kind.dtype.type(first), dtype=np.intp)

    @property
    def rows(self) -> Cells:
        """The kernel's row of each row."""
        return self.kinds.rows[self.kind()]

    @property
    def known(self) -> Flags:
        """Whether each row has a row of the kernel."""
        return self.kinds.known[self.kind()]

    @property
    def sourced(self) -> Flags:
        """Whether each row's source is one of the fitted table."""
        return self.kinds.sourced[self.kind()]

    def own(self, at: Any = slice(None)) -> tuple[Cells, ...]:
        """Return the cells of rows on the axes that are written; negative where a value is not a level."""
        kind = self.kind(at)
        return tuple(self.kinds.cells[axis][kind] for axis in self.mode.writes)


@dataclass(frozen=True)
class Tally:
    """What was done with a table.

    Attributes
    ----------
    rows : int
        How many it had.
    changed : int
        How many have at least one new value.
    unseen : int
        How many had a source that the fitted table did not have.
    first_unseen : int or None
        The first of them, counting from 1.
    example : str or None
        The first new value, where there is one.
    missing : int
        How many of the unseen rows have a missing value that has no level.
    """

    rows: int = 0
    changed: int = 0
    unseen: int = 0
    first_unseen: int | None = None
    example: str | None = None
    missing: int = 0

    def __add__(self, more: Tally) -> Tally:
        first, example = self.first_unseen, self.example
        if first is None and more.first_unseen is not None:
            first, example = self.rows + more.first_unseen, more.example
        rows, changed, unseen, missing = (
            getattr(self, each) + getattr(more, each) for each in ("rows", "changed", "unseen", "missing")
        )
        return Tally(rows, changed, unseen, first, example, missing)


@dataclass(frozen=True, eq=False)
class Transformed:
    """A table after a mode was used on it."""

    table: Table
    tally: Tally = field(default_factory=Tally)


def transform(mode: Transformer, table: Table, how: How) -> Transformed:
    """Draw and write a target for every row of a table, and warn of sources that are unknown."""
    done = transform_piece(mode, table, how)
    report_unseen(mode, done.tally, how.unseen)
    return done


def transform_piece(
    mode: Transformer, table: Table, how: How, drawn: Draws | None = None, *, first: int = 0, text: bool = False
) -> Transformed:
    """Transform rows that may be a part of a table, with draws of their own where these are made for all rows at once.

    ``first`` is the position of the first row. Sources that are unknown are refused if so asked; who has every part
    warns of them.
    """
    few = len(table) <= FEW_ROWS and drawn is None and not (text or how.balanced)
    moves = moves_of_few(mode, table, how, first=first) if few else None
    if moves is None:
        located = locate(mode, table, text=text, first=first)
        moves = moves_of(mode, len(table), located, drawn or draws(mode, table, located, how, first=first))
    done = write(mode, table, moves, how, first=first, text=text)
    if how.unseen == "error":
        report_unseen(mode, done.tally, "error")
    return done


def locate(mode: Transformer, table: Table, *, text: bool = False, first: int = 0) -> Located:
    """Find the source of every row; ``first`` is the position of the first, where a table comes in pieces."""

    def read(variable: Variable) -> Coded:
        return tables.levels_of(variable, tables.column(table, variable.name), text=text, first=first)

    # Threads are not worth their while for a few rows.
    coded = each_of(mode.read, read) if len(table) > FEW_ROWS else list(map(read, mode.read))
    columns = dict(zip(mode.columns, coded, strict=True))
    written = (columns[variable.name].encoded for variable in mode.written)
    encoded = {each.series.name: each for each in written if each is not None}
    shape = [len(column.level) for column in coded]
    if math.prod(shape) <= max(len(table) // 4, FEW_KINDS):
        kind, levels = np.arange(math.prod(shape)), {}
        for name, column in reversed(columns.items()):
            kind, code = np.divmod(kind, len(column.level))
            # A null comes first.
            levels[name] = np.roll(column.level, 1)[code]
        digits = [(column.codes, number) for column, number in zip(coded, shape, strict=True)]
        return Located(mode, _kinds(mode, levels.__getitem__), digits, encoded)
    # So many kinds that every row may as well be one by itself.
    kinds = _kinds(mode, lambda name: columns[name].level[columns[name].codes])
    return Located(mode, kinds, [(np.arange(len(table)) + tables.NULL, len(table))], encoded)


def _kinds(mode: Transformer, levels: Levels) -> Kinds:
    """Find the cells and the row of the kernel of every kind."""
    cells = {axis: _cells(axis, levels) for axis in mode.reads}
    number: Cells = np.zeros(1, dtype=np.int64)
    for axis in mode.reads:
        number = number * axis.size + cells[axis]
    complete = np.all([own != NO_LEVEL for own in cells.values()], axis=0)
    place = mode.place(np.where(complete, number, NO_LEVEL))
    sourced = place >= 0
    rows = np.where(sourced, mode.rows[place], 0)
    if mode.fallback is None or sourced.all():
        return Kinds(cells, rows, sourced, sourced)
    # An unknown source, whose features and outcome are known, has the row that draws ŷ given x.
    x, y = (cells[axis] for axis in mode.writes)
    there, at = positions(mode.fallback, x)
    drawn = ~sourced & there & (x != NO_LEVEL) & (y != NO_LEVEL)
    last = len(mode.kernel) - len(mode.fallback)
    return Kinds(cells, np.where(drawn, last + at, rows), sourced | drawn, sourced)


def _cells(axis: Axis, levels: Levels) -> Cells:
    """Return the cell of each kind on an axis, NO_LEVEL where a value is not a level."""
    cells: Cells = np.zeros(1, dtype=np.int64)
    new: Flags = np.zeros(1, dtype=bool)
    for variable in axis.variables:
        level = levels(variable.name)
        cells = cells * len(variable) + level
        new = new | (level == NO_LEVEL)
    return np.where(new, NO_LEVEL, cells)


def draws(mode: Transformer, table: Table, located: Located, how: How, *, first: int = 0) -> Draws:
    """Return one draw per row; ``first`` is the position of the first row, where a table comes in pieces."""
    if how.balanced:
        single = single_draws(mode, table, how, first=first)
        return balanced_draws(strata(mode, located), single, how.seed, mode.name).__getitem__
    if how.key is not None:
        return single_draws(mode, table, how, first=first).__getitem__
    return lambda block: seeded_draws(how.seed, block.stop - block.start, mode.name, first=first + block.start)


def strata(mode: Transformer, located: Located) -> Cells:
    """Return the source that each row is balanced within; rows that stay as they are are no part of any."""
    return np.where(located.known, located.rows, len(mode.kernel))


def single_draws(mode: Transformer, table: Table, how: How, *, first: int = 0, purpose: str = "") -> Cells:
    """Return each row's own draw, by position or by key."""
    if how.key is None:
        return seeded_draws(how.seed, len(table), mode.name, first=first, purpose=purpose)
    return keyed_draws(tables.key_texts(table, how.key, first=first), how.seed, mode.name, purpose=purpose)


@dataclass(frozen=True, eq=False)
class Moves:
    """Which rows of a table change.

    Attributes
    ----------
    at : array
        Rows by position, ascending.
    own : tuple of array
        For each axis that is written, the cell that each of them has.
    entry : array
        The entry of the kernel that each of them hits.
    unknown : array
        The rows whose source is not one of the fitted table.
    encoded : mapping of str to Encoded
        Columns that may be written, where their values are numbered already.
    keys : sequence of str, optional
        The key of every row, where it is known.
    example : str, optional
        The first new value, where it is known already.
    missing : int, optional
        How many rows have a missing value that has no level, where that is known already.
    """

    at: Cells
    own: tuple[Cells, ...]
    entry: Cells
    unknown: Cells
    encoded: Mapping[str, Encoded] = field(default_factory=dict)
    keys: Sequence[str] | None = None
    example: str | None = None
    missing: int | None = None


def moves_of(mode: Transformer, size: int, located: Located, drawn: Draws) -> Moves:
    """Pick the target of every draw."""
    kernel, kinds = mode.kernel, located.kinds
    stays = mode.join(*(kinds.cells[axis] for axis in mode.writes))

    def pick(block: slice) -> tuple[Cells, Cells, Cells]:
        kind = located.kind(block)
        entry = kernel.hit(look_up(kinds.rows, kind), drawn(block))
        moved = look_up(kernel.targets, entry) != look_up(stays, kind)
        unknown = np.flatnonzero(look_up(~kinds.sourced, kind))
        moved[unknown] &= kinds.known[kind[unknown]]
        here = np.flatnonzero(moved)
        return block.start + here, entry[here], block.start + unknown

    at, entry, unknown = (np.concatenate(parts) for parts in zip(*in_blocks(size, pick), strict=True))
    return Moves(at, located.own(at), entry, unknown, located.encoded)


def moves_of_few(mode: Transformer, table: Table, how: How, *, first: int = 0) -> Moves | None:
    """Pick the targets of a few rows, one by one; None where something about them is not plain.

    Whoever reads each column as a whole then finds what it is, and says where it is wrong.
    """
    lookup, keyed = mode.lookup, () if how.key is None else (how.key,)
    columns = tables.listed(table, [*mode.columns, *keyed])
    if columns is None or not all(type(value) in tables.PLAIN for values in columns.values() for value in values):
        return None
    try:
        levels = [_levels_of_few(reader, table, columns[reader.variable.name]) for reader in lookup.readers]
        keys = [tables.key_text(name, type(value), value) for name in keyed for value in columns[name]]
        draw = keyed_draws(keys, how.seed, mode.name) if keyed else single_draws(mode, table, how, first=first)
    except (DataError, UnicodeEncodeError):
        return None
    moved, unknown = [], []
    for at, (own, drawn) in enumerate(zip(zip(*levels, strict=True), draw.tolist(), strict=True)):
        row, sourced = lookup.row(own)
        if not sourced:
            unknown.append(at)
        if row is not None:
            cell, entry = lookup.cell(own, lookup.first_written), mode.kernel.hit_one(row, drawn)
            if mode.kernel.targets[entry] != cell:
                moved.append((at, cell, entry))
    rows, own_cells, entries = np.array(moved, dtype=np.int64).reshape(-1, 3).T
    cells = mode.domain.split_xy(own_cells) if mode.writes_outcome else (own_cells,)
    moves = Moves(rows, cells, entries, np.array(unknown, dtype=np.int64), keys=keys if keyed else None)
    return replace(moves, **_new_among_few(lookup, columns, levels)) if unknown else moves


def _new_among_few(lookup: Lookup, columns: Mapping[str, Sequence[Any]], levels: Sequence[list[int]]) -> dict[str, Any]:
    """Return the first new value of a few rows, and how many of them have a missing value that has no level."""
    example, lacking = None, set()
    for reader, codes in zip(lookup.readers, levels, strict=True):
        name = reader.variable.name
        for at, code in enumerate(codes):
            if code == NO_LEVEL:
                value = tables.plain_value(name, columns[name][at])
                missing = reader.is_missing(value)
                lacking |= {at} if missing else set()
                new = "a missing value" if missing else f"the new value {value!r}"
                example = example or f"column {name!r} has {new}"
    return {"example": example, "missing": len(lacking)}


def _levels_of_few(reader: Reader, table: Table, given: Sequence[Any]) -> list[int]:
    """Return the levels of a column of few rows."""
    name = reader.variable.name
    values = [tables.plain_value(name, value) for value in given]
    if any(map(reader.is_missing, values)):
        # Categories that nobody here has tell what kind of values there could be.
        known = (value for value in tables.categories(table, name) if not reader.is_missing(value))
        tables.refuse_other_kind(reader.variable, list(known))
    return [reader.level(value) for value in values]


def write(
    mode: Transformer, table: Table, moves: Moves, how: How, *, first: int = 0, text: bool = False
) -> Transformed:
    """Write the target of every row that changes."""
    at, entry = moves.at, moves.entry

    def lots(column: str, chosen: Cells) -> Cells:
        # Keys are hashed only where one is needed.
        if moves.keys is not None:
            keys = [moves.keys[row] for row in chosen.tolist()]
            return keyed_draws(keys, how.seed, mode.name, purpose=column)
        if how.key is None:
            return single_draws(mode, table, how, first=first, purpose=column)[chosen]
        return single_draws(mode, tables.take(table.select(how.key), chosen), how, purpose=column)

    new = table
    for axis, own, targets in zip(mode.writes, moves.own, mode.targets, strict=True):
        new = tables.replace(
            new, axis, at, own, targets[entry], lots=lots, restore=how.restore, text=text, encoded=moves.encoded
        )
    if moves.missing is None:
        return Transformed(new, _tally(mode, table, len(at), moves.unknown, text))
    unseen, missing = len(moves.unknown), moves.missing
    return Transformed(new, Tally(len(table), len(at), unseen, int(moves.unknown[0]) + 1, moves.example, missing))


def _tally(mode: Transformer, table: Table, changed: int, unknown: Cells, text: bool) -> Tally:
    if not len(unknown):
        return Tally(len(table), changed)
    return Tally(
        rows=len(table),
        changed=changed,
        unseen=len(unknown),
        first_unseen=int(unknown[0]) + 1,
        example=tables.first_unseen(mode.reads, table, text=text),
        missing=int(tables.lacking(mode.reads, table, text=text).sum()),
    )


def transform_person(mode: Transformer, record: Record, how: How, *, fresh: bool = False) -> dict[str, Any]:
    """Draw and write a target for one person; warn of one whose source is unknown, or refuse them.

    ``fresh`` asks for draws that nobody can repeat: these need not be made from a seed.
    """
    lookup = mode.lookup
    values = lookup.values(record)
    levels = lookup.levels(values)
    draw = lookup.draw(record, how.key, None if fresh else how.seed)
    row, sourced = lookup.row(levels)
    if not sourced:
        _report_person(mode, values, levels, how.unseen)
    return lookup.transformed(record, values, levels, row, draw, how.restore)


def _report_person(mode: Transformer, values: Sequence[Any], levels: Sequence[int], unseen: Unseen) -> None:
    """Warn of a person whose source is not known, or refuse them."""
    message = f"this person has a combination of {' and '.join(_names(mode))} that was not in the fitted table"
    if NO_LEVEL in levels:
        place = levels.index(NO_LEVEL)
        # A warning does not tell the value: a service may meet thousands of them, and its log is no place for any.
        new = f"the new value {check.shown(values[place])}" if unseen == "error" else "a new value"
        missing = mode.lookup.readers[place].is_missing(values[place])
        message += f" (column {mode.columns[place]!r} has {'a missing value' if missing else new})"
    then = "left unchanged" if mode.fallback is None else "given ŷ from p(ŷ|x), with the features as they are"
    if unseen == "error":
        raise DataError(f"{message}; with ", Option("unseen", "keep"), f" they are {then}")
    warn(f"{message}; they are {then}")


def report_unseen(mode: Transformer, tally: Tally, unseen: Unseen) -> None:
    """Warn once of rows whose source is not known, or refuse them."""
    if not tally.unseen:
        return
    what = " and ".join(_names(mode))
    message = (
        f"{tally.unseen} of {tally.rows} rows have a combination of {what} that was not in the fitted table, the first "
        f"in row {tally.first_unseen}"
    )
    if tally.example is not None:
        message += f" ({tally.example})"
    if tally.missing:
        message += f", {tally.missing} of them for a missing value that has no level in the mapping"
    then = "are left unchanged" if mode.fallback is None else "keep their features and get ŷ from p(ŷ|x)"
    if unseen == "error":
        raise DataError(f"{message}; with ", Option("unseen", "keep"), f" they {then}")
    warn(f"{message}; they {then}")


def _names(mode: Transformer) -> list[str]:
    words = {mode.domain.d: "protected columns", mode.domain.x: "features", mode.domain.y: "outcome"}
    names = [words[axis] for axis in mode.reads]
    return [", ".join(names[:-1]), names[-1]] if len(names) > 1 else names


def unfold(mode: Transformer, table: Table, how: How) -> tuple[Table, Cells, NDArray[np.float64]]:
    """Return every possible result of each row, the position of the row it belongs to, and its probability."""
    if how.restore.draws:
        other = (Option("restore", "midpoint"), " or ", Option("restore", "label"))
        raise SpecError("without a lottery no value is sampled; write ", *other)
    located = locate(mode, table)
    asked, entry = mode.kernel.entries(located.rows)
    known = located.known[asked]
    # A row that is not known stays as it is: one entry of weight one.
    first = np.concatenate([[True], np.diff(asked) != 0]) if len(asked) else np.zeros(0, bool)
    kept = known | first
    asked, entry, known = asked[kept], entry[kept], known[kept]
    share = np.where(known, mode.kernel.probability[entry], 1.0)
    at = np.flatnonzero(known)
    wide = tables.take(table, asked)
    for axis, own, targets in zip(mode.writes, located.own(asked[at]), mode.targets, strict=True):
        wide = tables.replace(wide, axis, at, own, targets[entry[at]], restore=how.restore)
    report_unseen(mode, _tally(mode, table, 0, np.flatnonzero(~located.sourced), False), how.unseen)
    return wide, asked, share
