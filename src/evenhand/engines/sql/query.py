"""Train mode or apply mode as one query that needs nothing but the table.

Its steps are common table expressions: where cells were learned, ``told`` reads their columns, and ``cells`` finds the
leaf; ``rows`` finds each row's source and draw, ``drawn`` joins the change that the draw makes, ``valued`` the value
that the new level gets, and the last step writes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand import check
from evenhand.data.domain import Variable
from evenhand.data.levels import UNSEEN
from evenhand.engines.sql.codes import Kind, code, has_close_levels, missing, number, own_text, unwritable
from evenhand.engines.sql.dialects import Dialect, dialect_of
from evenhand.engines.sql.dialects.base import OWN, TABLE, Change, Last, with_own_names
from evenhand.engines.sql.leaves import LEAF, Leaves
from evenhand.engines.sql.moves import Moves, moves_of
from evenhand.engines.sql.values import Values
from evenhand.errors import Option, SpecError
from evenhand.tables import becomes_text, gap_advice
from evenhand.tables.transforming import How, Transformer

MOST_BYTES = 16_000_000
"""A longer query is refused."""

KEY, SOURCE, DRAW = f"{OWN}key", f"{OWN}source", f"{OWN}draw"
FROM, LOW, HIGH = f"{OWN}from", f"{OWN}low", f"{OWN}high"
NEVER = "(0, 0, 0)"
"""A change that no draw makes, where there are none."""


def write_query(
    mode: Transformer, how: How, dialect: str, table: str | Sequence[str], columns: Sequence[str] | None = None
) -> str:
    """Return the query that does to a table what :func:`evenhand.tables.transforming.transform` does by key.

    Parameters
    ----------
    mode, how : Transformer, How
        What to do; ``how`` must have a key.
    dialect : str
        Who is to run it: a name in ``DIALECTS``.
    table : str or sequence of str
        The table's name; dots separate it from its schema, unless the parts are given one by one.
    columns : sequence of str, optional
        The columns that come out, in their order; by default all.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> write_query(mapping.apply_mode, How(0, key="id"), "duckdb", "main.people")[:14]
    'WITH evenhand_'
    """
    if how.key is None:
        raise SpecError(
            "a query draws for each row by its key: give ", Option("key"), ", a column that says who a row is"
        )
    if how.balanced:
        raise SpecError("balanced draws need every row of a source at once; a query draws for each row on its own")
    sql = dialect_of(dialect)
    columns = None if columns is None else check.columns("columns", columns)
    _check_columns(sql, (*mode.columns, how.key), columns)
    named = "a name such as 'people', or its parts such as ['sales', 'people']"
    given = table.split(".") if isinstance(table, str) else check.listed("table", table, named)
    if not given or not all(isinstance(part, str) for part in given):
        raise check.refused("table", named, table)
    parts = [check.text("table", part) for part in given]
    query = _Query(mode, how, how.key, sql, moves_of(mode))
    text = with_own_names(query.text(".".join(map(sql.name, parts)), columns))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise SpecError(
            f"the query would have {size:,} bytes for {len(query.moves.source):,} changes, more than {MOST_BYTES:,}; "
            f"transform the table with mapping.{mode.name}, which takes frames, files and Spark"
        )
    return text


@dataclass(frozen=True)
class _Column:
    """A column that changes: its place in the list of changes, its variable, and what may be written into it."""

    place: int
    variable: Variable
    values: Values

    def called(self, what: str) -> str:
        return f"{OWN}{what}_{self.place}"

    @property
    def chosen(self) -> str:
        """The condition under which a value of the stock is the new one."""
        to, level, draw, low, high = map(self.called, ("to", "level", "draw", "low", "high"))
        return f"{to} = {level} AND {draw} >= {low} AND {draw} < {high}"


@dataclass(frozen=True, eq=False)
class _Query:
    mode: Transformer
    how: How
    key: str
    sql: Dialect
    moves: Moves

    def text(self, table: str, columns: Sequence[str] | None) -> str:
        steps = list(self._steps(table))
        last = Last(steps[-1][0], self._changes, self._labels, self._own)
        end = self.sql.all_columns(last) if columns is None else self.sql.listed_columns(last, columns)
        return "WITH " + ",\n".join(f"{name} AS ({body})" for name, body in steps) + f"\n{end}\n"

    @cached_property
    def _columns(self) -> tuple[_Column, ...]:
        listed = zip(self.moves.variables, self.moves.to, strict=True)
        return tuple(
            _Column(place, variable, Values.of(variable, to, self.how.restore))
            for place, (variable, to) in enumerate(listed)
        )

    @cached_property
    def _labelled(self) -> dict[Variable, int]:
        """The columns that become text."""
        texts = (variable for variable in self.mode.written if becomes_text(variable, self.how.restore))
        return {variable: place for place, variable in enumerate(texts)}

    @cached_property
    def _stocked(self) -> tuple[_Column, ...]:
        return tuple(column for column in self._columns if column.values.drawn)

    @property
    def _own(self) -> list[str]:
        """The names of what the query computes."""
        levels = [f"{OWN}{what}_{place}" for place in self._labelled.values() for what in ("level", "text")]
        to = [column.called("to") for column in self._columns]
        drawn = [column.called(what) for column in self._stocked for what in ("draw", *column.values.forms(self.sql))]
        return [*self._of_leaves, KEY, SOURCE, DRAW, *levels, *to, *drawn]

    @cached_property
    def _leaves(self) -> Leaves | None:
        """The tree of learned cells, where they are read."""
        return next((Leaves.of(self.sql, variable) for variable in self.mode.read if not variable.is_column), None)

    @property
    def _of_leaves(self) -> list[str]:
        """The names of what is computed to find a row's leaf."""
        return [] if self._leaves is None else [*self._leaves.told, LEAF]

    def _steps(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield every step: its name, with those of its columns where it is a list, and its query."""
        if self._leaves is not None:
            later = dict.fromkeys([variable.name for variable in self.mode.read if variable.is_column] + [self.key])
            told = [f"{value} AS {name}" for name, value in self._leaves.told.items()]
            rows = self.sql.rows(table, [*self.sql.beside(later), *told], self._accepted)
            yield f"{OWN}told", self.sql.once(rows)
            found = f"SELECT {TABLE}.*, {self._leaves.leaf} AS {LEAF} FROM {OWN}told AS {TABLE}"
            yield f"{OWN}cells", self.sql.once(found)
        yield f"{OWN}rows", self.sql.once(self._rows(table))
        moves = self.moves
        names = [FROM, LOW, HIGH, *(column.called("to") for column in self._columns)]
        listed = zip(*(each.tolist() for each in (moves.source, moves.low, moves.high, *moves.to)), strict=True)
        changes = [",".join("NULL" if i > 2 and n == UNSEEN else str(n) for i, n in enumerate(move)) for move in listed]
        yield f"{OWN}moves({', '.join(names)})", f"VALUES {','.join(f'({c})' for c in changes) or NEVER}"
        for column in self._stocked:
            names = [column.called(what) for what in ("level", "low", "high", *column.values.forms(self.sql))]
            yield f"{column.called('stock')}({', '.join(names)})", f"VALUES {','.join(column.values.rows(self.sql))}"
        yield f"{OWN}drawn", self.sql.once(self._drawn())
        if self._stocked:
            forms = (column.called(form) for column in self._stocked for form in column.values.forms(self.sql))
            joins = (f"LEFT JOIN {column.called('stock')} ON {column.chosen}" for column in self._stocked)
            yield f"{OWN}valued", f"SELECT {', '.join([f'{OWN}drawn.*', *forms])} FROM {OWN}drawn {' '.join(joins)}"

    def _rows(self, table: str) -> str:
        """Return the first step: every row with its source and draw, or the end of the query with an error."""
        key = self.sql.cast(self.sql.name(self.key), "text")
        computed = [f"{key} AS {KEY}", f"{self._source()} AS {SOURCE}", f"{self._hashed(key)} AS {DRAW}"]
        for variable, place in self._labelled.items():
            computed.append(f"{code(self.sql, variable)} AS {OWN}level_{place}")
            computed.append(f"{own_text(self.sql, variable)} AS {OWN}text_{place}")
        if self._leaves is not None:
            return self.sql.again(f"{OWN}cells", self._of_leaves, computed)
        return self.sql.rows(table, computed, self._accepted)

    @property
    def _accepted(self) -> str:
        """Whether a row is one that the query can read; any other ends it with an error."""
        key = self.sql.cast(self.sql.name(self.key), "text")
        refused = (f"WHEN {when} THEN {self.sql.refusal(f'evenhand: {why}', key)}" for when, why in self._refused())
        return f"CASE {' '.join(refused)} ELSE TRUE END"

    def _hashed(self, key: str, purpose: str = "") -> str:
        """Return the draw of a key, as :func:`evenhand.kernel.draws.keyed_draws` defines it."""
        mode = f"{self.mode.name}.{purpose}" if purpose else self.mode.name
        return self.sql.draw(f"{self.sql.text(f'{mode}:{self.how.seed}:')} || {key}")

    def _source(self) -> str:
        """Return the number of a row's source; unknown ones that draw their outcome go by the key of strangers."""
        source, strangers = number(self.sql, self.mode.reads), self.mode.strangers
        if strangers is None:
            return source
        own, key = number(self.sql, self.mode.writes), number(self.sql, strangers.by)
        if self.mode.domain.y not in strangers.by:
            if strangers.others is not None:
                keys, size = ", ".join(map(str, strangers.keys.tolist())), math.prod(a.size for a in strangers.by)
                key = f"CASE WHEN {key} IN ({keys}) THEN {key} ELSE {size} END"
            key = f"({key}) * {self.mode.domain.y.size} + {code(self.sql, self.mode.domain.outcome)}"
        # A row with a value that is no level has no number, and stays as it is.
        known = f"WHEN {source} IN ({self._known}) THEN {source}"
        return f"CASE {known} WHEN ({own}) IS NOT NULL THEN -1 - ({key}) END"

    @cached_property
    def _known(self) -> str:
        return ", ".join(map(str, self.mode.sources.tolist()))

    def _refused(self) -> Iterator[tuple[str, str]]:
        """Yield which rows end the query, and why: those of other types first, since no other test can read them."""
        sql, key = self.sql, self.sql.name(self.key)
        yield f"{key} IS NULL", f"column {self.key!r} has a missing value; every row needs its key"
        yield sql.bad_key(key), f"the key {self.key!r} must be text, whole numbers, dates or booleans"
        if self._leaves is not None:
            yield from self._leaves.refused()
        columns = [variable for variable in self.mode.read if variable.is_column]
        for variable in columns:
            kind, name = Kind.of(variable), sql.name(variable.name)
            if not variable.always_missing:
                other = sql.other_types if kind is Kind.TEXT else sql.text_types
                yield sql.has_type(name, other), f"column {variable.name!r} must hold {kind.value}, as at fit"
        for variable in columns:
            if variable.missing is None:
                advice = "".join(map(str, gap_advice(variable)))
                yield missing(sql, variable), f"column {variable.name!r} has a missing value; {advice}"
        for variable in columns:
            if has_close_levels(variable):
                why = f"column {variable.name!r} holds real numbers, which do not tell its levels apart"
                yield sql.is_real(sql.name(variable.name)), why
        for column in self._columns:
            name = column.variable.name
            for types, what in () if column.variable in self._labelled else column.values.refused(sql):
                why = f"column {name!r} is {what}, and cannot hold all values that it may get"
                yield sql.has_type(sql.name(name), types), why
        for variable in self._labelled:
            odd = unwritable(sql, variable)
            if odd is not None:
                yield odd, f"column {variable.name!r} has a real number of no level, which engines write differently"

    def _drawn(self) -> str:
        columns = [f"{OWN}rows.*", *(column.called("to") for column in self._columns)]
        columns += [
            f"CASE WHEN {column.called('to')} IS NOT NULL THEN {self._hashed(KEY, column.variable.name)} END "
            f"AS {column.called('draw')}"
            for column in self._stocked
        ]
        join = f"LEFT JOIN {OWN}moves ON {SOURCE} = {FROM} AND {DRAW} >= {LOW} AND {DRAW} < {HIGH}"
        step = f"SELECT {', '.join(columns)} FROM {OWN}rows {join}"
        if self.how.unseen != "error":
            return step
        what = f"a row has a combination of {', '.join(self.mode.columns)} that was not in the fitted table"
        refusal = self.sql.refusal(f"evenhand: {what}", KEY)
        return f"{step} WHERE CASE WHEN {SOURCE} IN ({self._known}) THEN TRUE ELSE {refusal} END"

    @property
    def _changes(self) -> dict[str, Change]:
        """New values of columns that keep their types."""
        found = {}
        for column in self._columns:
            if column.variable not in self._labelled:
                name, values, to = column.variable.name, column.values, column.called("to")
                named = values.forms(self.sql)
                forms = [column.called(f) if values.drawn else values.single(self.sql, to, f) for f in named]
                value = self.sql.held(name, *forms) if len(forms) > 1 else forms[0]
                found[name] = Change(f"{to} IS NOT NULL", value)
        return found

    @property
    def _labels(self) -> dict[str, str]:
        """Columns as the names of their levels; what has no level, or stays missing, keeps its own text."""
        to = {column.variable: column.called("to") for column in self._columns}
        found = {}
        for variable, place in self._labelled.items():
            own, text = f"{OWN}level_{place}", f"{OWN}text_{place}"
            level = f"coalesce({to[variable]}, {own})" if variable in to else own
            names = " ".join(
                f"WHEN {i} THEN {self.sql.text(str(name))}"
                for i, name in enumerate(variable.levels)
                if i != variable.missing
            )
            # A row that had a level has no text, so that one that becomes missing is null.
            found[variable.name] = f"coalesce(CASE {level} {names} END, {text})" if names else text
        return found


def _check_columns(sql: Dialect, read: Sequence[str], columns: Sequence[str] | None) -> None:
    """Refuse columns that are not told apart, or of which some are left out."""
    if columns is not None:
        if len(set(columns)) < len(columns):
            raise SpecError(f"columns must list the table's columns by name, each once, not {check.shown(columns)}")
        absent = [name for name in dict.fromkeys(read) if name not in columns]
        if absent:
            raise SpecError(f"columns must list every column of the table; {absent} are not in it")
    seen: dict[str, str] = {}
    for name in dict.fromkeys([*read, *(columns or ())]) if sql.folds_case else ():
        other = seen.setdefault(name.lower(), name)
        if other != name:
            raise SpecError(f"{other!r} and {name!r} differ in upper and lower case alone, which is one name here")
