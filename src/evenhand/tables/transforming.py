"""Train mode and apply mode on the rows of a table (figure 1): find each row's source, draw its target, write it.

One value says what a mode reads, what it writes and which row of the kernel each source has; another how draws are
made. Frames, streams of batches and estimators all use these. Knows nothing of problems or of how a mapping was found.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand import check, tables
from evenhand.arrays import Cells, Flags, positions, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, Variable, among
from evenhand.data.levels import UNSEEN as NO_LEVEL
from evenhand.errors import DataError, Option, warn
from evenhand.kernel import Kernel, joined, look_up, project
from evenhand.kernel.balance import ranked
from evenhand.kernel.draws import Spaced, keyed_draws, seeded_draws
from evenhand.kernel.shuffle import Shuffle, Turns
from evenhand.kernel.strangers import KEPT, Policies, Policy, Strangers
from evenhand.kernel.strata import MOST_CELLS, Allotted, Strata
from evenhand.render.section import Note
from evenhand.render.sentences import sentence
from evenhand.resources import each_of, in_blocks
from evenhand.spec.nesting import Nest
from evenhand.tables import Coded, Encoded, Fresh, Restore, Restoring, Table
from evenhand.tables.keys import key_texts
from evenhand.tables.person import Lookup, Placed, Record

Mode = Literal["release", "apply"]
Unseen = Literal["typical", "keep", "error"]
Missing = Literal["level", "error"]
Draw = Literal["independent", "balanced"]
SeedOrigin = Literal["given", "drawn", "default"]
Levels = Callable[[str], Cells]
"""The level of each kind of rows in a column."""

BlockDraws = Callable[[slice], Cells]
"""The draws of a block of rows: what is never held for all rows at once need not be."""

Drawing = Callable[["Located"], Cells]
"""The draws of some rows that were located."""


def domain_with(domain: Domain, missing: Missing | None) -> Domain:
    """Return a domain that allows or refuses missing values for which it has no level; None leaves it as it is."""
    if missing is None:
        return domain
    check.one_of("missing", missing, get_args(Missing))
    return domain.allowing_missing(missing == "level")


UNNESTED = Nest()
"""No partition: people are balanced by cell, and all together."""

ADDED = ("rows", "changed", "unseen", "missing", "typical", "shared")
"""What is added up where a table comes in pieces."""

NAMED = 3
"""So many cells that nobody had are named in a warning."""

LARGEST_INDEX = 1 << 22
"""Of more sources that could be, those that are known are searched for instead."""

LARGEST_SMALL = (1 << 31) - 1
"""So many kinds are numbered in 32 bits."""

FEW_ROWS = 32
"""Threads are not worth their while for so many rows."""

FEW_KINDS = 1 << 12
"""So many kinds of rows are told apart whatever the size of a table; more only where a table has many rows for each."""


DEFAULT_SEED = 0
"""Of keyed draws and of apply mode, where a person is to get the same result wherever they are drawn."""

FRESH_BITS = 128
"""So many bits of a fresh seed cannot be found by trying seeds."""


@dataclass(frozen=True)
class How:
    """The options of one draw, settled: what is left open in :class:`Draws` is decided."""

    seed: int
    key: str | None = None
    draw: Draw = "independent"
    unseen: Unseen | None = None
    restore: Restoring = Restoring.SAMPLE
    missing: Missing | None = None
    seed_origin: SeedOrigin = "given"
    draw_asked: bool = True

    @property
    def balanced(self) -> bool:
        """Whether the rows of a source are drawn together."""
        return self.draw == "balanced"


@dataclass(frozen=True)
class Draws:
    """The options of a draw: ``release``, ``apply``, ``expand``, ``person`` and queries take them, or each by its name.

    Parameters
    ----------
    seed : int, None or "default"
        Makes draws repeatable: the same seed, table and options give the same result. None takes a fresh one, which the
        logger ``evenhand`` has at level INFO and a result in a file in its ``options``. By default the seed is 0, so
        that a person gets the same result wherever they are drawn; but a release of a table without ``key`` takes a
        fresh one. Without ``key`` draws go by position, so give each batch a seed of its own. Choose a seed before you
        see any result.
    key : str, optional
        A column that says who a row is. A row's draw then depends on its key, the seed and the mode alone: the same
        person gets the same draw in any order, in any table, from any engine. Rows that share a key share a draw.
    draw : {"balanced", "independent"}, optional
        ``balanced``, the default of a release of a table without ``key``: all rows are drawn together. The number of
        people with each outcome is its expectation rounded down or up: in every cell (d, x, y), in every group and
        segment that parity compares, and in total. Each move is within two of its expectation. Each person's
        probabilities stay the same, but a row's result depends on the other rows. Not everything can be balanced: not
        groups that cross, released segments, groups of a blind mapping, rows that share a key, very many new cells. The
        rest is, with a warning if you wrote ``draw="balanced"``; by default the logger ``evenhand`` has it. In apply
        mode no outcome is drawn: the number of rows with the same (d, x) that make each move is its expectation rounded
        down or up. Spark, SQL and single people have no balanced draws.
        ``independent``, the default everywhere else: each row is drawn on its own.
    unseen : {"typical", "keep", "error"}, optional
        What to do with rows whose (d, x, y) was not in the table that was fitted. ``typical``, the default: they keep
        their features and draw ŷ as the fitted people of their group and outcome do on average, mixed with staying as
        far as their own budgets ask; where D is suppressed, from p(ŷ|x), or from p(ŷ) where nobody had x. ``keep``:
        they stay as they are (where D is suppressed, with ŷ from p(ŷ|x)). A row of a group that was not fitted (unless
        D is suppressed, or not read), or with a value that is no level, stays as it is.
    missing : {"level", "error"}, optional
        What a missing value is in a column where the fitted table had none: ``level``, one that nobody had, so that its
        row is an unseen one (as a rule kept as it is, and counted), or an error that names the row. By default what the
        problem says. Where missing values have a level in the mapping, they keep it; a missing outcome is an error.
    restore : {"sample", "midpoint", "label"}, optional
        What is written where a column has bins, or merged levels, and its level changes: a value that somebody of the
        new level had in the fitted table, the middle of the bin (the commonest of merged values), or the level's name,
        in which case the whole column becomes text. A value whose level does not change stays. By default ``sample``;
        where nothing is drawn, ``midpoint``.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> draws = eh.Draws(seed=7, draw="independent")
    >>> mapping.release(data.frame, draws).equals(mapping.release(data.frame, seed=7, draw="independent"))
    True
    """

    seed: int | Literal["default"] | None = "default"
    key: str | None = None
    draw: Draw | None = None
    unseen: Unseen | None = None
    missing: Missing | None = None
    restore: Restore | None = None

    def __post_init__(self) -> None:
        if self.seed is not None and not (isinstance(self.seed, str) and self.seed == "default"):
            object.__setattr__(self, "seed", check.seed("seed", self.seed, or_none=True))
        if self.key is not None and not isinstance(self.key, str):
            raise check.refused("key", "the name of a column", self.key)
        for name, known in (("draw", Draw), ("unseen", Unseen), ("missing", Missing), ("restore", Restore)):
            check.one_of(name, getattr(self, name), (None, *get_args(known)))


def draws_of(given: Draws | None, options: Mapping[str, Any], *unused: str) -> Draws:
    """Read the options of a call: a value, keywords that replace what it says, or both."""
    if given is not None:
        check.kind("draws", given, Draws, "an eh.Draws")
    known = [each.name for each in fields(Draws) if each.name not in unused]
    for name in options:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}; of the options of a draw this takes {known}")
    return replace(given or Draws(), **options)


def settled(draws: Draws, *, release: bool = False) -> How:
    """Decide what is left open; in a ``release`` of a table its rows may be drawn together."""
    together = release and draws.key is None
    draw: Draw = draws.draw or ("balanced" if together else "independent")
    origin: SeedOrigin
    if draws.seed is None or (draws.seed == "default" and together):
        seed, origin = secrets.randbits(FRESH_BITS), "drawn"
    else:
        seed = DEFAULT_SEED if draws.seed == "default" else int(draws.seed)
        # In apply mode the default seed and the same one given are alike.
        origin = "default" if draws.seed == "default" or (seed == DEFAULT_SEED and not release) else "given"
    if release and origin == "drawn":
        logging.getLogger("evenhand").info("release draws with the fresh seed %d", seed)
    restore = Restoring(draws.restore or "sample")
    return How(seed, draws.key, draw, draws.unseen, restore, draws.missing, origin, draws.draw is not None)


class DrawOptions(TypedDict, total=False):
    """The options of :class:`Draws` as keywords of a call."""

    seed: int | Literal["default"] | None
    key: str | None
    draw: Draw | None
    unseen: Unseen | None
    missing: Missing | None
    restore: Restore | None


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
    fitted : Kernel
        Rows of targets: cells of X × Y in train mode, of X in apply mode.
    sources : array
        The known sources as numbers over the axes that are read, ascending: those of the kernel's rows.
    policies : Policies
        What becomes of people of an unknown source, by policy.
    policy : {"typical", "keep"}
        Which of them is followed.
    nest : Nest
        The partitions of people whose released outcomes balanced draws keep within one of their expectation.
    """

    name: Mode
    domain: Domain
    reads: tuple[Axis, ...]
    fitted: Kernel
    sources: Cells
    policies: Policies = KEPT
    policy: Policy = "typical"
    nest: Nest = UNNESTED

    @property
    def strangers(self) -> Strangers | None:
        """The rows of people of an unknown source; None where they stay as they are."""
        return self.policies.typical if self.policy == "typical" else self.policies.keep

    @cached_property
    def kernel(self) -> Kernel:
        """The rows of sources, and after them those of strangers, whose targets are outcomes alone."""
        return self.fitted if self.strangers is None else joined(self.fitted, self.strangers.kernel)

    @cached_property
    def changes_nothing(self) -> bool:
        """Whether everybody stays as they are: so in apply mode where no feature may change."""
        # What is read ends with what is written.
        own = self.sources % math.prod(axis.size for axis in self.writes)
        single = np.diff(self.fitted.starts) == 1
        stays = self.fitted.targets[self.fitted.starts[:-1]] == own
        return self.strangers is None and bool(np.all(single & stays))

    @property
    def writes_outcome(self) -> bool:
        return self.name == "release"

    @property
    def writes(self) -> tuple[Axis, ...]:
        """The axes whose columns may change."""
        return (self.domain.x, self.domain.y) if self.writes_outcome else (self.domain.x,)

    @property
    def read(self) -> tuple[Variable, ...]:
        return tuple(variable for axis in self.reads for variable in axis.variables)

    @property
    def written(self) -> tuple[Variable, ...]:
        """The variables whose columns may change; learned cells are no column."""
        return tuple(variable for axis in self.writes for variable in axis.variables if variable.is_column)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column for variable in self.read for column in variable.columns))

    def with_missing(self, missing: Missing | None) -> Transformer:
        """Return the mode that keeps or refuses rows with a missing value for which there is no level.

        ``"level"`` takes such a value for a level that nobody had, so that its row is of an unseen kind; ``"error"``
        refuses it; None does what the mapping's problem says.
        """
        if missing is None:
            return self
        check.one_of("missing", missing, get_args(Missing))
        return self._allowing_missing if missing == "level" else self._refusing_missing

    def with_unseen(self, unseen: Unseen | None) -> Transformer:
        """Return the mode that follows another policy for people of an unknown source; None does what it does."""
        check.one_of("unseen", unseen, (None, *get_args(Unseen)))
        if unseen in (None, "error", self.policy):
            return self
        return self._other_policy

    # Kept, so that what any of them looks up is prepared once.
    @cached_property
    def _other_policy(self) -> Transformer:
        return replace(self, policy="keep" if self.policy == "typical" else "typical")

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
    def _targets(self) -> tuple[Cells, ...]:
        """The targets of the kernel: for each axis that is written, the cell of every entry."""
        targets = self.kernel.targets
        return self.domain.split_xy(targets) if self.writes_outcome else (targets,)

    def targets(self, entry: Cells, own: tuple[Cells, ...]) -> tuple[Cells, ...]:
        """Return the cell on each axis that is written of people who hit an entry; strangers keep their own x."""
        found = [cells[entry] for cells in self._targets]
        if self.strangers is not None:
            found[0] = np.where(entry < len(self.fitted.targets), found[0], own[0])
        return tuple(found)

    @cached_property
    def lookup(self) -> Lookup:
        """The mode for one person at a time."""
        own = len(self.fitted)
        targets = tuple(variable for axis in self.writes for variable in axis.variables)
        return Lookup(self.name, self.read, targets, self.kernel, self.sources, self.strangers, own)

    @property
    def otherwise(self) -> Policy:
        """The policy to ask for where people of an unknown source are not to be refused."""
        return "keep" if self.strangers is None else self.policy

    @property
    def drawn_by(self) -> str | None:
        """Where the outcome of people of an unknown source comes from, in a word or two; None where they keep it."""
        if self.strangers is None:
            return None
        return "a typical row" if self.domain.y in self.strangers.by else "ŷ from p(ŷ|x)"

    @property
    def then(self) -> str:
        """What becomes of people of an unknown source, in words that follow "they"."""
        if self.strangers is None or self.domain.x not in self.strangers.by or self.domain.y not in self.strangers.by:
            return self.then_drawn
        # Of a user's own costs it is not known what those of new records are.
        return f"{self.then_drawn}, but are left unchanged where nobody fitted had their features and outcome together"

    @property
    def then_drawn(self) -> str:
        """What becomes of those of them who have a row to draw an outcome from."""
        if self.strangers is None:
            return "are left unchanged"
        if self.domain.y not in self.strangers.by:
            last = "" if self.strangers.others is None else ", or from p(ŷ) where nobody had x"
            return f"keep their features and get ŷ from p(ŷ|x){last}"
        others = "people of their outcome" if self.domain.d not in self.reads else "people of their group and outcome"
        return f"keep their features and get the outcomes that {others} get on average, within their own budgets"

    def source_words(self, number: int) -> str:
        """Name a source, by its number over the axes that are read."""
        words = []
        for axis in reversed(self.reads):
            number, cell = divmod(number, axis.size)
            words.append(axis.words(cell))
        return "; ".join(reversed(words))


def train_mode(
    counts: Counts, kernel: Kernel, reads: str = "dxy", *, policies: Policies = KEPT, nest: Nest = UNNESTED
) -> Transformer:
    """Return train mode of a mapping that reads some axes: everybody who shares what is read has one row."""
    axes, rows = counts.domain.axes(reads), project(kernel, counts, reads)
    return Transformer("release", counts.domain, axes, rows, counts.over(reads).cells, policies, nest=nest)


def apply_mode(counts: Counts, kernel: Kernel, reads: str = "dxy") -> Transformer:
    """Return apply mode of a mapping that reads some axes: of these, it reads no outcome.

    Whatever the policy, a person of an unknown (d, x) keeps x: there is no outcome that could be typical.
    """
    before = among(reads, "dx")
    rows = project(kernel, counts, before, "x")
    return Transformer("apply", counts.domain, counts.domain.axes(before), rows, counts.over(before).cells)


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
    number : array
        The number of each over the axes that are read, NO_LEVEL where a value is not a level.
    levels : callable
        The level of each kind in a column.
    """

    cells: Mapping[Axis, Cells]
    rows: Cells
    known: Flags
    sourced: Flags
    number: Cells
    levels: Levels


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
    unlike : mapping
        How many rows have, by column, what learned cells were not grown on.
    """

    mode: Transformer
    kinds: Kinds
    digits: Sequence[tuple[NDArray[Any], int]]
    encoded: Mapping[str, Encoded]
    unlike: tables.Unlike = field(default_factory=dict)

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

    def of(self, rows: slice) -> Located:
        """Return some of the rows by themselves; the values of columns are numbered for all rows alone."""
        return replace(self, digits=[(codes[rows], number) for codes, number in self.digits], encoded={})

    @property
    def rows(self) -> Cells:
        return self.kinds.rows[self.kind()]

    @property
    def known(self) -> Flags:
        """Whether each row has a row of the kernel."""
        return self.kinds.known[self.kind()]

    @property
    def sourced(self) -> Flags:
        """Whether each row's source is one of the fitted table."""
        return self.kinds.sourced[self.kind()]

    def new_cells(self, at: Cells) -> dict[int, int]:
        """Return the unknown sources of rows, in the order in which they first occur, with the number of their rows.

        Rows with a value that is no level have none.
        """
        kind, number = self.kind(at), self.kinds.number
        if len(number) <= len(kind):
            # Of few kinds it is faster to count each than to sort all rows.
            rows, first = np.bincount(kind, minlength=len(number)), np.full(len(number), len(kind))
            first[kind[::-1]] = np.arange(len(kind))[::-1]
            there = np.flatnonzero((rows > 0) & (number != NO_LEVEL))
            # Kinds that differ in values of one level are of one source.
            there = there[np.argsort(first[there])]
            number, people = number[there], rows[there].astype(np.float64)
        else:
            number = number[kind]
            number = number[number != NO_LEVEL]
            people = np.ones(len(number))
        cells, first, at = np.unique(number, return_index=True, return_inverse=True)
        order = np.argsort(first)
        together = sums(at, people, len(cells)).astype(np.int64)
        return dict(zip(cells[order].tolist(), together[order].tolist(), strict=True))

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
    typical : int
        How many of these drew their outcome all the same: from a typical row or, where D is suppressed, from p(ŷ|x).
    first_unseen : int or None
        The first of them, counting from 1.
    example : str or None
        The first new value, where there is one.
    missing : int
        How many of the unseen rows have a missing value that has no level.
    shared : int
        With balanced draws in train mode: how many share key and kind with a row before them, and so its result.
    pooled : bool
        With balanced draws in train mode: whether there were too many cells that nobody had to balance each of them.
    new_cells : mapping of int to int
        Sources that the fitted table did not have, by their numbers, in the order in which they first occur, with the
        number of their rows: all of them, of a table that was added to another the first few.
    unlike : mapping
        How many rows have, by column, what learned cells were not grown on: rare and new words, and new gaps.
    people, results : int or None
        Of a table of counts: for how many people its rows stand, of whom ``changed`` are then so many, and how many
        rows the result has.
    """

    rows: int = 0
    changed: int = 0
    unseen: int = 0
    first_unseen: int | None = None
    example: str | None = None
    missing: int = 0
    typical: int = 0
    shared: int = 0
    pooled: bool = False
    new_cells: Mapping[int, int] = field(default_factory=dict)
    unlike: tables.Unlike = field(default_factory=dict)
    people: int | None = None
    results: int | None = None

    def __add__(self, more: Tally) -> Tally:
        first, example = self.first_unseen, self.example
        if first is None and more.first_unseen is not None:
            first, example = self.rows + more.first_unseen, more.example
        named = islice(dict.fromkeys((*islice(self.new_cells, NAMED), *islice(more.new_cells, NAMED))), NAMED)
        return Tally(
            **{name: getattr(self, name) + getattr(more, name) for name in ADDED},
            first_unseen=first,
            example=example,
            pooled=self.pooled or more.pooled,
            new_cells={cell: self.new_cells.get(cell, 0) + more.new_cells.get(cell, 0) for cell in named},
            unlike=Counter(self.unlike) + Counter(more.unlike),
        )


@dataclass(frozen=True, eq=False)
class Transformed:
    """What a mode makes of rows.

    Attributes
    ----------
    mode, how : Transformer, How
        The mode, and how it was used.
    given : frame
        The rows.
    fresh : mapping of str to Fresh
        What columns get, by the position of results.
    rows : array, optional
        The row of which each result is; None where each row has one.
    tally : Tally
        What was done.
    moves : Moves, optional
        Which rows changed to what.
    """

    mode: Transformer
    how: How
    given: Table
    fresh: Mapping[str, Fresh]
    rows: Cells | None = None
    tally: Tally = field(default_factory=Tally)
    moves: Moves | None = None

    @cached_property
    def table(self) -> Table:
        """The results, one row each, in the columns' own types."""
        table = self.given if self.rows is None else tables.take(self.given, self.rows)
        encoded = self.moves.encoded if self.moves is not None and self.rows is None else None
        for axis in self.mode.writes:
            table = tables.overwritten(table, axis, self.fresh, self.how.restore, encoded)
        for name in self.fresh.keys() - {variable.name for variable in self.mode.written}:
            fresh = self.fresh[name]
            table = tables.with_numbers(table, name, np.array(fresh.values)[fresh.which])
        return table


def transform(mode: Transformer, table: Table, how: How) -> Transformed:
    """Draw and write a target for every row of a table, and warn of sources that are unknown."""
    done = transform_piece(mode, table, how)
    report_unseen(mode, done.tally, how.unseen)
    report_unlike(mode, done.tally)
    report_balance(mode, done.tally, how)
    return done


def transform_piece(
    mode: Transformer, table: Table, how: How, dealt: Drawing | None = None, *, first: int = 0
) -> Transformed:
    """Transform rows that may be a part of a table, where balanced draws are made for all rows at once.

    ``first`` is the position of the first row. Sources that are unknown are refused if so asked; who has every part
    warns of them.
    """
    together = None
    located = locate(mode, table, first=first)
    if dealt is not None:
        drawn: BlockDraws = dealt(located).__getitem__
    elif how.balanced:
        drawn, together = _together(mode, table, located, how)
    else:
        drawn = independent_draws(mode, table, how, first=first)
    moves = moves_of(mode, len(table), located, drawn)
    done = write(mode, table, moves, how, first=first)
    done = replace(done, tally=replace(done.tally, unlike=located.unlike))
    if together is not None:
        done = replace(done, tally=replace(done.tally, **together._asdict()))
    if how.unseen == "error":
        report_unseen(mode, done.tally, "error")
    return done


def locate(mode: Transformer, table: Table, *, first: int = 0) -> Located:
    """Find the source of every row; ``first`` is the position of the first, where a table comes in pieces."""

    def read(variable: Variable) -> Coded:
        return tables.levels_in(variable, table, first=first)

    coded = each_of(mode.read, read) if len(table) > FEW_ROWS else list(map(read, mode.read))
    columns = {variable.name: each for variable, each in zip(mode.read, coded, strict=True)}
    written = (columns[variable.name].encoded for variable in mode.written)
    encoded = {each.series.name: each for each in written if each is not None}
    unlike = {what: rows for each in coded for what, rows in each.unlike.items()}
    shape = [len(column.level) for column in coded]
    if math.prod(shape) <= max(len(table) // 4, FEW_KINDS):
        kind, levels = np.arange(math.prod(shape)), {}
        for name, column in reversed(columns.items()):
            kind, code = np.divmod(kind, len(column.level))
            # A null comes first.
            levels[name] = np.roll(column.level, 1)[code]
        digits = [(column.codes, number) for column, number in zip(coded, shape, strict=True)]
        return Located(mode, kinds_of(mode, levels.__getitem__), digits, encoded, unlike)
    # So many kinds that every row may as well be one by itself.
    kinds = kinds_of(mode, lambda name: columns[name].level[columns[name].codes])
    return Located(mode, kinds, [(np.arange(len(table)) + tables.NULL, len(table))], encoded, unlike)


def kinds_of(mode: Transformer, levels: Levels) -> Kinds:
    """Find the cells and the row of the kernel of every kind."""
    cells = {axis: _cells(axis, levels) for axis in mode.reads}
    number: Cells = np.zeros(1, dtype=np.int64)
    for axis in mode.reads:
        number = number * axis.size + cells[axis]
    complete = np.all([own != NO_LEVEL for own in cells.values()], axis=0)
    number = np.where(complete, number, NO_LEVEL)
    place = mode.place(number)
    sourced = place >= 0
    rows = np.where(sourced, place, 0)
    if mode.strangers is None or sourced.all():
        return Kinds(cells, rows, sourced, sourced, number, levels)
    # An unknown source whose values are levels may have a row that draws ŷ.
    known = np.all([cells[axis] != NO_LEVEL for axis in mode.writes], axis=0)
    key: Cells = np.zeros(1, dtype=np.int64)
    for part in mode.strangers.by:
        cell = _cells(part, levels)
        known, key = known & (cell != NO_LEVEL), key * part.size + cell
    row = mode.strangers.row(np.where(known, key, NO_LEVEL))
    drawn = ~sourced & known & (row >= 0)
    return Kinds(cells, np.where(drawn, len(mode.fitted) + row, rows), sourced | drawn, sourced, number, levels)


def _cells(axis: Axis, levels: Levels) -> Cells:
    """Return the cell of each kind on an axis, NO_LEVEL where a value is not a level."""
    cells: Cells = np.zeros(1, dtype=np.int64)
    new: Flags = np.zeros(1, dtype=bool)
    for variable in axis.variables:
        level = levels(variable.name)
        cells = cells * len(variable) + level
        new = new | (level == NO_LEVEL)
    return np.where(new, NO_LEVEL, cells)


def independent_draws(mode: Transformer, table: Table, how: How, *, first: int = 0) -> BlockDraws:
    """Return one draw per row; ``first`` is the position of the first row, where a table comes in pieces."""
    if how.key is not None:
        return single_draws(mode, table, how, first=first).__getitem__
    return lambda block: seeded_draws(how.seed, block.stop - block.start, mode.name, first=first + block.start)


class Together(NamedTuple):
    """What balanced draws could not tell apart: rows that share theirs with one before them, and too many new cells."""

    shared: int = 0
    pooled: bool = False


def _together(mode: Transformer, table: Table, located: Located, how: How) -> tuple[BlockDraws, Together]:
    """Return balanced draws of a table that is whole, and what they could not tell apart."""
    balancing = Balancing(mode)
    number = balancing.settled(balancing.number(located))
    if how.key is None:
        balancing.count(number)
        return balancing.dealt(how.seed).draws(number).__getitem__, balancing.together()
    # Ranked by the hashes of their keys, people of a stratum are in an order that their rows do not decide.
    rank, balancing.people = ranked(number, single_draws(mode, table, how), balancing.size)
    plan = balancing.plan(how.seed)
    return lambda block: plan.draws(number[block], rank[block]), balancing.together()


class Balancing:
    """Who is drawn together in a mode: strata of rows, which may come in pieces, and what becomes of ranks in them.

    In train mode moves are allotted to strata so that outcomes are within one of their expectation in every part of
    the mode's nested partitions; in apply mode, where no outcome is drawn, every source is sampled by itself.
    """

    def __init__(self, mode: Transformer) -> None:
        self.mode = mode
        self.strata: Strata | None = None
        self.people: Cells = np.zeros(0, dtype=np.int64)
        self.rows = 0
        if mode.writes_outcome:
            variables = [mode.domain.variable(name) for name in mode.nest.columns]
            self.strata = Strata(mode.kernel, mode.domain.y.size, variables, mode.nest.levels)

    def number(self, located: Located) -> Cells:
        """Return the number of the stratum of each row; rows that stay as they are have one of their own."""
        kinds = located.kinds
        if self.strata is None:
            return np.where(kinds.known, kinds.rows, len(self.mode.kernel))[located.kind()]
        kind, new = located.kind(), kinds.known & ~kinds.sourced
        if new.any():
            # Cells are counted that somebody is in.
            there = np.zeros(len(new), dtype=bool)
            there[kind] = True
            new &= there
        cell = np.where(new, kinds.number, NO_LEVEL)
        number = self.strata.number(kinds.levels, kinds.rows, kinds.known, cell)[kind]
        self.rows += int(np.count_nonzero(number))
        return number

    def count(self, number: Cells) -> None:
        """Count the people of some rows, by the numbers of their strata; who stays as they are is in none."""
        more = np.bincount(number[number != self.nobody], minlength=len(self.people))
        more[: len(self.people)] += self.people
        self.people = more

    def settled(self, number: Cells) -> Cells:
        """Return what the numbers of strata have become once all rows were met."""
        become = None if self.strata is None else self.strata.settled()
        return number if become is None else become[number]

    def settle(self) -> None:
        """Count people by what the numbers of their strata have become once all rows were met."""
        become = self.settled(np.arange(len(self.people)))
        people, self.people = self.people, np.zeros(become.max(initial=-1) + 1, dtype=np.int64)
        np.add.at(self.people, become, people)

    @property
    def size(self) -> int:
        """How many numbers of strata there are."""
        return len(self.mode.kernel) + 1 if self.strata is None else len(self.strata)

    @property
    def nobody(self) -> int:
        """The number in place of a stratum where people have no row of the kernel."""
        return len(self.mode.kernel) if self.strata is None else 0

    @property
    def order(self) -> Cells:
        """The numbers of all strata, in an order that does not depend on how a table was cut."""
        return np.arange(self.size) if self.strata is None else self.strata.order

    def parts(self, located: Located) -> list[Cells]:
        """Return the part of each row of a whole table in every partition, coarse to fine; at last its cell."""
        assert self.strata is not None
        number = self.settled(self.number(located))
        return [*self.strata.parts(self.strata.keys[number]), number]

    def plan(self, seed: int) -> Spaced | Allotted:
        """Return what ranks become, once it is known how many people every stratum has."""
        if self.strata is None:
            return Spaced.of(self.people, seed, self.mode.name)
        return self.strata.allot(self.people, seed, self.mode.name)

    def dealt(self, seed: int) -> Dealt:
        """Return the draws of all people, once every row was counted."""
        people = np.pad(self.people, (0, self.size - len(self.people)))
        return Dealt(self.plan(seed), Shuffle.of(people, self.order, seed, self.mode.name), self.nobody)

    def together(self) -> Together:
        """Return how many rows have the same person in the same stratum as another, and whether new cells are pooled.

        Such rows get one result.
        """
        if self.strata is None:
            return Together()
        return Together(self.rows - int(self.people[1:].sum()), self.strata.pooled)


class Dealt:
    """Balanced draws by the order of rows, which may come in pieces: the strata that were counted, shuffled."""

    def __init__(self, plan: Spaced | Allotted, shuffle: Shuffle, nobody: int) -> None:
        self.plan, self.shuffle, self.nobody = plan, shuffle, nobody
        self.turns = Turns(np.zeros_like(shuffle.people))

    def draws(self, number: Cells) -> Cells:
        """Return the draws of some more rows, of strata with these numbers."""
        found = np.zeros(len(number), dtype=np.int64)
        at = np.flatnonzero(number != self.nobody)
        turn = self.turns.next(number[at])
        if len(self.turns.met) > len(self.shuffle.people) or np.any(self.turns.met > self.shuffle.people):
            raise _not_counted()
        found[at] = self.plan.draws(number[at], self.shuffle.places(number[at], turn))
        return found

    def finish(self) -> None:
        """Refuse a table that had fewer rows when they were drawn than when they were counted."""
        if not np.array_equal(self.turns.met, self.shuffle.people):
            raise _not_counted()


def _not_counted() -> DataError:
    return DataError("the table was changed while it was read: its rows are not those that were counted")


def single_draws(mode: Transformer, table: Table, how: How, *, first: int = 0, purpose: str = "") -> Cells:
    """Return each row's own draw, by position or by key."""
    if how.key is None:
        return seeded_draws(how.seed, len(table), mode.name, first=first, purpose=purpose)
    return keyed_draws(key_texts(table, how.key, first=first), how.seed, mode.name, purpose=purpose)


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
        Columns that may be written, with their values numbered.
    typical : int
        How many of the unknown rows drew their outcome.
    new_cells : mapping of int to int
        As in :class:`Tally`.
    """

    at: Cells
    own: tuple[Cells, ...]
    entry: Cells
    unknown: Cells
    encoded: Mapping[str, Encoded]
    typical: int
    new_cells: Mapping[int, int]


def moves_of(mode: Transformer, size: int, located: Located, drawn: BlockDraws) -> Moves:
    """Pick the target of every draw."""
    kernel, kinds = mode.kernel, located.kinds
    stays = mode.join(*(kinds.cells[axis] for axis in mode.writes))
    if mode.strangers is not None:
        # Targets of strangers are outcomes alone.
        stays = np.where(kinds.rows < len(mode.fitted), stays, kinds.cells[mode.domain.y])

    def pick(block: slice) -> tuple[Cells, Cells, Cells, Cells]:
        kind = located.kind(block)
        entry = kernel.hit(look_up(kinds.rows, kind), drawn(block))
        moved = look_up(kernel.targets, entry) != look_up(stays, kind)
        unknown = np.flatnonzero(look_up(~kinds.sourced, kind))
        known = kinds.known[kind[unknown]]
        moved[unknown] &= known
        here = np.flatnonzero(moved)
        return block.start + here, entry[here], block.start + unknown, np.array([known.sum()])

    at, entry, unknown, typical = (np.concatenate(parts) for parts in zip(*in_blocks(size, pick), strict=True))
    new = located.new_cells(unknown)
    return Moves(at, located.own(at), entry, unknown, located.encoded, int(typical.sum()), new)


def write(mode: Transformer, table: Table, moves: Moves, how: How, *, first: int = 0) -> Transformed:
    """Return what is written for the target of every row that changes."""
    at, entry = moves.at, moves.entry

    def lots(column: str, chosen: Cells) -> Cells:
        # Keys are hashed only where one is needed.
        if how.key is None:
            return single_draws(mode, table, how, first=first, purpose=column)[chosen]
        return single_draws(mode, tables.take(table.select(how.key), chosen), how, purpose=column)

    fresh: dict[str, Fresh] = {}
    for axis, own, targets in zip(mode.writes, moves.own, mode.targets(entry, moves.own), strict=True):
        fresh |= tables.rewritten(table, axis, at, own, targets, lots=lots, restore=how.restore)
    tally = replace(_tally(mode, table, len(at), moves.unknown), typical=moves.typical, new_cells=moves.new_cells)
    return Transformed(mode, how, table, fresh, tally=tally, moves=moves)


def _tally(mode: Transformer, table: Table, changed: int, unknown: Cells) -> Tally:
    if not len(unknown):
        return Tally(len(table), changed)
    return Tally(
        rows=len(table),
        changed=changed,
        unseen=len(unknown),
        first_unseen=int(unknown[0]) + 1,
        # Why it is the first row that is not known, and no other: new alone, or new together.
        example=tables.first_unseen(mode.reads, tables.take(table, unknown[:1])),
        missing=int(tables.lacking(mode.reads, table).sum()),
    )


def placed(mode: Transformer, table: Table, *, first: int = 0) -> list[Placed]:
    """Return where each of a few rows is; ``first`` is the position of the first in the whole table."""
    kinds = (located := locate(mode, table, first=first)).kinds
    levels = [kinds.levels(variable.name)[located.kind()].tolist() for variable in mode.read]
    return [mode.lookup.placed(each) for each in zip(*levels, strict=True)]


def transform_person(mode: Transformer, record: Record, how: How) -> dict[str, Any]:
    """Draw and write a target for one person; warn of one whose source is unknown, or refuse them."""
    lookup = mode.lookup
    values = lookup.values(record)
    levels = lookup.levels(values)
    # Draws that nobody can repeat need not be made from a seed.
    draw = lookup.draw(record, how.key, None if how.seed_origin == "drawn" else how.seed)
    row, sourced = lookup.row(levels)
    if not sourced:
        then = "are left unchanged" if row is None else mode.then_drawn
        _report_person(mode, values, levels, how.unseen, then)
    return lookup.transformed(record, values, levels, row, draw, how.restore)


def _report_person(
    mode: Transformer, values: Sequence[Any], levels: Sequence[int], unseen: Unseen | None, then: str
) -> None:
    """Warn of a person whose source is not known, or refuse them."""
    message = f"this person has a combination of {' and '.join(_names(mode))} that was not in the fitted table"
    if NO_LEVEL in levels:
        place = levels.index(NO_LEVEL)
        # A warning does not tell the value: a service may meet thousands of them, and its log is no place for any.
        new = f"the new value {check.shown(values[place])}" if unseen == "error" else "a new value"
        missing = mode.lookup.readers[place].is_missing(values[place])
        message += f" (column {mode.read[place].name!r} has {'a missing value' if missing else new})"
    if unseen == "error":
        raise DataError(f"{message}; with ", Option("unseen", mode.otherwise), f" they {then}")
    warn(f"{message}; they {then}")


def report_unseen(mode: Transformer, tally: Tally, unseen: Unseen | None) -> None:
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
    if tally.new_cells:
        named = list(islice(tally.new_cells.items(), NAMED))
        others = "for example " * (sum(rows for _, rows in named) < tally.unseen)
        message += f": {others}{', '.join(f'{rows} with ({mode.source_words(cell)})' for cell, rows in named)}"
    then = f"they {mode.then_drawn}"
    if tally.typical < tally.unseen and mode.strangers is not None:
        # Who is of a new group, or has a new value, has no row that outcomes could be drawn from; cells are named.
        some = f"{tally.typical} of them {mode.then_drawn}, the others are" if tally.typical else "they are"
        then = f"{some} left unchanged"
    if unseen == "error":
        raise DataError(f"{message}; with ", Option("unseen", mode.otherwise), f" {then}")
    warn(f"{message}; {then}")


def report_unlike(mode: Transformer, tally: Tally) -> None:
    """Warn of columns that hold in many rows what learned cells were not grown on."""
    for variable in mode.read if tally.unlike else ():
        for words in () if variable.is_column else tables.unlike_words(variable, tally.unlike, tally.rows):
            warn(words)


def report_balance(mode: Transformer, tally: Tally, how: How) -> None:
    """Warn of what balanced draws could not balance; where they are only the default, it is logged."""
    for note in unbalanced(mode, tally, how.key) if how.balanced else ():
        if how.draw_asked:
            warn(sentence(note))
        else:
            logging.getLogger("evenhand").info("%s", sentence(note))


def unbalanced(mode: Transformer, tally: Tally, key: str | None) -> tuple[Note, ...]:
    """Return what balanced draws of a table could not keep within one person of its expectation, and what they kept."""
    notes = list(mode.nest.notes)
    if tally.shared and key is not None:
        notes.append(Note("balanced.shared", {"shared": tally.shared, "rows": tally.rows, "key": key}))
    if tally.pooled:
        notes.append(Note("balanced.pooled", {"most": MOST_CELLS}))
    return tuple(notes)


def _names(mode: Transformer) -> list[str]:
    words = {mode.domain.d: "protected columns", mode.domain.x: "features", mode.domain.y: "outcome"}
    names = [words[axis] for axis in mode.reads]
    return [", ".join(names[:-1]), names[-1]] if len(names) > 1 else names


def met(mode: Transformer, table: Table, located: Located) -> Tally:
    """Count the rows of a table, and those whose source is unknown."""
    unknown = np.flatnonzero(~located.sourced)
    typical = int((located.known & ~located.sourced).sum())
    tally = _tally(mode, table, 0, unknown)
    return replace(tally, typical=typical, new_cells=located.new_cells(unknown), unlike=located.unlike)
