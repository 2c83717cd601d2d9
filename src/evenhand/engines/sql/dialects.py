"""What differs between DuckDB, Spark SQL and PostgreSQL: quoting, types, hashes, and how a query refuses a row.

Identifiers, texts and types are written by sqlglot. Knows nothing of mappings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.data.levels import Value
from evenhand.errors import MissingExtraError, Option, SpecError, did_you_mean
from evenhand.kernel.draws import DRAW_BITS

OWN = "evenhand_5f0d_"
"""How the names of a query's own columns and steps begin; no column of a table is called like that by chance."""

LARGEST_IDENTIFIER = 63
"""PostgreSQL cuts longer names off, in bytes."""

HEX_DIGITS = DRAW_BITS // 4
"""How many digits of a hash in hexadecimals are a draw."""

TABLE = f"{OWN}table"
ROW = f"{OWN}row"
"""A whole row of the table, where the last step takes it apart."""


@dataclass(frozen=True)
class Change:
    """New values of a column: which rows get one, and which one they get."""

    moved: str
    value: str


@dataclass(frozen=True)
class Last:
    """What the last step of a query does: new values of the old type, and columns that become text."""

    step: str
    changes: Mapping[str, Change]
    labels: Mapping[str, str]
    own: Sequence[str]


def dialect_of(name: str) -> Dialect:
    """Return the dialect of that name.

    Examples
    --------
    >>> dialect_of("postgres").name('we"ird')
    '"we""ird"'
    >>> dialect_of("spark").text("it's")
    "CAST(X'69742773' AS STRING)"
    """
    if name not in DIALECTS:
        raise SpecError(f"dialect must be one of {list(DIALECTS)}, not {name!r}.{did_you_mean(name, DIALECTS)}")
    return DIALECTS[name]()


def _glot() -> Any:
    """Import sqlglot, or say how to install it."""
    try:
        import sqlglot
    except ImportError:
        raise MissingExtraError("queries are written by sqlglot: pip install 'evenhand[sql]'") from None
    return sqlglot


def _check_characters(what: str, value: str) -> None:
    """Refuse what no query can hold: NUL, and halves of characters."""
    if "\0" in value or any("\ud800" <= each <= "\udfff" for each in value):
        raise SpecError(f"the {what} {value!r} holds NUL or half a character, which a query cannot hold; rename it")


class Dialect:
    """The way one engine writes what a query needs."""

    called: str
    key_types: tuple[str, ...]
    """The types that a key may have, in this engine's words."""

    whole_types: tuple[str, ...]
    single_type: str
    double_type = "double"
    decimal_type = "decimal"
    text_types: tuple[str, ...]
    folds_case = True
    """Whether names that differ in upper and lower case alone are the same, even between quotes."""

    def __init__(self) -> None:
        self._glot = _glot()

    def name(self, identifier: str) -> str:
        """Quote an identifier."""
        if not identifier:
            raise SpecError("the name of a table or column is empty; give its name")
        _check_characters("name", identifier)
        if identifier.lower().startswith(OWN):
            raise SpecError(f"{identifier!r} begins like the query's own names ({OWN}); rename it")
        quoted: str = self._glot.exp.to_identifier(identifier, quoted=True).sql(dialect=self.called)
        return quoted

    def text(self, value: str) -> str:
        """Quote a text."""
        _check_characters("text", value)
        quoted: str = self._glot.exp.Literal.string(value).sql(dialect=self.called)
        return quoted

    def number(self, value: int | float) -> str:
        """Write a number; a real one so that every engine reads the double that is nearest to its digits."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if math.isinf(value):
            return self.cast(self.text("Infinity" if value > 0 else "-Infinity"), "double")
        return str(int(value)) if value == int(value) and abs(value) < 2**63 else self.real(repr(value))

    def real(self, digits: str) -> str:
        """Mark the digits of a number as those of a double: an exponent does."""
        return digits if "e" in digits else f"{digits}e0"

    def literal(self, value: Value) -> str:
        """Write a value."""
        return self.text(value) if isinstance(value, str) else self.number(value)

    def written(self, value: Value) -> str:
        """Write a value that goes into a column, in a type no wider than it must be."""
        return self.literal(value)

    def cast(self, expression: str, kind: str) -> str:
        """Return an expression as another type: text, double or bigint."""
        return f"CAST({expression} AS {self._glot.exp.DataType.build(kind).sql(dialect=self.called)})"

    def exact(self, column: str) -> str:
        """Return a column of texts, which are equal if their characters are."""
        return self.cast(column, "text")

    def is_nan(self, column: str) -> str:
        """Say whether a number is none."""
        return f"isnan({self.cast(column, 'double')})"

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text as a whole number."""
        raise NotImplementedError

    def refusal(self, message: str, text: str) -> str:
        """Return a condition that ends the query with a message; ``text`` is any text of the row."""
        raise NotImplementedError

    def type_of(self, column: str) -> str:
        """Return the name of a column's type, without what follows in brackets or after a space."""
        return f"split_part(split_part(lower(typeof({column})), '(', 1), ' ', 1)"

    def has_type(self, column: str, types: Iterable[str]) -> str:
        """Say whether a column is of one of some types."""
        return f"{self.type_of(column)} IN ({', '.join(map(self.text, types))})"

    def is_real(self, column: str) -> str:
        """Say whether a column holds real numbers."""
        return self.has_type(column, (self.single_type, self.double_type))

    @property
    def other_types(self) -> tuple[str, ...]:
        """The types whose values are no texts."""
        numbers = (*self.whole_types, self.single_type, self.double_type, self.decimal_type)
        return (*numbers, "boolean", "date", "timestamp", "timestamp without time zone", "timestamp with time zone")

    def bad_key(self, key: str) -> str:
        """Say whether a key is of a type that engines write in ways of their own."""
        return f"lower(typeof({key})) NOT IN ({', '.join(map(self.text, self.key_types))})"

    def held(self, column: str, value: str, whole: str, single: str) -> str:
        """Return what a column gets for a number: its own if it is of whole numbers, or of single precision."""
        field = self.field(column)
        cases = ((self.whole_types, whole), ((self.single_type,), single))
        written = " ".join(f"WHEN {self.has_type(field, types)} THEN {number}" for types, number in cases)
        return f"CASE {written} ELSE {value} END"

    def field(self, column: str) -> str:
        """Return a column of the table where the last step reads it."""
        return self.name(column)

    carried: str = f"{TABLE}.*"
    """How a row of the table goes through the steps."""

    def rows(self, table: str, computed: Iterable[str], where: str) -> str:
        """Return the first step: the rows of a table, and what is computed for each."""
        return f"SELECT {', '.join([self.carried, *computed])} FROM {table} AS {TABLE} WHERE {where}"

    def once(self, step: str) -> str:
        """Return a step so that what it computes is computed once, not wherever it is used."""
        return step

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns of the table, whatever they are."""
        raise NotImplementedError

    def listed_columns(self, last: Last, columns: Sequence[str]) -> str:
        """Return the last step for the given columns."""
        new = {**self.replaced(last.changes), **last.labels}
        listed = (f"{new[c]} AS {self.name(c)}" if c in new else self.name(c) for c in columns)
        return f"SELECT {', '.join(listed)} FROM {last.step}"

    def replaced(self, changes: Mapping[str, Change]) -> dict[str, str]:
        """Return columns with new values where they move and their own elsewhere."""
        return {
            column: f"CASE WHEN {change.moved} THEN {self.into(change.value, column)} ELSE {self.name(column)} END"
            for column, change in changes.items()
        }

    def into(self, value: str, column: str) -> str:
        """Return a value in the type of a column, where the engine can be told."""
        return value


class DuckDB(Dialect):
    """DuckDB can replace columns of a star, and cast to the type of a column."""

    called = "duckdb"
    whole_types = (
        *("tinyint", "smallint", "integer", "bigint", "hugeint"),
        *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
    )
    single_type = "float"
    text_types = ("varchar", "enum")
    key_types = ("varchar", "boolean", "date", "uuid", *whole_types)

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text."""
        return f"CAST('0x' || substr(md5({text}), 1, {HEX_DIGITS}) AS BIGINT)"

    def refusal(self, message: str, text: str) -> str:
        """End the query with a message."""
        return f"error({self.text(message)})"

    def exact(self, column: str) -> str:
        """Return a column of texts that are compared by their bytes."""
        return f"{super().exact(column)} COLLATE C"

    def into(self, value: str, column: str) -> str:
        """Return a value in the type of a column."""
        return f"cast_to_type({value}, {self.name(column)})"

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns."""
        new = {**self.replaced(last.changes), **last.labels}
        replaced = ", ".join(f"{value} AS {self.name(column)}" for column, value in new.items())
        star = f"* EXCLUDE ({', '.join(last.own)})" + (f" REPLACE ({replaced})" if new else "")
        return f"SELECT {star} FROM {last.step}"


class Spark(Dialect):
    """Spark 4 can set columns in a pipe; a literal may say that it is narrow, so that columns are not widened."""

    called = "spark"
    whole_types = ("tinyint", "smallint", "int", "bigint")
    single_type = "float"
    text_types = ("string", "char", "varchar")
    key_types = ("string", "boolean", "date", *whole_types)

    def name(self, identifier: str) -> str:
        """Quote an identifier that Spark does not take for a variable."""
        if "${" in identifier:
            raise SpecError(f"Spark would take {identifier!r} for a variable, even between quotes; rename it")
        return super().name(identifier)

    def text(self, value: str) -> str:
        """Quote a text; an awkward one is written as its bytes."""
        # Settings of a session change what backslashes and quotes mean, and ${x} is replaced before anything is read.
        plain = super().text(value)
        if value.isprintable() and not set(value) & set("\\'$"):
            return plain
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def real(self, digits: str) -> str:
        """Mark the digits of a number as those of a double; a setting makes a decimal of an exponent."""
        return f"{digits}D"

    def written(self, value: Value) -> str:
        """Write a value; a small whole number says that it is small."""
        digits = self.literal(value)
        if isinstance(value, str | bool) or not digits.lstrip("-").isdigit():
            return digits
        size = abs(int(digits))
        return f"{digits}{'Y' if size < 2**7 else 'S' if size < 2**15 else ''}"

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text."""
        return f"CAST(conv(substr(md5({text}), 1, {HEX_DIGITS}), 16, 10) AS BIGINT)"

    def refusal(self, message: str, text: str) -> str:
        """End the query with a message."""
        return f"raise_error({self.text(message)})"

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns."""
        new = {**self.replaced(last.changes), **last.labels}
        written = ", ".join(f"{self.name(column)} = {value}" for column, value in new.items())
        return f"FROM {last.step}" + (f" |> SET {written}" if new else "") + f" |> DROP {', '.join(last.own)}"


class Postgres(Dialect):
    """PostgreSQL can neither replace nor set columns of a star, but fields of a row whose type it knows."""

    called = "postgres"
    carried = f"{TABLE} AS {ROW}"
    whole_types = ("smallint", "integer", "bigint")
    single_type, double_type, decimal_type = "real", "double precision", "numeric"
    text_types = ("text", "character varying", "character")
    key_types = ("text", "character varying", "boolean", "date", "uuid", *whole_types)
    folds_case = False

    def name(self, identifier: str) -> str:
        """Quote an identifier that is not too long."""
        quoted, size = super().name(identifier), len(identifier.encode())
        if size > LARGEST_IDENTIFIER:
            raise SpecError(
                f"{identifier!r} has {size} bytes, and PostgreSQL cuts names off after {LARGEST_IDENTIFIER}; rename it"
            )
        return quoted

    def text(self, value: str) -> str:
        """Quote a text; what a backslash means is a setting, unless the text says that it escapes."""
        quoted = super().text(value)
        return "E" + quoted.replace("\\", "\\\\") if "\\" in value else quoted

    def type_of(self, column: str) -> str:
        """Return the name of a column's type."""
        return f"pg_typeof({column})::text"

    def field(self, column: str) -> str:
        """Return a field of the row."""
        return f"({ROW}).{self.name(column)}"

    def exact(self, column: str) -> str:
        """Return a column of texts that are compared by their bytes."""
        # A collation may hold texts of different characters to be equal.
        return f'{super().exact(column)} COLLATE "C"'

    def is_nan(self, column: str) -> str:
        """Say whether a number is none."""
        return f"{self.cast(column, 'double')} = 'NaN'"

    def draw(self, text: str) -> str:
        """Return the first 52 bits of the MD5 of a text."""
        return f"('x' || lpad(substr(md5(convert_to({text}, 'UTF8')), 1, {HEX_DIGITS}), 16, '0'))::bit(64)::bigint"

    def refusal(self, message: str, text: str) -> str:
        """End the query with a message."""
        # There is no function that raises an error, but a text that is no truth does; it must depend on the row, or it
        # would be read before any row is.
        return f"CAST({self.text(message)} || substr(coalesce({text}, ''), 1, 0) AS BOOLEAN)"

    def bad_key(self, key: str) -> str:
        """Say whether a key is of a type, or a date in a style, of its own."""
        types = ", ".join(map(self.text, self.key_types))
        dates = f"pg_typeof({key})::text = 'date' AND current_setting('DateStyle') NOT LIKE 'ISO%'"
        return f"pg_typeof({key})::text NOT IN ({types}) OR {dates}"

    def once(self, step: str) -> str:
        """Return a step that is not merged into the next."""
        return f"{step} OFFSET 0"

    def all_columns(self, last: Last) -> str:
        """Return the last step for all columns."""
        if last.labels:
            made = f" makes texts of {list(last.labels)}; PostgreSQL then needs "
            raise SpecError(Option("restore", "label"), made, Option("columns"))
        return f"SELECT ({ROW}).* FROM ({self._with_rows(last)}) AS {OWN}last"

    def listed_columns(self, last: Last, columns: Sequence[str]) -> str:
        """Return the last step for the given columns."""
        labels = {column: f"{text} AS {self.name(column)}" for column, text in last.labels.items()}
        listed = (labels.get(column, self.field(column)) for column in columns)
        return f"SELECT {', '.join(listed)} FROM ({self._with_rows(last)}) AS {OWN}last"

    def _with_rows(self, last: Last) -> str:
        """Return the step whose rows have their new fields; a row keeps its type, and so do its fields."""
        rest = ", ".join(last.own)
        if not last.changes:
            return f"SELECT {ROW}, {rest} FROM {last.step}"
        fields = " || ".join(
            f"CASE WHEN {change.moved} THEN jsonb_build_object({self.text(column)}, {change.value}) ELSE '{{}}' END"
            for column, change in last.changes.items()
        )
        moved = " OR ".join(change.moved for change in last.changes.values())
        new = f"CASE WHEN {moved} THEN jsonb_populate_record({ROW}, {fields}) ELSE {ROW} END"
        return self.once(f"SELECT {new} AS {ROW}, {rest} FROM {last.step}")


DIALECTS: dict[str, type[Dialect]] = {"duckdb": DuckDB, "spark": Spark, "postgres": Postgres}
