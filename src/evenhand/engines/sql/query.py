"""Train mode or apply mode as one query that needs nothing but the table.

Its steps are common table expressions: ``evenhand_rows`` finds each row's source and draw, ``evenhand_drawn`` joins the
change that the draw makes, ``evenhand_valued`` the value that the new level gets, and the last step writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from evenhand.coding import UNSEEN
from evenhand.domain import Variable
from evenhand.engines.sql.codes import code, missing, number
from evenhand.engines.sql.dialects import OWN, Change, Dialect, Last, dialect_of
from evenhand.engines.sql.moves import Moves, moves_of
from evenhand.engines.sql.values import Values
from evenhand.errors import SpecError
from evenhand.transforming import How, Transformer

MOST_BYTES = 16_000_000
"""A longer query is refused."""

KEY, SOURCE, DRAW = f"{OWN}key", f"{OWN}source", f"{OWN}draw"
FROM, LOW, HIGH = f"{OWN}from", f"{OWN}low", f"{OWN}high"
NEVER = "(0, 0, 0)"
"""A change that no draw makes, where there are none."""


def write_query(
    mode: Transformer, how: How, dialect: str, table: str | Sequence[str], columns: Sequence[str] | None = None
) -> str:
    """Return the query that does to a table what :func:`evenhand.transforming.transform` does by key.

    Parameters
    ----------
    mode, how : Transformer, How
        What to do; ``how`` must have a key.
    dialect : {"duckdb", "spark", "postgres"}
        Who is to run it.
    table : str or sequence of str
        The table's name; dots separate it from its schema, unless the parts are given one by one.
    columns : sequence of str, optional
        The columns that come out, in their order; by default all.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> write_query(mapping.apply_mode, How(0, key="id"), "duckdb", "main.people")[:60]
    'WITH evenhand_rows AS (SELECT evenhand_table.*, CAST("id" AS'
    """
    if how.key is None or how.draw != "independent":
        raise SpecError("a query draws for each row by its key: give key=, and no balanced draws")
    query = _Query(mode, how, how.key, dialect_of(dialect), moves_of(mode))
    text = query.text(table, columns)
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

    def text(self, table: str | Sequence[str], columns: Sequence[str] | None) -> str:
        steps = list(self._steps(_table_name(self.sql, table)))
        last = Last(steps[-1][0], self._changes, self._labels, self._own)
        if columns is None:
            end = self.sql.all_columns(last)
        else:
            _require(columns, self.mode.columns)
            end = self.sql.listed_columns(last, columns)
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
        written = [variable for axis in self.mode.writes for variable in axis.variables]
        coded = [variable for variable in written if variable.coding is not None]
        return {v: place for place, v in enumerate(coded)} if self.how.restore == "label" else {}

    @cached_property
    def _stocked(self) -> tuple[_Column, ...]:
        """The columns whose new value is drawn."""
        return tuple(column for column in self._columns if column.values.drawn)

    @property
    def _own(self) -> list[str]:
        """The names of what the query computes."""
        levels = [f"{OWN}{what}_{place}" for place in self._labelled.values() for what in ("level", "text")]
        to = [column.called("to") for column in self._columns]
        drawn = [column.called(what) for column in self._stocked for what in ("draw", "value")]
        return [KEY, SOURCE, DRAW, *levels, *to, *drawn]

    def _steps(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield every step: its name, with those of its columns where it is a list, and its query."""
        yield f"{OWN}rows", self.sql.once(self.sql.rows(table, self._computed(), self._accepted()))
        names = [FROM, LOW, HIGH, *(column.called("to") for column in self._columns)]
        yield f"{OWN}moves({', '.join(names)})", f"VALUES {','.join(self._changing())}"
        for column in self._stocked:
            names = [column.called(what) for what in ("level", "low", "high", "value")]
            yield f"{column.called('stock')}({', '.join(names)})", f"VALUES {','.join(column.values.rows(self.sql))}"
        yield f"{OWN}drawn", self.sql.once(self._drawn())
        if self._stocked:
            yield f"{OWN}valued", self._valued()

    def _computed(self) -> Iterator[str]:
        key = self.sql.cast(self.sql.name(self.key), "text")
        yield f"{key} AS {KEY}"
        yield f"{self._source()} AS {SOURCE}"
        yield f"{self._hashed(key)} AS {DRAW}"
        for variable, place in self._labelled.items():
            own = self.sql.cast(self.sql.name(variable.name), "text")
            yield f"{code(self.sql, variable)} AS {OWN}level_{place}"
            yield f"CASE WHEN NOT {missing(self.sql, variable)} THEN {own} END AS {OWN}text_{place}"

    def _hashed(self, key: str, purpose: str = "") -> str:
        """Return the draw of a key, as :func:`evenhand.draws.keyed_draws` defines it."""
        mode = f"{self.mode.name}.{purpose}" if purpose else self.mode.name
        return self.sql.draw(f"{self.sql.text(f'{mode}:{self.how.seed}:')} || {key}")

    def _source(self) -> str:
        """Return the number of a row's source; where D is suppressed, unknown ones go by (x, y)."""
        source = number(self.sql, self.mode.reads)
        if self.mode.fallback is None:
            return source
        return (
            f"CASE WHEN {source} IN ({self._known}) THEN {source} ELSE -1 - ({number(self.sql, self.mode.writes)}) END"
        )

    @cached_property
    def _known(self) -> str:
        return ", ".join(map(str, self.mode.sources.tolist()))

    def _accepted(self) -> str:
        """Return the condition of the first step: it holds for every row, or ends the query with an error."""
        key, sql = self.sql.name(self.key), self.sql
        as_text = sql.cast(key, "text")
        cases = [
            (f"{key} IS NULL", f"column {self.key!r} has a missing value; every row needs its key"),
            (sql.bad_key(key), f"the key {self.key!r} must be text, whole numbers, dates or booleans"),
        ]
        for axis in self.mode.reads:
            for variable in axis.variables:
                if variable.missing is None:
                    cases.append((missing(sql, variable), f"column {variable.name!r} has a missing value"))
        refused = (f"WHEN {when} THEN {sql.refusal(f'evenhand: {message}', as_text)}" for when, message in cases)
        return f"CASE {' '.join(refused)} ELSE TRUE END"

    def _changing(self) -> Iterator[str]:
        moves = self.moves
        if not len(moves.source):
            yield NEVER
        listed = [moves.source, moves.low, moves.high, *moves.to]
        for source, low, high, *to in zip(*(each.tolist() for each in listed), strict=True):
            levels = ("NULL" if level == UNSEEN else str(level) for level in to)
            yield f"({','.join([str(source), str(low), str(high), *levels])})"

    def _drawn(self) -> str:
        columns = [f"{OWN}rows.*", *(column.called("to") for column in self._columns)]
        columns += [
            f"CASE WHEN {column.called('to')} IS NOT NULL THEN {self._hashed(KEY, column.variable.name)} END "
            f"AS {column.called('draw')}"
            for column in self._stocked
        ]
        join = f"LEFT JOIN {OWN}moves ON {SOURCE} = {FROM} AND {DRAW} >= {LOW} AND {DRAW} < {HIGH}"
        return f"SELECT {', '.join(columns)} FROM {OWN}rows {join}{self._sourced()}"

    def _sourced(self) -> str:
        """Return the condition that every source is known, where that is asked for."""
        if self.how.unseen == "keep":
            return ""
        what = f"a row has a combination of {', '.join(self.mode.columns)} that was not in the fitted table"
        refusal = self.sql.refusal(f"evenhand: {what}", KEY)
        return f" WHERE CASE WHEN {SOURCE} IN ({self._known}) THEN TRUE ELSE {refusal} END"

    def _valued(self) -> str:
        columns = [f"{OWN}drawn.*", *(column.called("value") for column in self._stocked)]
        joins = (f"LEFT JOIN {column.called('stock')} ON {column.chosen}" for column in self._stocked)
        return f"SELECT {', '.join(columns)} FROM {OWN}drawn {' '.join(joins)}"

    @property
    def _changes(self) -> dict[str, Change]:
        return {
            column.variable.name: Change(f"{column.called('to')} IS NOT NULL", self._value(column))
            for column in self._columns
            if column.variable not in self._labelled
        }

    def _value(self, column: _Column) -> str:
        return column.called("value") if column.values.drawn else column.values.single(self.sql, column.called("to"))

    @property
    def _labels(self) -> dict[str, str]:
        """Columns as the names of their levels; what is missing or has no level keeps its own text."""
        to = {column.variable: column.called("to") for column in self._columns}
        found = {}
        for variable, place in self._labelled.items():
            own, text = f"{OWN}level_{place}", f"{OWN}text_{place}"
            level = f"coalesce({to[variable]}, {own})" if variable in to else own
            names = " ".join(f"WHEN {i} THEN {self.sql.text(str(each))}" for i, each in enumerate(variable.levels))
            found[variable.name] = f"CASE WHEN {text} IS NOT NULL THEN coalesce(CASE {level} {names} END, {text}) END"
        return found


def _table_name(sql: Dialect, table: str | Sequence[str]) -> str:
    parts = table.split(".") if isinstance(table, str) else table
    if not parts or not all(isinstance(part, str) for part in parts):
        raise SpecError(f"table must be the name of a table, or its parts, not {table!r}")
    return ".".join(map(sql.name, parts))


def _require(columns: Sequence[str], read: Sequence[str]) -> None:
    absent = [name for name in read if name not in columns]
    if absent:
        raise SpecError(f"columns must list every column of the table; {absent} are not in it")
