"""From file to file in one pass: rows are read in batches, something is made of each, and that is written.

What is made of rows is a function: train mode and apply mode (one result a row), every possible result with its weight,
or the people of a table of counts shared out. What is held at once is a few batches. Balanced draws need every
stratum's number first, so the file is read twice. The result is written under another name and renamed when it is
complete.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.data.weighting import Weighting
from evenhand.engines.changes import check_changes, listing
from evenhand.engines.delimited import See
from evenhand.engines.duck import in_words_of
from evenhand.engines.files import PARQUET, Batch, Columns, Reader, Source, is_parquet, reading, refuse_alike
from evenhand.engines.marking import Marking
from evenhand.engines.parquet import Straight
from evenhand.engines.typed import read_as
from evenhand.engines.weights import Weights
from evenhand.engines.writing import Hashed, Layout, sink_of
from evenhand.errors import DataError, Option, SpecError, StorageError
from evenhand.files import Checksum, replacing, together
from evenhand.render.finding import Finding
from evenhand.render.section import Section
from evenhand.resources import Progress, current, silent, words
from evenhand.spec import CsvFormat
from evenhand.tables import refuse_taken, weights_column
from evenhand.tables.splitting import split
from evenhand.tables.transforming import (
    Balancing,
    How,
    Located,
    Tally,
    Together,
    Transformed,
    Transformer,
    locate,
    report_balance,
    report_unlike,
    report_unseen,
    transform_piece,
)
from evenhand.tables.unfolding import (
    number_of_results,
    refuse_sampling,
    report_weightless,
    unfold_piece,
    weight_by_group,
)
from evenhand.text import counted

UNMARKED = Marking()

ENDINGS = (".csv", ".tsv", ".data", ".txt", *PARQUET)

RESULTS = 1 << 17
"""Results that are made at once, unless a row has more."""

HELD_SHARE = 1 / 4
"""How much of the memory a table of counts may take, which is held as a whole."""


@dataclass(frozen=True)
class Read:
    """The files that were read, and their sizes and times then, by which a change is noticed; and their columns."""

    paths: tuple[str, ...]
    state: tuple[tuple[int, int], ...]
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source) -> Read:
        """Return what is known of files that were just read."""
        return cls(source.paths, source.state, tuple(source.columns))


@dataclass(frozen=True, repr=False)
class Written(Tally, Finding):
    """What was done with a file, from what, where the result is, and with which options."""

    path: str = ""
    read: Read | None = None
    changes: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    checksums: Mapping[str, Checksum] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()

    def __repr__(self) -> str:
        return f"<Written: {counted(self.rows, 'row')} into {self.path!r}, {self.changed:,} changed>"


@dataclass(frozen=True, repr=False)
class Expanded(Finding):
    """What was done with a file, and where the result is.

    Attributes
    ----------
    rows, results : int
        How many rows were read, and how many the result has.
    weight : float
        What the weights of the result sum to: the number of rows that were read, or the sum of their weights.
    unseen, typical, missing : int
        How many rows had a source that the fitted table did not have, how many of them have the results of a typical
        row or, where D is suppressed, of p(ŷ|x), and how many have a missing value that has no level.
    path : str
        The result.
    read : Read
        The files that were read.
    options : mapping
        With which options.
    checksums : mapping
        Those of files that were hashed on the way.
    """

    rows: int
    results: int
    weight: float
    unseen: int
    typical: int
    missing: int
    path: str
    read: Read
    options: Mapping[str, Any] = field(default_factory=dict)
    checksums: Mapping[str, Checksum] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()

    def __repr__(self) -> str:
        return f"<Expanded: {counted(self.rows, 'row')} into {self.path!r}, {counted(self.results, 'row')}>"


class Made(NamedTuple):
    """What was made of some rows, and the weight of each result where they have weights."""

    batch: Batch
    done: Transformed
    weight: Numbers | None = None


Making = Callable[[Batch], Iterator[Made]]
"""Makes something of the rows of a batch."""


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass from file to file: what is read and how it is called, what is written where, and who is told.

    ``straight`` is there where Arrow reads and writes; what is ``gathered`` is read as a whole. ``hashes`` are those of
    files that were read or written to their end, where a manifest asks for them.
    """

    layout: Layout
    columns: Columns
    target: str
    straight: Straight | None = None
    gathered: bool = False
    hashes: dict[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        return self.layout.source

    def run(self, name: str, begin: Callable[[Reader], Making], temporary: str, progress: Progress) -> Tally:
        """Read, make and write everything; return what was done."""
        before = self.source.state
        with reading(self.source, self.target, progress) as reader:
            tally = reader.run(lambda: self._written(name, begin, reader, temporary))
        if self.source.state != before:
            raise DataError(f"{self.source.name!r} was changed while it was read; nothing was written")
        self.layout.marking.refuse_formulas(temporary, self.layout.written, progress)
        return tally

    def _written(self, name: str, begin: Callable[[Reader], Making], reader: Reader, temporary: str) -> Tally:
        try:
            with Hashed(temporary, wanted=self.hashed) as file:
                sink = sink_of(self.layout, reader, self.straight, file, self.target)
                making, tally = begin(reader), None
                for batch in self.batches(reader, name):
                    for made in making(batch):
                        tally = made.done.tally if tally is None else tally + made.done.tally
                        sink.write(*made)
                sink.finish()
        except OSError as error:
            if error.errno is None:
                # One of DuckDB's, through Arrow.
                raise
            raise StorageError(f"cannot write {self.target!r}: {in_words_of(error)}") from None
        if file.sha256 is not None:
            self.hashes[self.target] = Checksum.of(temporary, file.sha256)
        tally = tally or Tally()
        reader.progress(f"{name}: {tally.rows:,} rows", 1.0)
        return tally

    @property
    def hashed(self) -> bool:
        return self.layout.marking.options["manifest"] is not None

    @property
    def checksums(self) -> dict[str, Checksum]:
        """The checksums of files that were hashed on the way."""
        return {
            path: each if isinstance(each, Checksum) else Checksum.of(path, each.hexdigest())
            for path, each in self.hashes.items()
        }

    def _see(self, path: str) -> See:
        """Hash the bytes of a file that is read."""
        digest = self.hashes[path] = hashlib.sha256()
        return lambda content: digest.update(content)

    def batches(self, reader: Reader, what: str, *, whole: bool = True) -> Iterator[Batch]:
        """Read batches; with whole rows, where Arrow writes them."""
        if self.gathered:
            return reader.gathered(self.columns, what)
        if self.straight is None:
            return reader.batches(self.columns, what, see=self._see if self.hashed and whole else None)
        return reader.batches(self.columns, what, whole=whole, straight=self.straight.batches)


def transform_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
    changes: str | os.PathLike[str] | None = None,
    marking: Marking = UNMARKED,
) -> Written:
    """Transform a file into another; nothing appears under the new name until all of it is there.

    ``changes`` is where one row goes for every value that changes, ``marking`` what the result says of itself.
    """
    if how.balanced and how.key is not None:
        raise SpecError(
            "balanced draws by key need all rows in memory: read the file into a dataframe, or leave out ",
            Option("key"),
            " or ",
            Option("draw"),
        )
    key = [] if how.key is None else [how.key]
    work = _pass(mode, path, to, how, format, key, marking)
    listed = None if changes is None else check_changes(changes, work.target, work.source.paths)
    found: list[Together] = []
    with together(), replacing(work.target) as temporary, listing(listed, how.key) as list_:

        def begin(reader: Reader) -> Making:
            dealt = _dealt(work, reader, found) if how.balanced else None

            def make(batch: Batch) -> Iterator[Made]:
                done = transform_piece(mode, batch.table, how, dealt, first=batch.first)
                if list_ is not None:
                    list_.add(work.layout, batch, done)
                yield Made(batch, done)

            return make

        tally = work.run(mode.name, begin, temporary, progress or silent)
        tally = replace(tally, **(found[0] if found else Together())._asdict())
        report_unseen(mode, tally, how.unseen)
        report_unlike(mode, tally)
    report_balance(mode, tally, how)
    read, sums = Read.of(work.source), work.checksums
    return Written(**vars(tally), path=work.target, read=read, changes=listed, checksums=sums)


def _pass(
    mode: Transformer,
    path: Any,
    to: Any,
    how: How,
    format: CsvFormat | None,
    more: Sequence[str],
    marking: Marking,
    **layout: Any,
) -> Pass:
    """Return the pass from some files to another, of which a mode reads its columns and some more."""
    source, target, written = destined(path, to, format, (*mode.columns, *more))
    made = Layout(mode, how, source, written, marking, **layout)
    if made.weight is not None:
        kept = [name for place in made.places for name in (source.columns[place], source.header[place])]
        refuse_taken("weight_column", made.weight, kept)
    marking.check(source, made.columns[: len(made.columns) - len(marking.names)], levels_of(mode), target)
    if is_parquet(target):
        refuse_alike(source.name, made.columns)
    # Those over which cells were learned may have as many values as there are rows.
    few = [variable.name for variable in mode.read if variable.is_column]
    straight = Straight.of(source, few) if is_parquet(target) else None
    return Pass(made, dict.fromkeys(more) | read_as(mode.read), target, straight)


def _dealt(work: Pass, reader: Reader, found: list[Together]) -> Callable[[Located], Cells]:
    """Count the people of every stratum, and return what draws for them."""
    mode = work.layout.mode
    balancing = Balancing(mode)
    for batch in work.batches(reader, "reading", whole=False):
        balancing.count(balancing.number(locate(mode, batch.table, first=batch.first)))
    balancing.settle()
    found.append(balancing.together())
    dealt = balancing.dealt(work.layout.how.seed)
    return lambda located: dealt.draws(balancing.number(located))


def levels_of(mode: Transformer) -> dict[str, tuple[Any, ...]]:
    """Return the values that a mode knows, by column."""
    return {variable.name: tuple(variable.levels) for variable in mode.read if variable.is_column}


def destined(
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    format: CsvFormat | None,
    columns: Sequence[str],
) -> tuple[Source, str, CsvFormat]:
    """Return the files that are read, where the result goes, and how a CSV result is written.

    Refused are files that lack one of the columns, a result of no known kind, and one that is read itself.
    """
    if to is None:
        raise DataError(f"{os.fspath(path)!r} is a file: say where the result goes with to=, a .csv or .parquet file")
    target = check.path("to", to)
    if not target.lower().endswith(ENDINGS):
        raise DataError(f"the result is written as .csv or .parquet, not as {target!r}")
    # A link is followed, not replaced.
    target = os.path.realpath(target) if os.path.islink(target) else target
    source = Source.of(path, format)
    source.require(columns)
    if any(os.path.exists(target) and os.path.samefile(target, each) for each in source.paths):
        raise DataError(f"{target!r} is a file that is read; give the result another name")
    # A CSV result is written like the file that was read, unless its name says that tabs are wanted.
    written = source.format or format or CsvFormat()
    return source, target, replace(written, delimiter="\t") if target.lower().endswith(".tsv") else written


def expand_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    weighting: Weighting | None = None,
    weight_column: str = "weight",
    format: CsvFormat | None = None,
    progress: Progress | None = None,
    marking: Marking = UNMARKED,
) -> Expanded:
    """Write every possible result of each row with its weight; nothing appears until all of it is there."""
    refuse_sampling(how)
    weights = weights_column(mode.columns, weighting, "a file")
    more = [] if weights is None else [weights]
    work = _pass(mode, path, to, how, format, more, marking, dropped=weights, weight=weight_column)
    found = _Unfolding(mode, how, Weights(work.source, weighting))
    with replacing(work.target) as temporary:
        tally = work.run("expand", lambda reader: found.make, temporary, progress or silent)
        found.finish(tally)
    counted = tally.rows, found.results, found.total, tally.unseen, tally.typical, tally.missing
    return Expanded(*counted, work.target, Read.of(work.source), checksums=work.checksums)


class _Unfolding:
    """Every possible result of rows that come in batches, and what they add up to."""

    def __init__(self, mode: Transformer, how: How, weights: Weights) -> None:
        self.mode, self.how, self.weights = mode, how, weights
        self.results, self.total, self.tally = 0, 0.0, Tally()
        self.by_group: dict[int, float] = {}

    def make(self, batch: Batch) -> Iterator[Made]:
        """Unfold a batch, in pieces of so many results."""
        located, own = locate(self.mode, batch.table, first=batch.first), self.weights.of(batch)
        if self.weights.column is not None:
            for group, more in weight_by_group(self.mode, located, own).items():
                self.by_group[group] = self.by_group.get(group, 0.0) + more
        for rows in _runs(number_of_results(self.mode, located), RESULTS):
            piece = batch.of(rows)
            done, share = unfold_piece(self.mode, piece.table, located.of(rows), self.how)
            assert done.rows is not None
            weight = share * own[rows][done.rows]
            self.results, self.total = self.results + len(weight), self.total + float(weight.sum())
            self.tally = self.tally + done.tally
            if self.how.unseen == "error":
                report_unseen(self.mode, self.tally, "error")
            yield Made(piece, done, weight)

    def finish(self, tally: Tally) -> None:
        """Refuse weights that cannot be counted, and warn of what was met."""
        self.weights.refuse_sum(tally.rows)
        report_unseen(self.mode, tally, self.how.unseen)
        report_unlike(self.mode, tally)
        report_weightless(self.mode, self.by_group)


def _runs(sizes: Cells, most: int) -> list[slice]:
    """Cut rows of given sizes into runs of at most so much together, but of a row at least; no rows are one run."""
    if sizes.sum() <= most:
        return [slice(0, len(sizes))]
    ends, first, found = np.cumsum(sizes), 0, []
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        found.append(slice(first, stop))
        first = stop
    return found


def split_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    weighting: Weighting,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
    changes: str | os.PathLike[str] | None = None,
    marking: Marking = UNMARKED,
) -> Written:
    """Split the people of every row among its results; nothing appears under the new name until all of it is there."""
    if changes is not None:
        raise SpecError(
            Option("changes"),
            " lists the new values of single rows, and a row of a table of counts has several results: compare the two "
            "tables, or release one with a row per person",
        )
    name = str(weights_column(mode.columns, weighting, "a file"))
    work = _pass(mode, path, to, how, format, [name], marking, split=(name,))
    work = replace(work, gathered=True, straight=None)
    _refuse_large(work.source)

    def make(batch: Batch) -> Iterator[Made]:
        yield Made(batch, split(mode, batch.table, how, weighting))

    with replacing(work.target) as temporary:
        tally = work.run(mode.name, lambda reader: make, temporary, progress or silent)
    return Written(**vars(tally), path=work.target, read=Read.of(work.source), checksums=work.checksums)


def _refuse_large(source: Source) -> None:
    """Refuse a table of counts that does not fit into memory: it is balanced, and so held, as a whole."""
    size = sum(map(os.path.getsize, source.paths))
    if size > current().memory * HELD_SHARE:
        raise DataError(
            f"{source.name!r} is too large to be held in memory as a table of counts; add up its equal rows first, or "
            f"try ",
            Option("memory", words(int(size / HELD_SHARE))),
        )
